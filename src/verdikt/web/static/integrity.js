// Search over everything, and export of what was found.
import { usePages } from "./api.js";
import { html } from "./html.js";
import { ExportBar } from "./export.js";
import { Empty, NothingYet, SearchBox, Verdict } from "./parts.js";
import { go } from "./router.js";
import { ENTRIES, RowList } from "./rows.js";
import { showMoment, showText } from "./text.js";

export function IntegrityPage({ query, me }) {
  const q = query.get("q") ?? "";
  const { first, rows: entries, loadMore } = usePages(`/v1/entries?q=${encodeURIComponent(q)}&limit=200`, "entries");
  return html`<main tabindex="-1" class="page">
    <h1>Integrity</h1>
    <p class="facts">Everything that was recorded, newest first: to be searched, exported, and verified elsewhere with <code>verdikt ledger verify --file</code>.</p>
    <${SearchBox} query=${q} />
    <${SearchHelp} />
    <${ExportBar} q=${q} me=${me} data=${first} />
    ${first.data && entries.length === 0 && (q ? html`<${Empty}>Nothing was found.<//>` : html`<${NothingYet} me=${me} />`)}
    ${entries.length > 0 &&
    html`<${RowList}
      label="Entries, newest first"
      rows=${entries}
      query=${query}
      ...${ENTRIES}
      onOpen=${(entry) => go(ENTRIES.linkOf(entry))}
      renderRow=${(entry) => html`<${FoundRow} entry=${entry} />`}
    />`}
    ${loadMore && html`<button onClick=${loadMore}>Older entries</button>`}
  </main>`;
}

const SEARCH_WORDS = [
  ["verdict:block,ask", "what was decided: pass, warn, ask, block"],
  ["guard:git_* tool:Bash effect:fs.delete*", "by rule, tool or effect; * stands for anything"],
  ["class:destructive", "by the strongest effect: read, write, network, execute, spawn, destructive"],
  ["host:claude machine:ana-* team:web", "by agent, machine or team"],
  ["session:1f0c project:shop", "the beginning of a session's name, the end of a directory's"],
  ["kind:completion", "by kind of entry, such as decision, tool_call, completion, approval, gap"],
  ["is:rewritten", "of sessions whose history was rewritten later"],
  ["since:7d until:2026-12-31", "by time"],
  ['deploy "push --force"', "words, or text in quotes, in what was done"],
];

function SearchHelp() {
  return html`<details class="facts"><summary>What can be searched for</summary>
    <dl class="words">${SEARCH_WORDS.map(([words, meaning]) => html`<dt><a href=${`/integrity?q=${encodeURIComponent(words)}`}><code>${words}</code></a></dt><dd>${meaning}</dd>`)}</dl>
  </details>`;
}

function FoundRow({ entry }) {
  return html`<span class="time wide">${showMoment(entry.ts)}</span>
    <span class="kind">${entry.verdict ? html`<${Verdict} verdict=${entry.verdict} />` : showText(entry.kind.replaceAll("_", " "))}</span>
    <span class="summary">${showText(entry.summary)}</span>
    <span class="guard">${entry.verdict === "pass" ? "" : showText(entry.guard)}</span>
    <span class="side">${showText(entry.session.slice(0, 8))}</span>`;
}
