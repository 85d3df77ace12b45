// One approval: what verdikt computed above what the agent says, and the buttons and keys that answer it.
import { call, useData } from "./api.js";
import { Diff, Effect, Payload } from "./detail.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { useKeys } from "./keys.js";
import { announce, copyText } from "./message.js";
import { signWithKey } from "./security_keys.js";
import { lastName, showBlock, showCount, showMoment, showText } from "./text.js";

const RISKS = ["low", "low", "medium", "HIGH"];

// Sends a vote for the digest that was shown, signed where the rule needs a security key. Returns the new state.
export async function sendVote(approval, { approved, reason = "" }) {
  const assertion = approved && approval.needs_key ? await signWithKey(approval.challenge, approval.keys) : null;
  const body = { approved, digest: approval.digest, reason, assertion };
  return (await call(`/v1/approvals/${approval.id}/votes`, { method: "POST", body })).state;
}

export function Card({ approval, now, isOpen, onOpen, onShown, onVoted }) {
  const card = useRef(null);
  useEffect(() => {
    if (isOpen) card.current.scrollIntoView({ block: "nearest" });
  }, [isOpen]);
  const risk = RISKS[approval.risk] ?? "low";
  return html`<article ref=${card} class=${isOpen ? "card open" : "card"} aria-current=${isOpen ? "true" : undefined} onClick=${isOpen ? undefined : onOpen}>
    <header>
      <code class="id">${showText(approval.request)}</code>
      <span class=${`risk ${risk}`}>${risk}</span>
      <span class="where">${showText(approval.machine)} / ${showText(approval.host || "agent")} / ${showText(lastName(approval.directory))}</span>
      <span class="when">${describeTime(approval, now)}</span>
    </header>
    <p class="call"><code>${showText(approval.summary)}</code></p>
    <p class="need">
      ${approval.needs.map((need) => html`needs ${showText(need.text.replaceAll("`", ""))} <span class="facts">(${need.given} of ${need.count} so far)</span> `)}
    </p>
    ${isOpen && html`<${CardBody} approval=${approval} onShown=${onShown} onVoted=${onVoted} />`}
  </article>`;
}

function describeTime(approval, now) {
  if (approval.state !== "waiting") return html`<span class=${`state ${approval.state}`}>${approval.state}</span> ${showMoment((approval.closed ?? approval.decided ?? approval.asked) * 1e6)}`;
  const seconds = Math.max(0, approval.expires - now);
  const hours = Math.floor(seconds / 3600);
  const minutes = String(Math.floor((seconds % 3600) / 60)).padStart(2, "0");
  const repeats = approval.calls > 1 ? `asked ${approval.calls} times, ` : "";
  return `${repeats}expires in ${hours}:${minutes} h`;
}

function CardBody({ approval, onShown, onVoted }) {
  const { data, error } = useData(`/v1/approvals/${approval.id}`);
  useEffect(() => data && onShown(data), [data]);
  if (!data) return html`<p class="freshness stale">${error ? error.message : ""}</p>`;
  const action = data.document.action ?? {};
  const earlier = data.same_shape;
  const approved = (earlier.approved ?? 0) + (earlier.used ?? 0);
  return html`<div class="card-body">
    <section class="computed">
      <h2>Would do <span class="source">computed by verdikt</span></h2>
      <ul class="plain">
        ${data.document.effects.map((effect) => html`<li><${Effect} effect=${effect} /></li>`)}
      </ul>
      <p>${showText(data.reason)} <span class="facts">rule ${showText(data.rule)}</span></p>
      <p class="facts">in ${showText(action.cwd)}</p>
      <${Call} action=${action} summary=${data.summary} />
      <${Texts} texts=${data.texts} previous=${data.previous_texts} pinned=${data.document.pinned} />
    </section>
    <section class="said">
      <h2>Agent says <span class="source">said by the agent, not checked</span></h2>
      <p>${data.says ? `“${showText(data.says)}”` : html`<span class="facts">nothing</span>`}</p>
    </section>
    <p class="facts">
      ${approved || earlier.refused || earlier.expired ? `same shape before: approved ${approved}, refused ${earlier.refused ?? 0}, expired ${earlier.expired ?? 0}` : "none of this shape was answered before"}
      ${data.chain ? html` · <a href=${`/session/${data.chain}?seq=${data.seq}`}>the actions before it</a>` : ""}
      ${" · "}digest <code>${data.digest.slice(0, 16)}…</code>
    </p>
    <${Votes} votes=${approval.votes} />
    ${approval.state === "waiting" && html`<${Ballot} approval=${{ ...data, can_vote: approval.can_vote, why_not: approval.why_not }} onVoted=${onVoted} />`}
  </div>`;
}

