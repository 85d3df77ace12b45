// The shell around all pages: navigation, keys, sign-in.
import { useData } from "./api.js";
import { html, render, useEffect, useState } from "./html.js";
import { ApprovalsPage } from "./approvals.js";
import { IntegrityPage } from "./integrity.js";
import { useKeys } from "./keys.js";
import { useNotices } from "./notices.js";
import { NowPage } from "./now.js";
import { followLink, go, usePlace } from "./router.js";
import { SessionPage } from "./session.js";
import { SessionsPage } from "./sessions.js";
import { SettingsPage } from "./settings.js";
import { ProviderAnswerPage, SignInPage } from "./sign_in.js";

const PAGES = [
  { path: "/", name: "Now", key: "n" },
  { path: "/sessions", name: "Sessions", key: "s" },
  { path: "/approvals", name: "Approvals", key: "a" },
  { path: "/integrity", name: "Integrity", key: "i" },
  { path: "/settings", name: "Settings", key: "e" },
];

const KEYS = [
  ["j k", "move down and up"],
  ["Enter", "open"],
  ["/", "search"],
  ["[ ]", "previous and next ask or block"],
  ["d", "decisions only, or everything"],
  ["p", "pause the feed"],
  ["a r p", "approve, refuse, approve and propose a rule"],
  ["A", "approve all calls of the same shape, once each was shown"],
  [".", "copy a link to the entry"],
  ["Esc", "close"],
  ...PAGES.map((page) => [`g ${page.key}`, page.name]),
  ["?", "this list"],
];

function App() {
  const place = usePlace();
  const me = useData(["/sign-in", "/oidc"].includes(place.path) ? "" : "/v1/me");
  const [showsKeys, setShowsKeys] = useState(false);
  const waiting = useNotices(Boolean(me.data));
  const jumps = Object.fromEntries(PAGES.map((page) => [`g ${page.key}`, () => go(page.path)]));
  useKeys({ ...jumps, "?": () => setShowsKeys(!showsKeys) });
  useEffect(() => {
    addEventListener("click", followLink);
    return () => removeEventListener("click", followLink);
  }, []);
  useEffect(() => {
    const page = PAGES.find((item) => item.path === place.path);
    document.title = page ? `${page.name} · verdikt` : "verdikt";
  }, [place.path]);

  // What scrolls has the focus, so that keys scroll it.
  useEffect(() => document.querySelector("main")?.focus({ preventScroll: true }), [place.path, Boolean(me.data)]);

  if (place.path === "/oidc") return html`<${ProviderAnswerPage} />`;
  if (place.path === "/sign-in") return html`<${SignInPage} />`;
  if (me.error?.status === 401) return html`<${SignInPage} />`;
  if (me.error && !me.data) return html`<main tabindex="-1" class="page"><h1>verdikt</h1><p>${me.error.message}</p></main>`;
  if (!me.data) return null;
  return html`<nav aria-label="Pages">
      <a class="brand" href="/">verdikt</a>
      ${PAGES.map((page) => html`<a key=${page.path} href=${page.path} aria-current=${place.path === page.path ? "page" : undefined}>${page.name}${page.path === "/approvals" && waiting ? html` <span class="badge">${waiting}</span>` : ""}</a>`)}
      <button class="help" aria-label="Keys" onClick=${() => setShowsKeys(!showsKeys)}>?</button>
    </nav>
    <${Page} place=${place} me=${me.data} />
    ${showsKeys && html`<${KeyHelp} onClose=${() => setShowsKeys(false)} />`}`;
}

function Page({ place, me }) {
  const session = /^\/session\/([0-9]+)$/.exec(place.path);
  if (session) return html`<${SessionPage} key=${session[1]} chain=${session[1]} query=${place.query} />`;
  if (place.path === "/sessions") return html`<${SessionsPage} query=${place.query} />`;
  if (place.path === "/approvals") return html`<${ApprovalsPage} query=${place.query} me=${me} />`;
  if (place.path === "/integrity") return html`<${IntegrityPage} query=${place.query} />`;
  if (place.path === "/settings") return html`<${SettingsPage} me=${me} />`;
  return html`<${NowPage} />`;
}

function KeyHelp({ onClose }) {
  useKeys({ Escape: onClose });
  return html`<div class="overlay" onClick=${onClose}>
    <section class="keys" role="dialog" aria-label="Keys">
      <h2>Keys</h2>
      <dl>${KEYS.map(([key, text]) => html`<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl>
    </section>
  </div>`;
}

render(html`<${App} />`, document.getElementById("app"));
