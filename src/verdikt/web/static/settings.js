// Who is signed in, the theme, and what was done to this service.
import { call, usePages } from "./api.js";
import { People, Tokens } from "./access.js";
import { html, useState } from "./html.js";
import { Machines } from "./machines.js";
import { DesktopNotices } from "./notices.js";
import { Notifiers } from "./notifiers.js";
import { VerifyButton } from "./parts.js";
import { SecurityKeys } from "./security_keys.js";
import { showMoment, showShort, showText } from "./text.js";

export function SettingsPage({ me, query }) {
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
    <${Machines} me=${me} query=${query} />
    ${isAdmin && !me.is_local && html`<${People} me=${me} query=${query} />`}
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
