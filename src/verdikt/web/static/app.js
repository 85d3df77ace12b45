// The shell around all pages: navigation, keys, sign-in.
import { useData } from "./api.js";
import { html, render, useEffect, useRef, useState } from "./html.js";
import { ApprovalsPage } from "./approvals.js";
import { IntegrityPage } from "./integrity.js";
import { useKeys } from "./keys.js";
import { useNotices } from "./notices.js";
import { Message } from "./message.js";
import { NowPage } from "./now.js";
import { Empty } from "./parts.js";
import { followLink, go, usePlace } from "./router.js";
import { SessionPage } from "./session.js";
import { SessionsPage } from "./sessions.js";
import { SettingsPage } from "./settings.js";
import { ProviderAnswerPage, SignInPage } from "./sign_in.js";

const PAGES = [
  { path: "/", name: "Now", keys: ["n", "f"] },
  { path: "/sessions", name: "Sessions", keys: ["s"] },
  { path: "/approvals", name: "Approvals", keys: ["a"] },
  { path: "/integrity", name: "Integrity", keys: ["i", "l"] },
  { path: "/settings", name: "Settings", keys: ["e"] },
];

const KEYS = [
  ["j k", "move down and up"],
  ["Enter", "open"],
  ["x", "mark a row, to show, link or export it with others"],
  [".", "copy a link to the row, or to the marked ones"],
  ["/", "search"],
  ["[ ]", "previous and next ask or block"],
  ["d", "decisions only, or everything"],
  ["p", "pause the feed"],
  ["a r p", "approve, refuse, approve and propose a rule"],
  ["A", "approve all calls of the same shape, once each was shown"],
  ["Esc", "close"],
  ...PAGES.map((page) => [page.keys.map((key) => `g ${key}`).join(", "), page.name]),
  ["?", "this list"],
];

function App() {
  const place = usePlace();
  const [visits, setVisits] = useState(0);
  const me = useData(["/sign-in", "/oidc"].includes(place.path) ? "" : "/v1/me", { version: visits });
  const [showsKeys, setShowsKeys] = useState(false);
  const waiting = useNotices(Boolean(me.data));
  const jumps = Object.fromEntries(PAGES.flatMap((page) => page.keys.map((key) => [`g ${key}`, () => go(page.path)])));
  useKeys({ ...jumps, "?": () => setShowsKeys(!showsKeys) });
  useEffect(() => {
    addEventListener("click", followLink);
    return () => removeEventListener("click", followLink);
  }, []);
  // Whether this person is still signed in, or again, when they come back to this tab: another may have changed it.
  useEffect(() => {
    const onFocus = () => setVisits((before) => before + 1);
    addEventListener("focus", onFocus);
    return () => removeEventListener("focus", onFocus);
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
  if (!me.data) return html`<nav aria-label="Pages"><span class="brand">verdikt</span></nav>`;
  return html`<nav aria-label="Pages">
      <a class="brand" href="/">verdikt</a>
      ${PAGES.map((page) => html`<a key=${page.path} href=${page.path} aria-current=${place.path === page.path ? "page" : undefined}>${page.name}${page.path === "/approvals" && waiting ? html` <span class="badge">${waiting}</span>` : ""}</a>`)}
      <button class="help" aria-label="Keys" onClick=${() => setShowsKeys(!showsKeys)}>?</button>
    </nav>
    <${Page} place=${place} me=${me.data} waiting=${waiting} />
    <${Message} />
    ${showsKeys && html`<${KeyHelp} onClose=${() => setShowsKeys(false)} />`}`;
}

function Page({ place, me, waiting }) {
  const session = /^\/session\/([0-9]+)$/.exec(place.path);
  if (session) return html`<${SessionPage} key=${session[1]} chain=${session[1]} query=${place.query} />`;
  if (place.path === "/sessions") return html`<${SessionsPage} query=${place.query} me=${me} />`;
  if (place.path === "/approvals") return html`<${ApprovalsPage} query=${place.query} me=${me} />`;
  if (place.path === "/integrity") return html`<${IntegrityPage} query=${place.query} me=${me} />`;
  if (place.path === "/settings") return html`<${SettingsPage} query=${place.query} me=${me} />`;
  if (place.path === "/") return html`<${NowPage} query=${place.query} me=${me} waiting=${waiting} />`;
  return html`<main tabindex="-1" class="page"><h1>Not found</h1><${Empty}>There is no such page. <a href="/">What happens now</a><//></main>`;
}

// A modal dialog: the browser keeps the focus in it. It is given back here, because the dialog is gone before it could be.
function KeyHelp({ onClose }) {
  const dialog = useRef(null);
  useEffect(() => {
    const focused = document.activeElement;
    dialog.current.showModal();
    return () => focused?.focus({ preventScroll: true });
  }, []);
  useKeys({ Escape: onClose, "?": onClose }, { isModal: true });
  return html`<dialog ref=${dialog} class="keys" aria-label="Keys" onClose=${onClose} onClick=${(event) => event.target === dialog.current && onClose()}>
    <div class="bar"><h2>Keys</h2><button onClick=${onClose}>Close</button></div>
    <dl>${KEYS.map(([key, text]) => html`<dt><kbd>${key}</kbd></dt><dd>${text}</dd>`)}</dl>
  </dialog>`;
}

render(html`<${App} />`, document.getElementById("app"));