// The call in full, where the line above it does not say all of it. What the agent says about it stands below.
function Call({ action, summary }) {
  let payload = action.payload;
  if (typeof payload?.description === "string") {
    const { description, ...others } = payload;
    payload = others;
  }
  const values = Object.values(payload ?? {});
  if (values.length === 1 && summary === `${action.tool} ${values[0]}`) return null;
  return html`<details open><summary>the whole call</summary><${Payload} payload=${payload} /></details>`;
}

function Texts({ texts, previous, pinned }) {
  const paths = Object.keys(pinned?.texts ?? {}).filter((path) => pinned.texts[path]);
  return paths.map((path) => {
    const text = texts[path];
    if (text === undefined) return html`<p class="facts">rests on ${showText(path)}, which is too long to be shown</p>`;
    const isDiff = previous[path] !== undefined;
    const title = isDiff ? (previous[path] === text ? "as last approved" : "changed since it was last approved") : showCount(text.replace(/\n$/, "").split("\n").length, "line");
    // What was approved before in these very words need not be read again.
    return html`<details open=${previous[path] !== text}>
      <summary>${showText(path)} <span class="facts">${title}</span></summary>
      ${isDiff && previous[path] !== text ? html`<${Diff} before=${previous[path]} after=${text} />` : html`<pre tabindex="0">${showBlock(text)}</pre>`}
    </details>`;
  });
}

function Votes({ votes }) {
  if (!votes.length) return null;
  return html`<ul class="votes plain">
    ${votes.map(
      (vote) => html`<li>
        <span class=${vote.approved ? "pass" : "block"}>${vote.approved ? "approved" : "refused"}</span> by ${showText(vote.name)}${vote.strong ? " with a security key" : ""}
        ${vote.reason ? `: ${showText(vote.reason)}` : ""} <span class="facts">${showMoment(vote.at * 1e6)}${vote.quick ? ", within two seconds" : ""}</span>
      </li>`,
    )}
  </ul>`;
}

function Ballot({ approval, onVoted }) {
  const reason = useRef(null);
  const [message, setMessage] = useState("");
  const [proposal, setProposal] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const send = async (approved, proposes = false) => {
    if (isBusy) return;
    setIsBusy(true);
    try {
      const state = await sendVote(approval, { approved, reason: reason.current.value.trim() });
      // At the edge of the page, because the card leaves the list.
      announce(`${showText(approval.request)}: ${state === "waiting" ? "counted; more votes are needed" : state}`);
      setMessage("");
      if (proposes) setProposal(proposeRule(approval));
      else onVoted();
    } catch (error) {
      setMessage(error.message);
    } finally {
      setIsBusy(false);
    }
  };
  const refuse = () => {
    if (reason.current.value.trim()) send(false);
    else {
      reason.current.focus();
      setMessage("say why, then press Enter");
    }
  };
  useKeys(approval.can_vote && !proposal ? { a: () => send(true), r: refuse, p: () => send(true, true) } : {});
  if (!approval.can_vote && !proposal) return html`<p class="facts" role="status">${showText(approval.why_not)}</p>`;
  const submit = (event) => {
    event.preventDefault();
    refuse();
  };
  return html`<form class="ballot" onSubmit=${submit}>
    <input ref=${reason} name="reason" maxlength="300" placeholder="reason (the agent hears it)" aria-label="Reason" autocomplete="off" />
    <div class="bar">
      <button type="submit" class="refuse" disabled=${isBusy}><kbd>r</kbd> Refuse</button>
      <button type="button" class="approve" disabled=${isBusy} onClick=${() => send(true)}><kbd>a</kbd> Approve${approval.needs_key ? " with key" : ""}</button>
      <button type="button" disabled=${isBusy} onClick=${() => send(true, true)}><kbd>p</kbd> Approve and propose a rule</button>
    </div>
    <p role="status" class="result">${showText(message)}</p>
    ${proposal && html`<${Proposal} text=${proposal} onDone=${onVoted} />`}
  </form>`;
}

// An exception for exactly this call, to be put into the policy by those who may change it.
function proposeRule(approval) {
  const payload = approval.document.action?.payload ?? {};
  const scope = payload.command ? `command: ${JSON.stringify(payload.command)}` : `tool: ${JSON.stringify(approval.document.action?.tool ?? "")}`;
  return `exceptions:\n  - rule: ${approval.rule}\n    ${scope}\n    reason: approved as ${approval.request}; always the same call\n`;
}

function Proposal({ text, onDone }) {
  return html`<div class="proposal">
    <p>Approved. To be asked no more about exactly this call, put this into the policy:</p>
    <pre tabindex="0">${showBlock(text)}</pre>
    <div class="bar">
      <button type="button" onClick=${() => copyText(text, "rule")}>Copy</button>
      <button type="button" onClick=${onDone}>Done</button>
    </div>
  </div>`;
}
