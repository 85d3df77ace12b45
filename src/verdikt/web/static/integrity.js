// Search over everything, and export of what was found.
import { call, useData } from "./api.js";
import { html, useEffect, useState } from "./html.js";
import { ExportBar } from "./export.js";
import { Empty, SearchBox, Verdict } from "./parts.js";
import { go } from "./router.js";
import { ENTRIES, RowList } from "./rows.js";
import { showMoment, showText } from "./text.js";

export function IntegrityPage({ query, me }) {
  const q = query.get("q") ?? "";
  const address = `/v1/entries?q=${encodeURIComponent(q)}&limit=200`;
  const first = useData(address);
  const [more, setMore] = useState({ address, entries: [], cursor: null });
  useEffect(() => setMore({ address, entries: [], cursor: null }), [address]);
  const entries = [...(first.data?.entries ?? []), ...(more.address === address ? more.entries : [])];
  const cursor = more.cursor ?? first.data?.cursor ?? "";
  const loadMore = async () => {
    const page = await call(`${address}&cursor=${encodeURIComponent(cursor)}`);
    setMore((before) => ({ address, entries: [...before.entries, ...page.entries], cursor: page.cursor }));
  };
  return html`<main tabindex="-1" class="page">
    <h1>Integrity</h1>
    <${SearchBox} query=${q} />
    <${ExportBar} q=${q} me=${me} data=${first} />
    ${first.data && entries.length === 0 && html`<${Empty}>${q ? "Nothing was found." : "No entry was recorded yet."}<//>`}
    ${entries.length > 0 &&
    html`<${RowList}
      label="Entries, newest first"
      rows=${entries}
      query=${query}
      ...${ENTRIES}
      onOpen=${(entry) => go(ENTRIES.linkOf(entry))}
      renderRow=${(entry) => html`<${FoundRow} entry=${entry} />`}
    />`}
    ${cursor && html`<button onClick=${loadMore}>Older entries</button>`}
  </main>`;
}

function FoundRow({ entry }) {
  return html`<span class="time wide">${showMoment(entry.ts)}</span>
    <span class="kind">${entry.verdict ? html`<${Verdict} verdict=${entry.verdict} />` : showText(entry.kind.replaceAll("_", " "))}</span>
    <span class="summary">${showText(entry.summary)}</span>
    <span class="guard">${entry.verdict === "pass" ? "" : showText(entry.guard)}</span>
    <span class="side">${showText(entry.session.slice(0, 8))}</span>`;
}
