// Everything about one entry: what was wanted, what it would do, what was decided and why, and what came of it.
import { useData } from "./api.js";
import { diffLines } from "./diff.js";
import { html } from "./html.js";
import { copyText } from "./message.js";
import { Verdict } from "./parts.js";
import { showBlock, showMoment, showText } from "./text.js";

function describeSignature(entry, signedSeq) {
  if (entry.sig) return `signed by ${showText(entry.kid)}`;
  return entry.seq < signedSeq ? "covered by a later signature" : "not signed yet: the next checkpoint covers it";
}

export function Detail({ chain, seq, signedSeq, onClose }) {
  const { data, error } = useData(`/v1/entries/${chain}/${seq}`);
  const copyLink = () => copyText(`${location.origin}/session/${chain}?seq=${seq}`, "link");
  if (error && !data) return html`<aside class="detail" tabindex="0"><p class="freshness stale">${error.message}</p></aside>`;
  if (!data) return html`<aside class="detail" tabindex="0" aria-busy="true"></aside>`;
  if (data.problem)
    return html`<aside class="detail" tabindex="0"><p class="block">${showText(data.problem)}</p><pre tabindex="0">${showBlock(data.line)}</pre></aside>`;
  const entry = data.entry;
  const body = entry.body;
  return html`<aside class="detail" tabindex="0" aria-label=${`Entry ${seq}`}>
    <div class="bar">
      <h2>#${entry.seq} ${showText(entry.kind.replaceAll("_", " "))}</h2>
      <button onClick=${copyLink}>Copy link</button>
      <button onClick=${onClose}>Close</button>
    </div>
    <p class="facts">${showMoment(entry.ts)}</p>
    ${body === undefined
      ? html`<p>Its body stayed on its machine; the chain has its digest <code>${entry.body_sha256.slice(0, 16)}…</code>.</p>`
      : body.receipt && typeof body.receipt === "object"
        ? html`<${Decision} body=${body} outcome=${data.outcome} address=${`/v1/entries/${chain}/${seq}`} />`
        : html`<${Fields} value=${body} />`}
    <details>
      <summary>Line as it stands in the log</summary>
      <pre tabindex="0">${showBlock(data.line)}</pre>
    </details>
    <p class="facts hash">hash ${entry.hash}<br />${describeSignature(entry, signedSeq)}</p>
  </aside>`;
}

// A body may come from any machine: whatever is not of the expected type is shown as it is.
const asList = (value) => (Array.isArray(value) ? value : []);
const asObject = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});

function Decision({ body, outcome, address }) {
  const receipt = asObject(body.receipt);
  const action = asObject(receipt.action);
  const verdict = asObject(receipt.verdict);
  return html`<dl>
    <dt>wanted</dt>
    <dd>${showText(action.tool)}<${Payload} payload=${action.payload} /></dd>
    <dt>verdict</dt>
    <dd><${Verdict} verdict=${showText(verdict.kind)} /> ${showText(verdict.reason)}</dd>
    ${verdict.kind !== "pass" && html`<dt>rule</dt><dd><a href=${`/integrity?q=${encodeURIComponent(`guard:${verdict.guard}`)}`}>${showText(verdict.guard)}</a></dd>`}
    ${verdict.fix && html`<dt>fix</dt><dd>${showText(verdict.fix)}</dd>`}
    <dt>effects</dt>
    <dd>
      <ul class="plain">
        ${asList(receipt.effects).map((effect) => html`<li><${Effect} effect=${asObject(effect)} /></li>`)}
      </ul>
    </dd>
    <dt>outcome</dt>
    <dd>${describeOutcome(outcome, showText(verdict.kind))}</dd>
    <dt>where</dt>
    <dd>${showText(action.cwd)}</dd>
    <dt>receipt</dt>
    <dd>
      <code>${showText(body.receipt_sha256).slice(0, 16)}…</code> policy <code>${showText(receipt.policy).slice(0, 16)}…</code>, posture
      ${" "}${showText(asObject(receipt.posture).before)}
      <${Replay} address=${`${address}/replay`} />
      <details>
        <summary>facts that the decision rests on</summary>
        <pre tabindex="0">${showBlock(JSON.stringify(receipt.facts, null, 2))}</pre>
      </details>
    </dd>
  </dl>`;
}

