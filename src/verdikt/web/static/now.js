// What happens now: counts, a chart of the last days, and the live feed.
import { call, repeatLoad, useData } from "./api.js";
import { Chart } from "./chart.js";
import { useFeed } from "./feed.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { useKeys } from "./keys.js";
import { Empty, Freshness, SearchBox, Verdict } from "./parts.js";
import { go, withQuery } from "./router.js";
import { ENTRIES, RowList } from "./rows.js";
import { chooseNoun, lastName, showCount, showMoment, showText } from "./text.js";

const MAX_FEED = 2000;

// Entries of the first list, then those of the second that are not in it.
function joinEntries(first, second) {
  const keys = new Set(first.map(ENTRIES.keyOf));
  return [...first, ...second.filter((entry) => !keys.has(ENTRIES.keyOf(entry)))].slice(0, MAX_FEED);
}

// The newest decisions that a query finds, and those that arrive. They are asked for again when the feed begins or has a
// gap, and with a query whenever something arrives: the service alone knows whether it is found.
function useDecisions(q, person, isPaused) {
  const address = `/v1/entries?q=${encodeURIComponent(`kind:decision ${q}`.trim())}&limit=200`;
  const [state, setState] = useState({ entries: [] });
  const [version, setVersion] = useState(0);
  const arrived = useRef([]);
  const reload = () => setVersion((before) => before + 1);
  useEffect(() => {
    let isCurrent = true;
    const end = repeatLoad(async () => {
      arrived.current = [];
      try {
        const { entries } = await call(address);
        if (isCurrent) setState({ address, entries: joinEntries(arrived.current, entries) });
      } catch (error) {
        if (isCurrent) setState((before) => ({ ...before, error }));
        throw error;
      }
    });
    return () => {
      isCurrent = false;
      end();
    };
  }, [address, version]);
  useFeed(person, isPaused, {
    onStart: reload,
    onEntries: (entries) => {
      const decisions = entries.filter((entry) => entry.kind === "decision").reverse();
      if (!decisions.length) return;
      if (q) return reload();
      arrived.current = joinEntries(decisions, arrived.current);
      setState((before) => ({ ...before, entries: joinEntries(decisions, before.entries) }));
    },
  });
  return state.address === address ? state : { entries: state.entries, error: state.error };
}

export function NowPage({ me, query, waiting }) {
  const overview = useData("/v1/overview?days=7", { everySeconds: 30 });
  const q = query.get("q") ?? "";
  const isPaused = query.get("feed") === "paused";
  const { entries, address, error } = useDecisions(q, me.id, isPaused);
  const pause = () => go(withQuery({ feed: isPaused ? "" : "paused" }), { replace: true });
  useKeys({ p: pause });
  const data = overview.data;
  return html`<main tabindex="-1" class="page">
    <h1>Now</h1>
    <${Freshness} ...${overview} />
    ${data && html`<${Attention} data=${data} waiting=${waiting} isLocal=${me.is_local} />`}
    ${data && html`<${Chart} hours=${data.hours} since=${data.since} now=${data.now} />`}
    <div class="bar">
      <h2>Decisions</h2>
      <${SearchBox} query=${q} hint="filter, such as verdict:block" />
      <button aria-pressed=${isPaused} onClick=${pause}>${isPaused ? "Resume" : "Pause"}</button>
    </div>
    ${error && html`<p class="freshness stale" role="status">${showText(error.message)}</p>`}
    ${address && entries.length === 0
      ? html`<${Empty}>${describeNothing(q, data)}<//>`
      : html`<${RowList}
          label="Decisions, newest first"
          rows=${entries}
          query=${query}
          ...${ENTRIES}
          onOpen=${(entry) => go(ENTRIES.linkOf(entry))}
          renderRow=${(entry) => html`<${FeedRow} entry=${entry} isLocal=${me.is_local} />`}
        />`}
  </main>`;
}

function describeNothing(q, overview) {
  if (q) return "No decision is like that.";
  if (overview?.machines === 0) return html`You see what your own machines send, and those of your teams. There is none yet: <a href="/settings">how to let one in</a>`;
  return "Nothing was decided yet. Let an agent work in a governed project, and its calls appear here.";
}

function FeedRow({ entry, isLocal }) {
  return html`<span class="time wide">${showMoment(entry.ts)}</span>
    <${Verdict} verdict=${entry.verdict} />
    <span class="summary">${showText(entry.summary)}</span>
    <span class="guard">${entry.verdict === "pass" ? "" : showText(entry.guard)}</span>
    ${!isLocal && html`<span class="side">${showText(entry.machine)}</span>`}
    <span class="side">${showText(entry.host)}</span>`;
}

function Attention({ data, waiting, isLocal }) {
  const total = { pass: 0, warn: 0, ask: 0, block: 0 };
  for (const hour of data.hours) for (const word of Object.keys(total)) total[word] += hour[word] ?? 0;
  const all = total.pass + total.warn + total.ask + total.block;
  return html`<section aria-label="The last seven days">
    <ul class="tiles">
      ${waiting > 0 && html`<li><a href="/approvals?state=mine"><b class="ask">${waiting}</b> waiting for you</a></li>`}
      <li><a href="/integrity?q=kind:decision+since:7d"><b>${all.toLocaleString()}</b> ${chooseNoun(all, "decision")} in seven days</a></li>
      <li><a href="/integrity?q=verdict:ask+since:7d"><b class="ask">${total.ask.toLocaleString()}</b> ${chooseNoun(total.ask, "ask")}</a></li>
      <li><a href="/integrity?q=verdict:block+since:7d"><b class="block">${total.block.toLocaleString()}</b> ${chooseNoun(total.block, "block")}</a></li>
      ${!isLocal && html`<li><a href="/settings"><b>${data.machines_seen_today}</b> of ${showCount(data.machines, "machine")} seen today</a></li>`}
    </ul>
    ${(data.rewritten_sessions > 0 || data.machines_without_hook > 0 || data.machines_at_fault > 0 || data.problems.length > 0) &&
    html`<ul class="attention">
      ${data.rewritten_sessions > 0 && html`<li><a href="/sessions?q=is:rewritten">${showCount(data.rewritten_sessions, "session")}</a> whose history was rewritten</li>`}
      ${data.machines_without_hook > 0 && html`<li><a href="/settings?trait=no-hook">${showCount(data.machines_without_hook, "machine")}</a> without a hook that was there</li>`}
      ${data.machines_at_fault > 0 && html`<li><a href="/settings?trait=doctor">${showCount(data.machines_at_fault, "machine")}</a> on which doctor finds a fault</li>`}
      ${data.problems.slice(0, 5).map((item) => html`<li>${showText(lastName(item.session))}: ${showText(item.problem)}</li>`)}
    </ul>`}
  </section>`;
}
