// Approvals that agents wait for, those of one shape together, and the history with how people answer.
import { useData } from "./api.js";
import { Card, sendVote } from "./approval_card.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { useKeys } from "./keys.js";
import { copyText } from "./message.js";
import { refreshNotices } from "./notices.js";
import { Empty, Freshness } from "./parts.js";
import { go, withQuery } from "./router.js";
import { showSeconds, showText } from "./text.js";

const TABS = [
  ["waiting", "Waiting"],
  ["mine", "For you"],
  ["history", "History"],
];

const PAGE = 100;
const MAX_SHOWN = 1000;

// Approvals that wait, in their order, with those of the same shape behind the first of them.
function groupByShape(approvals) {
  const groups = new Map();
  for (const approval of approvals) {
    const key = approval.state === "waiting" ? approval.shape : approval.id;
    groups.set(key, [...(groups.get(key) ?? []), approval]);
  }
  return [...groups.values()];
}

export function ApprovalsPage({ query, me }) {
  const tab = query.get("state") ?? "waiting";
  const q = query.get("q") ?? "";
  const [version, setVersion] = useState(0);
  const state = tab === "history" ? "history" : "waiting";
  const [limit, setLimit] = useState(PAGE);
  const address = `/v1/approvals?state=${state}&q=${encodeURIComponent(q)}&`;
  const list = useData(`${address}limit=${limit}`, { everySeconds: tab === "history" ? 15 : 3, version });
  const isLoaded = list.path?.startsWith(address);
  const all = isLoaded ? list.data.approvals : [];
  const wanted = Number(query.get("id"));
  const inTab = tab === "mine" ? all.filter((approval) => approval.can_vote) : all;
  // The approval of the address is shown even where it is not in this list, because it ended or is an old one.
  const isAbsent = isLoaded && wanted > 0 && !inTab.some((approval) => approval.id === wanted);
  const absent = useData(isAbsent ? `/v1/approvals/${wanted}` : "", { version: list.at });
  const groups = groupByShape(isAbsent && absent.data?.id === wanted ? [absent.data, ...inTab] : inTab);
  const approvals = groups.flat();
  // What was shown in full, by number: only that is approved together.
  const [shown, setShown] = useState(new Map());
  const selected = approvals.findIndex((approval) => approval.id === wanted);
  const select = (index) => go(withQuery({ id: approvals[index]?.id }), { replace: true });
  // The first one that this person can answer is opened, and stays open by its number: when it is answered elsewhere, a key does not answer the next.
  const votedAt = useRef(0);
  useEffect(() => {
    if (!wanted && approvals.length && list.at !== votedAt.current) select(Math.max(0, approvals.findIndex((approval) => approval.can_vote)));
  }, [wanted, list.at, tab]);
  const showNext = (voted) => {
    const others = [...approvals.slice(selected + 1), ...approvals].filter((approval) => approval.can_vote && !voted.includes(approval.id));
    votedAt.current = list.at;
    setVersion((before) => before + 1);
    refreshNotices();
    go(withQuery({ id: others[0]?.id }), { replace: true });
  };
  const showTab = (name) => go(`/approvals${name === "waiting" ? "" : `?state=${name}`}`);
  useKeys({
    ...(approvals.length ? { j: () => select(Math.min(approvals.length - 1, selected + 1)), k: () => select(Math.max(0, selected - 1)) } : {}),
    ...(approvals[selected] ? { ".": () => copyText(`${location.origin}/approvals?id=${approvals[selected].id}`, "link") } : {}),
    "[": () => showTab(TABS[Math.max(0, TABS.findIndex(([name]) => name === tab) - 1)][0]),
    "]": () => showTab(TABS[Math.min(TABS.length - 1, TABS.findIndex(([name]) => name === tab) + 1)][0]),
  });
  const mine = state === "waiting" ? all.filter((approval) => approval.can_vote).length : null;
  const counts = { waiting: state === "waiting" ? all.length : null, mine, history: null };
  return html`<main tabindex="-1" class="page scrolls approvals">
    <h1>Approvals</h1>
    <div class="tabs" role="tablist">
      ${TABS.map(
        ([name, title]) => html`<button key=${name} role="tab" aria-selected=${tab === name} onClick=${() => showTab(name)}>
          ${title}${counts[name] === null ? "" : ` ${counts[name]}`}
        </button>`,
      )}
    </div>
    ${tab === "history" && html`<${HistorySearch} q=${q} />`}
    ${tab === "history" && me.sees_all && html`<${Approvers} />`}
    <${Freshness} ...${list} />
    ${isAbsent && absent.error?.status === 404 && html`<p class="freshness stale" role="status">There is no approval ${wanted}.</p>`}
    ${isLoaded && approvals.length === 0 && html`<${Empty}>${describeNothing(tab)}<//>`}
    ${groups.map((group) => {
      const cards = group.map(
        (approval) => html`<${Card}
          key=${approval.id}
          approval=${approval}
          now=${list.data.now}
          isOpen=${approval === approvals[selected]}
          onOpen=${() => select(approvals.indexOf(approval))}
          onShown=${(data) => setShown((before) => new Map(before).set(approval.id, data))}
          onVoted=${() => showNext([approval.id])}
        />`,
      );
      if (group.length === 1) return cards;
      return html`<${SameShape} key=${`shape-${group[0].shape}`} group=${group} shown=${shown} isOpen=${group.includes(approvals[selected])} onVoted=${() => showNext(group.map((approval) => approval.id))}>${cards}<//>`;
    })}
    ${isLoaded && list.data.cursor && (limit < MAX_SHOWN ? html`<button onClick=${() => setLimit(limit + PAGE)}>More approvals</button>` : html`<p class="facts">There are more: answer some of these, or search.</p>`)}
  </main>`;
}

// Calls that differ in their arguments only, on one card. They are approved together once each of them was shown.
function SameShape({ group, shown, isOpen, onVoted, children }) {
  const [message, setMessage] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const seen = group.filter((approval) => shown.has(approval.id)).length;
  const canApprove = seen === group.length && group.every((approval) => approval.can_vote) && !isBusy;
  const approveAll = async () => {
    setIsBusy(true);
    try {
      for (const approval of group) await sendVote(shown.get(approval.id), { approved: true });
    } catch (error) {
      setMessage(error.message);
    } finally {
      setIsBusy(false);
      onVoted();
    }
  };
  useKeys(isOpen && canApprove ? { A: approveAll } : {});
  return html`<section class="shape" aria-label="Calls of the same shape">
    <div class="bar">
      <h2>${group.length} calls of the same shape</h2>
      <span class="facts">${seen} of ${group.length} seen</span>
      <button disabled=${!canApprove} onClick=${approveAll}><kbd>A</kbd> Approve all</button>
    </div>
    ${message && html`<p role="status" class="result">${showText(message)}</p>`}
    ${children}
  </section>`;
}

// Whether people still read what they approve: for those who see everything.
function Approvers() {
  const { data } = useData("/v1/approvers?days=30");
  if (!data?.approvers.length) return null;
  return html`<details class="approvers">
    <summary>How people answered in the last 30 days</summary>
    <table>
      <thead><tr><th>who</th><th>answers</th><th>approved</th><th>after (median)</th><th>within two seconds</th></tr></thead>
      <tbody>
        ${data.approvers.map((row) => html`<tr key=${row.person}>
          <td>${showText(row.name)}</td>
          <td>${row.answers}</td>
          <td>${Math.round((100 * row.approved) / row.answers)} %</td>
          <td>${showSeconds(row.median_seconds)}</td>
          <td class=${row.quick ? "ask" : ""}>${row.quick}</td>
        </tr>`)}
      </tbody>
    </table>
  </details>`;
}

function describeNothing(tab) {
  if (tab === "history") return "No approval has ended yet.";
  if (tab === "mine") return "No agent waits for you.";
  return html`No agent waits for an answer. Calls come here by rules with <code>approval:</code>, which <code>verdikt docs approvals</code> explains.`;
}

function HistorySearch({ q }) {
  const input = useRef(null);
  useKeys({ "/": () => input.current.focus() });
  const submit = (event) => {
    event.preventDefault();
    go(withQuery({ q: input.current.value.trim(), id: "" }));
  };
  return html`<form class="search" role="search" onSubmit=${submit}>
    <input ref=${input} type="search" defaultValue=${q} placeholder="call, rule, session or machine" aria-label="Search" spellcheck="false" />
    <button type="submit">Search</button>
  </form>`;
}

