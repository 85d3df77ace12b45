// Who and what may come in: tokens of programs, people, machines that show a code.
import { call, usePages } from "./api.js";
import { html, useRef, useState } from "./html.js";
import { Empty, SearchBox, instead } from "./parts.js";
import { showAge, showMoment, showText } from "./text.js";

// Returns [message, run]: an action that failed says why, and what is shown is asked for again after each.
function useAction(onDone) {
  const [message, setMessage] = useState("");
  const run = async (action) => {
    try {
      setMessage((await action()) ?? "");
    } catch (error) {
      setMessage(error.message);
    }
    onDone();
  };
  return [message, run];
}

export function Tokens() {
  const [version, setVersion] = useState(0);
  const { rows: tokens, loadMore } = usePages("/v1/tokens?limit=100", "tokens", { version });
  const [message, run] = useAction(() => setVersion((before) => before + 1));
  const name = useRef(null);
  const create = () =>
    run(async () => {
      const body = { name: name.current.value.trim() || "token", scopes: ["read"], days: 90 };
      const { token } = await call("/v1/tokens", { method: "POST", body });
      return `shown once: ${token}`;
    });
  return html`<section>
    <h2>Tokens of programs</h2>
    <p class="facts">A program that reads with <code>Authorization: Bearer</code>; it can change nothing.</p>
    <ul class="plain">
      ${tokens.filter((token) => !token.revoked).map(
        (token) => html`<li key=${token.id}>
          ${showText(token.name)} <code>vdk_${showText(token.kid)}_…</code>
          ${" "}<span class="facts">${showText(token.person_name)}, ${showText(token.scopes)}, until ${showMoment(token.expires)},
          ${" "}${token.used ? `used ${showAge(token.used)} ago` : "never used"}</span>
          ${" "}<button onClick=${() => run(() => call(`/v1/tokens/${token.id}/revocation`, { method: "POST", body: {} }).then(() => ""))}>Revoke</button>
        </li>`,
      )}
    </ul>
    ${loadMore && html`<p><button onClick=${loadMore}>Older tokens</button></p>`}
    <form class="bar" onSubmit=${instead(create)}>
      <input ref=${name} placeholder="name of the token" aria-label="Name of the token" maxlength="60" />
      <button type="submit">Make a token</button>
    </form>
    ${message && html`<p role="status"><code>${showText(message)}</code></p>`}
  </section>`;
}

export function People({ me, query }) {
  const [version, setVersion] = useState(0);
  const who = query.get("who") ?? "";
  const { first, rows: people, loadMore } = usePages(`/v1/people?q=${encodeURIComponent(who)}&limit=100`, "people", { version });
  const [message, run] = useAction(() => setVersion((before) => before + 1));
  const change = (person, path, body) => run(() => call(`/v1/people/${person.id}/${path}`, { method: "POST", body }).then(() => ""));
  return html`<section>
    <h2>People</h2>
    ${(loadMore || who) && html`<${SearchBox} query=${who} hint="name or address" parameter="who" />`}
    ${who && people.length === 0 && first.data && html`<${Empty}>No person is like that.<//>`}
    <table>
      <thead><tr><th>name</th><th>roles</th><th>groups</th><th>signed in</th><th>access</th></tr></thead>
      <tbody>
        ${people.map((person) => html`<tr key=${person.id}>
          <td class="name">${showText(person.name)} <span class="facts">${showText(person.email)}</span></td>
          <td>${person.roles.map(showText).join(", ")}</td>
          <td class="long">${person.groups.map(showText).join(", ")}</td>
          <td>${person.seen ? `${showAge(person.seen)} ago` : "never"}</td>
          <td>${person.id === me.id
            ? "you"
            : html`<button onClick=${() => change(person, "access", { allowed: person.disabled })}>${person.disabled ? "Let in" : "Keep out"}</button>
                <button onClick=${() => change(person, "sign-out", {})}>Sign out everywhere</button>`}</td>
        </tr>`)}
      </tbody>
    </table>
    ${loadMore && html`<p><button onClick=${loadMore}>More people</button></p>`}
    ${message && html`<p role="status">${showText(message)}</p>`}
  </section>`;
}

// A machine shows a code; the person sees which machine it is before saying that it is theirs.
export function DeviceConfirmation({ me, onConfirm }) {
  const code = useRef(null);
  const team = useRef(null);
  const [device, setDevice] = useState(null);
  const [message, run] = useAction(() => {});
  const path = (text) => `/v1/device-codes/${encodeURIComponent(text)}`;
  const look = () =>
    run(async () => {
      const text = code.current.value.trim().toUpperCase();
      setDevice(null);
      setDevice({ text, ...(await call(path(text))) });
    });
  const confirm = () =>
    run(async () => {
      const body = { team: team.current?.value ?? "" };
      const { machine } = await call(`${path(device.text)}/confirmation`, { method: "POST", body });
      setDevice(null);
      onConfirm();
      return `machine ${machine} may send now`;
    });
  return html`<form class="bar code-maker" onSubmit=${instead(look)}>
    <input ref=${code} placeholder="code that a machine shows" aria-label="Code that a machine shows" maxlength="9" />
    <button type="submit">Find the machine</button>
    ${device && html`<p>
      ${showText(device.name)}, key <code>${showText(device.fingerprint)}</code>
      ${me.groups.length > 0 && html` <label>seen by <select ref=${team}><option value="">me alone</option>${me.groups.map((group) => html`<option key=${group} value=${group}>${showText(group)}</option>`)}</select></label>`}
      ${" "}<button type="button" onClick=${confirm}>It is mine</button>
    </p>`}
    ${message && html`<p role="status">${showText(message)}</p>`}
  </form>`;
}