function Replay({ address }) {
  const { data, error } = useData(address);
  if (!data) return html`<p class="facts">${error ? error.message : ""}</p>`;
  if (data.problem) return html`<p class="facts">not replayed: ${showText(data.problem)}</p>`;
  if (!data.differences.length) return html`<p class="pass">replays to the same decision, byte for byte</p>`;
  return html`<div class="block">replays to another decision
    <ul class="plain">
      ${data.differences.map((item) => html`<li>${showText(item.field)}: recorded ${showText(item.recorded)}, found ${showText(item.found)}</li>`)}
    </ul>
  </div>`;
}

function describeOutcome(outcome, verdict) {
  if (!outcome) return verdict === "block" ? "not run" : "no outcome was recorded";
  const seconds = outcome.seconds === undefined ? "" : ` after ${Number(outcome.seconds).toFixed(1)} s`;
  const status = outcome.exit_code === undefined ? "" : `, exit status ${showText(outcome.exit_code)}`;
  return html`${outcome.success ? "succeeded" : "failed"}${seconds}${status}, <a href=${`?seq=${Number(outcome.seq)}`}>#${Number(outcome.seq)}</a>`;
}

export function Effect({ effect }) {
  const targets = asList(effect.targets).map((target) => showText(asObject(target).text)).join(", ");
  const certainty = effect.certainty === "possible" ? "possibly " : "";
  const lasting = effect.recoverable === false ? ", can't be undone" : "";
  return html`<span class=${`class ${showText(effect.class)}`}>${showText(effect.class)}</span> ${certainty}${showText(effect.what)}
    ${targets && html` on <code>${targets}</code>`}${lasting}`;
}

// What a call was made with, of any shape; a replacement as the difference of its two texts.
export function Payload({ payload }) {
  if (asObject(payload) !== payload) return html`<${Value} name="input" value=${payload} />`;
  const { old_string: before, new_string: after, ...others } = payload;
  const isReplacement = typeof before === "string" && typeof after === "string";
  return html`${Object.entries(isReplacement ? others : payload).map(([name, value]) => html`<${Value} key=${name} name=${name} value=${value} />`)}
    ${isReplacement && html`<div><span class="name">replaces</span><${Diff} before=${before} after=${after} /></div>`}`;
}

export function Diff({ before, after }) {
  const marks = { "+": "added", "-": "removed" };
  return html`<pre class="diff" tabindex="0">${diffLines(before, after).map(({ mark, line }) => html`<span class=${marks[mark] ?? "same"}>${mark} ${showBlock(line)}${"\n"}</span>`)}</pre>`;
}

function Value({ name, value }) {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2);
  return html`<div><span class="name">${showText(name)}</span><pre tabindex="0">${showBlock(text)}</pre></div>`;
}

const isEmpty = (field) => field === "" || field === null || field === undefined || (typeof field === "object" && !Object.keys(field).length);

// Short fields, then what a call was made with, then the others, each to be opened.
function Fields({ value }) {
  const { payload, ...others } = asObject(value);
  const fields = Object.entries(others).filter(([, field]) => !isEmpty(field));
  const isLong = ([, field]) => typeof field === "object";
  return html`<dl>
      ${fields.filter((field) => !isLong(field)).map(([name, field]) => html`<dt>${showText(name.replaceAll("_", " "))}</dt><dd class="text">${showBlock(String(field))}</dd>`)}
      ${!isEmpty(payload) && html`<dt>made with</dt><dd><${Payload} payload=${payload} /></dd>`}
    </dl>
    ${fields.filter(isLong).map(([name, field]) => html`<details key=${name}><summary>${showText(name.replaceAll("_", " "))}</summary><pre tabindex="0">${showBlock(JSON.stringify(field, null, 2))}</pre></details>`)}`;
}
