// Who is signed in, the machines, the theme, and what was done to this service.
import { call, useData, usePages } from "./api.js";
import { DeviceConfirmation, People, Tokens } from "./access.js";
import { html, useState } from "./html.js";
import { DesktopNotices } from "./notices.js";
import { Notifiers } from "./notifiers.js";
import { Freshness, VerifyButton } from "./parts.js";
import { SecurityKeys } from "./security_keys.js";
import { quote, showAge, showCount, showMoment, showShort, showText } from "./text.js";

export function SettingsPage({ me }) {
  const [version, setVersion] = useState(0);
  const machines = useData("/v1/machines", { everySeconds: 15, version });
  const isAdmin = me.roles.includes("admin");
  const signOut = async () => {
    await call("/v1/sign-out", { method: "POST", body: {} });
    location.assign("/sign-in");
  };
  return html`<main tabindex="-1" class="page scrolls">
    <h1>Settings</h1>
    <section>
      <h2>You</h2>
      <p>${showText(me.name)}, ${me.roles.map(showText).join(", ")}${me.groups.length ? ` · ${me.groups.map(showText).join(", ")}` : ""} · verdikt ${showText(me.version)}</p>
      <div class="bar"><button onClick=${signOut}>Sign out</button><${ThemeSwitch} /></div>
    </section>
    <${SecurityKeys} />
    <${Notifiers} me=${me} />
    <${DesktopNotices} />
    <section>
      <h2>Machines</h2>
      <${Freshness} ...${machines} />
      ${!me.is_local && html`<p class="facts">${machines.data?.machines.length === 0 ? "No machine that you may see has sent anything. " : ""}On a machine, <code>verdikt ship enrol ${location.origin}</code> shows a code.</p>`}
      <${Machines} machines=${machines.data?.machines ?? []} canRevoke=${isAdmin && !me.is_local} />
      ${(isAdmin || me.roles.includes("developer")) && !me.is_local && html`<${DeviceConfirmation} onConfirm=${() => setVersion((before) => before + 1)} />`}
      ${isAdmin && !me.is_local && html`<${CodeMaker} />`}
    </section>
    ${isAdmin && !me.is_local && html`<${People} me=${me} />`}
    <${Tokens} />
    ${(me.roles.includes("auditor") || isAdmin) && html`<${Events} />`}
  </main>`;
}

function Events() {
  const { rows, loadMore } = usePages("/v1/events?limit=100", "events");
  return html`<section>
    <h2>What was done to this service</h2>
    <div class="bar"><span class="facts">Each row has the hash of the one before it.</span><${VerifyButton} path="/v1/events/verification" describe=${describeRecord} /></div>
    <table>
      <thead><tr><th>when</th><th>who</th><th>what</th></tr></thead>
      <tbody>
        ${rows.map((event) => html`<tr key=${event.n}>
          <td>${showMoment(event.at)}</td>
          <td class="name">${showText(event.actor)}</td>
          <td class="long" title=${showText(event.object)}>${showText(event.verb.replaceAll("_", " "))} ${showShort(event.object)}</td>
        </tr>`)}
      </tbody>
    </table>
    ${loadMore && html`<p><button onClick=${loadMore}>Older</button></p>`}
  </section>`;
}

function describeRecord(report) {
  return report.intact ? "intact" : `FAILING: row ${report.broken} is not as it was written, or one before it is missing`;
}

function Machines({ machines, canRevoke }) {
  if (machines.length === 0) return "";
  const search = (page, machine) => `${page}?q=${encodeURIComponent(`machine:${quote(machine.name)}`)}`;
  return html`<table>
    <thead><tr><th>name</th><th>last heard</th><th>sessions</th><th>entries</th><th>state</th>${canRevoke && html`<th>revoke</th>`}</tr></thead>
    <tbody>
      ${machines.map((machine) => html`<tr key=${machine.id}>
        <td class="name">${showText(machine.name)} <span class="facts">${[machine.version, machine.policy && `policy ${machine.policy.slice(0, 8)}`, machine.team].filter(Boolean).map(showText).join(" · ")}</span></td>
        <td>${machine.seen ? `${showAge(machine.seen)} ago` : "never"}</td>
        <td><a href=${search("/sessions", machine)}>${machine.sessions.toLocaleString()}</a></td>
        <td><a href=${search("/integrity", machine)}>${machine.entries.toLocaleString()}</a></td>
        <td class=${`long ${machine.forks || machine.revoked || machine.lost_hosts.length || machine.faults.length ? "block" : isSilent(machine) ? "dim" : ""}`}>${describeMachine(machine)}</td>
        ${canRevoke && html`<td>${machine.revoked ? "" : html`<${RevokeButton} machine=${machine} />`}</td>`}
      </tr>`)}
    </tbody>
  </table>`;
}

const SILENT_MICROSECONDS = 15 * 60 * 1e6;

// A machine that sends nothing and says nothing may be well or not: that is not known.
function isSilent(machine) {
  return !machine.seen || Date.now() * 1000 - machine.seen > SILENT_MICROSECONDS;
}

function describeMachine(machine) {
  if (machine.revoked) return "revoked";
  const parts = [];
  if (machine.forks) parts.push(showCount(machine.forks, "rewritten history", "rewritten histories"));
  if (machine.lost_hosts.length) parts.push(`no hook in ${machine.lost_hosts.map(showText).join(", ")}`);
  if (machine.faults.length) parts.push(`doctor: ${machine.faults.map(showText).join(", ")}`);
  if (machine.unsent) parts.push(`${showCount(machine.unsent, "entry", "entries")} not sent`);
  if (isSilent(machine)) parts.push(machine.seen ? "not heard of lately" : "has sent nothing yet");
  return parts.join("; ") || "intact";
}

// Two presses: a revoked machine must enrol again.
function RevokeButton({ machine }) {
  const [state, setState] = useState("Revoke");
  const revoke = async () => {
    if (state === "Revoke") {
      setState("Really revoke");
      return;
    }
    try {
      await call(`/v1/machines/${machine.id}/revocation`, { method: "POST", body: {} });
      setState("revoked");
    } catch (error) {
      setState(error.message);
    }
  };
  return html`<button disabled=${state === "revoked"} onClick=${revoke}>${state}</button>`;
}

function CodeMaker() {
  const [answer, setAnswer] = useState(null);
  const make = async () => {
    try {
      setAnswer((await call("/v1/enrolment-codes", { method: "POST", body: { uses: 1, hours: 24 } })).code);
    } catch (error) {
      setAnswer(error.message);
    }
  };
  return html`<div class="bar code-maker">
    <button onClick=${make}>Make a code for a machine</button>
    ${answer && html`<p role="status">for one machine, for a day: <code>verdikt ship enrol ${location.origin} --code ${showText(answer)}</code></p>`}
  </div>`;
}

function ThemeSwitch() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? "system");
  const choose = (event) => {
    const value = event.currentTarget.value;
    if (value === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = value;
    localStorage.setItem("theme", value);
    setTheme(value);
  };
  return html`<label>Theme
    <select value=${theme} onChange=${choose}>
      ${["system", "light", "dark"].map((name) => html`<option value=${name} selected=${name === theme}>${name}</option>`)}
    </select>
  </label>`;
}
