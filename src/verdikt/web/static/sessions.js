// The sessions, the last active first.
import { call, useData } from "./api.js";
import { html, useEffect, useState } from "./html.js";
import { WindowedList } from "./list.js";
import { Empty, Freshness, SearchBox } from "./parts.js";
import { go } from "./router.js";
import { lastName, showCount, showMoment, showText } from "./text.js";

export function SessionsPage({ query }) {
  const q = query.get("q") ?? "";
  const address = `/v1/sessions?q=${encodeURIComponent(q)}&limit=100`;
  const first = useData(address);
  const [more, setMore] = useState({ address, sessions: [], cursor: null });
  const [selected, setSelected] = useState(-1);
  useEffect(() => {
    setMore({ address, sessions: [], cursor: null });
    setSelected(-1);
  }, [address]);

  const sessions = [...(first.data?.sessions ?? []), ...(more.address === address ? more.sessions : [])];
  const cursor = more.cursor ?? first.data?.cursor ?? "";
  const loadMore = async () => {
    const page = await call(`${address}&cursor=${encodeURIComponent(cursor)}`);
    setMore((before) => ({ address, sessions: [...before.sessions, ...page.sessions], cursor: page.cursor }));
  };
  return html`<main tabindex="-1" class="page">
    <h1>Sessions</h1>
    <${SearchBox} query=${q} />
    <${Freshness} ...${first} />
    ${first.data && sessions.length === 0 && html`<${Empty}>No session has an entry like that.<//>`}
    ${sessions.length > 0 &&
    html`<${WindowedList}
      label="Sessions, the last active first"
      count=${sessions.length}
      wraps=${true}
      selected=${selected}
      onSelect=${setSelected}
      onOpen=${(index) => go(`/session/${sessions[index].chain}`)}
      renderRow=${(index) => html`<${SessionRow} session=${sessions[index]} />`}
    />`}
    ${cursor && html`<button onClick=${loadMore}>Older sessions</button>`}
  </main>`;
}

function SessionRow({ session }) {
  return html`<span class="time wide">${showMoment(session.last_ts)}</span>
    <span class="side">${showText(session.host || "–")}</span>
    <span class="place">${showText(lastName(session.directory) || session.session)}</span>
    <span class="summary title-text">${showText(session.title)}</span>
    <span class="count actions">${showCount(session.decisions, "action")}</span>
    <span class=${session.asks ? "count ask" : "count zero"}>${showCount(session.asks, "ask")}</span>
    <span class=${session.blocks ? "count block" : "count zero"}>${showCount(session.blocks, "block")}</span>
    <span class="count claims">${session.claims ? showCount(session.claims, "claim") : ""}</span>
    ${session.forked && html`<span class="mark">rewritten</span>`}`;
}
