// The sessions, the last active first.
import { usePages } from "./api.js";
import { html } from "./html.js";
import { ExportBar } from "./export.js";
import { Empty, NothingYet, SearchBox } from "./parts.js";
import { go } from "./router.js";
import { RowList } from "./rows.js";
import { lastName, quote, showCount, showMoment, showText } from "./text.js";

const SESSIONS = {
  keyOf: (session) => String(session.chain),
  linkOf: (session) => `/session/${session.chain}`,
  searchOf: (keys, sessions) => {
    const names = sessions.filter((session) => keys.includes(String(session.chain))).map((session) => session.session);
    return `/sessions?q=${encodeURIComponent(names.map((name) => `session:${quote(name)}`).join(" "))}`;
  },
};

export function SessionsPage({ query, me }) {
  const q = query.get("q") ?? "";
  const { first, rows: sessions, loadMore } = usePages(`/v1/sessions?q=${encodeURIComponent(q)}&limit=100`, "sessions");
  return html`<main tabindex="-1" class="page">
    <h1>Sessions</h1>
    <${SearchBox} query=${q} />
    <${ExportBar} q=${q} me=${me} data=${first} />
    ${first.data && sessions.length === 0 && (q ? html`<${Empty}>No session has an entry like that.<//>` : html`<${NothingYet} me=${me} />`)}
    ${sessions.length > 0 &&
    html`<${RowList}
      label="Sessions, the last active first"
      rows=${sessions}
      query=${query}
      ...${SESSIONS}
      onOpen=${(session) => go(SESSIONS.linkOf(session))}
      renderRow=${(session) => html`<${SessionRow} session=${session} isLocal=${me.is_local} />`}
    />`}
    ${loadMore && html`<button onClick=${loadMore}>Older sessions</button>`}
  </main>`;
}

// Sessions that no agent began.
const OWN_SESSIONS = new Map([["operator", "what people did with verdikt on this machine"]]);

function SessionRow({ session, isLocal }) {
  return html`<span class="time wide">${showMoment(session.last_ts)}</span>
    ${!isLocal && html`<span class="side">${showText(session.machine)}</span>`}
    <span class="side">${showText(session.host || "–")}</span>
    <span class="place">${showText(lastName(session.directory) || session.session)}</span>
    <span class="summary title-text">${showText(session.title || OWN_SESSIONS.get(session.session))}</span>
    <span class="count actions">${showCount(session.decisions, "action")}</span>
    <span class=${session.asks ? "count ask" : "count zero"}>${showCount(session.asks, "ask")}</span>
    <span class=${session.blocks ? "count block" : "count zero"}>${showCount(session.blocks, "block")}</span>
    <span class="count claims">${session.claims ? showCount(session.claims, "claim") : ""}</span>
    ${session.forked && html`<span class="mark">rewritten</span>`}`;
}
