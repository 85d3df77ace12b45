// The machines: what is wrong with each, those with one trait or a part of a name alone, and letting one in.
import { call, usePages } from "./api.js";
import { DeviceConfirmation } from "./access.js";
import { html, useState } from "./html.js";
import { Empty, Freshness, SearchBox, instead } from "./parts.js";
import { go, withQuery } from "./router.js";
import { quote, showAge, showCount, showText } from "./text.js";

const TRAITS = [
  ["", "all", "All"],
  ["no-hook", "no-hook", "No hook"],
  ["doctor", "doctor", "Fault"],
  ["rewritten", "rewritten", "Rewritten"],
  ["unsent", "unsent", "Not sent"],
  ["silent", "silent", "Not heard of"],
  ["revoked", "revoked", "Revoked"],
];
const RED = ["no-hook", "doctor", "rewritten", "revoked"];

export function Machines({ me, query }) {
  const [version, setVersion] = useState(0);
  const trait = query.get("trait") ?? "";
  const q = query.get("q") ?? "";
  const address = `/v1/machines?trait=${encodeURIComponent(trait)}&q=${encodeURIComponent(q)}&limit=100`;
  const { first, rows, loadMore } = usePages(address, "machines", { everySeconds: 15, version });
  const isAdmin = me.roles.includes("admin") && !me.is_local;
  const counts = first.data?.counts ?? {};
  const hasMany = counts.all > 10 || trait || q;
  return html`<section>
    <h2>Machines</h2>
    <${Freshness} ...${first} />
    ${!me.is_local && html`<p class="facts">${counts.all === 0 ? "No machine that you may see has sent anything. " : ""}On a machine, <code>verdikt ship enrol ${location.origin}</code> shows a code.</p>`}
    ${hasMany && html`<${SearchBox} query=${q} hint="name or team" />`}
    ${!me.is_local && html`<${TraitTabs} chosen=${trait} counts=${counts} />`}
    ${rows.length > 0 && html`<${MachineTable} machines=${rows} canRevoke=${isAdmin} />`}
    ${rows.length === 0 && (trait || q) && first.data && html`<${Empty}>No machine is like that.<//>`}
    ${loadMore && html`<p><button onClick=${loadMore}>More machines</button></p>`}
    ${(isAdmin || me.roles.includes("developer")) && !me.is_local && html`<${DeviceConfirmation} me=${me} onConfirm=${() => setVersion((before) => before + 1)} />`}
    ${isAdmin && html`<${CodeMaker} />`}
  </section>`;
}

// Only what there is any of, so that a fleet that is well shows none.
function TraitTabs({ chosen, counts }) {
  const shown = TRAITS.filter(([trait, name]) => trait === chosen || counts[name] > 0);
  if (shown.length < 2) return null;
  return html`<div class="bar" role="group" aria-label="Machines with one trait">
    ${shown.map(
      ([trait, name, title]) => html`<button key=${name} aria-pressed=${trait === chosen} onClick=${() => go(withQuery({ trait }), { replace: true })}>
        ${title} ${counts[name]?.toLocaleString() ?? ""}
      </button>`,
    )}
  </div>`;
}

function MachineTable({ machines, canRevoke }) {
  const search = (page, machine) => `${page}?q=${encodeURIComponent(`machine:${quote(machine.name)}`)}`;
  return html`<table>
    <thead><tr><th>name</th><th>last heard</th><th>sessions</th><th>entries</th><th>state</th>${canRevoke && html`<th>revoke</th>`}</tr></thead>
    <tbody>
      ${machines.map((machine) => html`<tr key=${machine.id}>
        <td class="name">${showText(machine.name)} <span class="facts">${[machine.version, machine.policy && `policy ${machine.policy.slice(0, 8)}`, machine.team].filter(Boolean).map(showText).join(" · ")}</span></td>
        <td>${machine.seen ? `${showAge(machine.seen)} ago` : "never"}</td>
        <td><a href=${search("/sessions", machine)}>${machine.sessions.toLocaleString()}</a></td>
        <td><a href=${search("/integrity", machine)}>${machine.entries.toLocaleString()}</a></td>
        <td class=${`long ${chooseColour(machine)}`}>${describeMachine(machine)}</td>
        ${canRevoke && html`<td>${machine.revoked ? "" : html`<${RevokeButton} machine=${machine} />`}</td>`}
      </tr>`)}
    </tbody>
  </table>`;
}

function chooseColour({ traits }) {
  if (RED.some((trait) => traits.includes(trait))) return "block";
  return traits.includes("silent") ? "dim" : "";
}

function describeMachine(machine) {
  if (machine.revoked) return "revoked";
  const parts = [];
  if (machine.forks) parts.push(showCount(machine.forks, "rewritten history", "rewritten histories"));
  if (machine.lost_hosts.length) parts.push(`no hook in ${machine.lost_hosts.map(showText).join(", ")}`);
  if (machine.faults.length) parts.push(`doctor: ${machine.faults.map(showText).join(", ")}`);
  if (machine.unsent) parts.push(`${showCount(machine.unsent, "entry", "entries")} not sent`);
  if (machine.traits.includes("silent")) parts.push(machine.seen ? "not heard of lately" : "has sent nothing yet");
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
  const make = async (event) => {
    const fields = new FormData(event.currentTarget);
    const uses = Number(fields.get("uses"));
    try {
      const { code } = await call("/v1/enrolment-codes", { method: "POST", body: { uses, hours: 24, team: fields.get("team").trim() } });
      setAnswer({ uses, code });
    } catch (error) {
      setAnswer({ problem: error.message });
    }
  };
  return html`<form class="bar code-maker" onSubmit=${(event) => instead(() => make(event))(event)}>
    <label>machines <input class="short" name="uses" type="number" min="1" max="100000" value="1" /></label>
    <label>team <input class="short" name="team" maxlength="100" placeholder="none" /></label>
    <button type="submit">Make a code for machines</button>
    ${answer?.problem && html`<p role="status">${showText(answer.problem)}</p>`}
    ${answer?.code && html`<p role="status">for ${showCount(answer.uses, "machine")}, for a day: <code>verdikt ship enrol ${location.origin} --code ${showText(answer.code)}</code></p>`}
  </form>`;
}
