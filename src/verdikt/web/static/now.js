// What happens now: counts, a chart of the last days, and the live feed.
import { useData } from "./api.js";
import { Chart } from "./chart.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { useKeys } from "./keys.js";
import { WindowedList } from "./list.js";
import { Empty, Freshness, Verdict } from "./parts.js";
import { go } from "./router.js";
import { chooseNoun, lastName, showCount, showMoment, showText } from "./text.js";

const MAX_FEED = 2000;

const REOPEN_MILLISECONDS = 3000;

// New entries as they arrive. The stream is closed while the tab is hidden, and continued where it was. `onStart` is told
// when a stream begins at the present: what came before is not in it.
function useFeed(isPaused, { onStart, onEntries }) {
  const position = useRef("");
  useEffect(() => {
    if (isPaused) return undefined;
    let source = null;
    let timer = 0;
    const close = () => {
      clearTimeout(timer);
      source?.close();
      source = null;
    };
    const open = () => {
      if (source || document.hidden) return;
      source = new EventSource(`/v1/feed${position.current ? `?position=${encodeURIComponent(position.current)}` : ""}`);
      source.onmessage = (event) => {
        if (!position.current) onStart();
        position.current = event.lastEventId;
        const entries = JSON.parse(event.data);
        if (entries.length) onEntries(entries);
      };
      source.onerror = () => {
        // A stream that broke is opened again by the browser; one that the service refused is not.
        if (source?.readyState !== EventSource.CLOSED) return;
        close();
        timer = setTimeout(open, REOPEN_MILLISECONDS);
      };
    };
    const onVisibility = () => (document.hidden ? close() : open());
    open();
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      close();
    };
  }, [isPaused]);
}

export function NowPage() {
  const overview = useData("/v1/overview?days=7", { everySeconds: 30 });
  // Asked again when the feed begins, because what arrived between the first answer and then is in neither.
  const [starts, setStarts] = useState(0);
  const recent = useData("/v1/entries?q=kind%3Adecision&limit=200", { version: starts });
  const [arrived, setArrived] = useState([]);
  const [isPaused, setPaused] = useState(false);
  const [selected, setSelected] = useState(-1);
  useFeed(isPaused, {
    onStart: () => setStarts((count) => count + 1),
    onEntries: (entries) => {
      const decisions = entries.filter((entry) => entry.kind === "decision").reverse();
      setArrived((before) => [...decisions, ...before].slice(0, MAX_FEED));
      setSelected((index) => (index >= 0 ? index + decisions.length : index));
    },
  });
  useKeys({ p: () => setPaused(!isPaused) });

  const seen = new Set(arrived.map((entry) => `${entry.chain}/${entry.seq}`));
  const entries = [...arrived, ...(recent.data?.entries ?? []).filter((entry) => !seen.has(`${entry.chain}/${entry.seq}`))];
  const data = overview.data;
  return html`<main tabindex="-1" class="page">
    <h1>Now</h1>
    <${Freshness} ...${overview} />
    ${data && html`<${Attention} data=${data} />`}
    ${data && html`<${Chart} hours=${data.hours} since=${data.since} now=${data.now} />`}
    <div class="bar">
      <h2>Decisions</h2>
      <button aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>${isPaused ? "Resume" : "Pause"}</button>
    </div>
    ${recent.data && entries.length === 0
      ? html`<${Empty}>Nothing was decided yet. Let an agent work in a governed project, and its calls appear here.<//>`
      : html`<${WindowedList}
          label="Decisions, newest first"
          count=${entries.length}
          wraps=${true}
          selected=${selected}
          onSelect=${setSelected}
          onOpen=${(index) => go(`/session/${entries[index].chain}?seq=${entries[index].seq}`)}
          renderRow=${(index) => html`<${FeedRow} entry=${entries[index]} />`}
        />`}
  </main>`;
}

function FeedRow({ entry }) {
  return html`<span class="time wide">${showMoment(entry.ts)}</span>
    <${Verdict} verdict=${entry.verdict} />
    <span class="summary">${showText(entry.summary)}</span>
    <span class="guard">${entry.verdict === "pass" ? "" : showText(entry.guard)}</span>
    <span class="side">${showText(entry.host)}</span>`;
}

function Attention({ data }) {
  const total = { pass: 0, warn: 0, ask: 0, block: 0 };
  for (const hour of data.hours) for (const word of Object.keys(total)) total[word] += hour[word] ?? 0;
  const all = total.pass + total.warn + total.ask + total.block;
  return html`<section aria-label="The last seven days">
    <ul class="tiles">
      <li><a href="/integrity?q=kind:decision+since:7d"><b>${all.toLocaleString()}</b> ${chooseNoun(all, "decision")} in seven days</a></li>
      <li><a href="/integrity?q=verdict:ask+since:7d"><b class="ask">${total.ask.toLocaleString()}</b> ${chooseNoun(total.ask, "ask")}</a></li>
      <li><a href="/integrity?q=verdict:block+since:7d"><b class="block">${total.block.toLocaleString()}</b> ${chooseNoun(total.block, "block")}</a></li>
      <li><a href="/settings"><b>${data.machines_seen_today}</b> of ${showCount(data.machines, "machine")} seen today</a></li>
    </ul>
    ${(data.forks > 0 || data.machines_without_hook > 0 || data.machines_at_fault > 0 || data.problems.length > 0) &&
    html`<ul class="attention">
      ${data.forks > 0 && html`<li>${showCount(data.forks, "rewritten history", "rewritten histories")}: <a href="/sessions">look at the marked sessions</a></li>`}
      ${data.machines_without_hook > 0 && html`<li>${showCount(data.machines_without_hook, "machine")} without its hook: <a href="/settings">which</a></li>`}
      ${data.machines_at_fault > 0 && html`<li>${showCount(data.machines_at_fault, "machine")} on which doctor finds a fault: <a href="/settings">which</a></li>`}
      ${data.problems.slice(0, 5).map((item) => html`<li>${showText(lastName(item.session))}: ${showText(item.problem)}</li>`)}
    </ul>`}
  </section>`;
}
