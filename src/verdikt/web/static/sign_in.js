// Signing in: by a link that works once, or by the identity provider of the team.
import { call, useData } from "./api.js";
import { html, useEffect, useState } from "./html.js";

const WANTED = "verdikt-wanted";

// The page that a person wanted before they were asked to sign in. Only an address of this service is followed.
function takeWanted() {
  const wanted = sessionStorage.getItem(WANTED) ?? "/";
  sessionStorage.removeItem(WANTED);
  return /^\/(?![/\\])/.test(wanted) ? wanted : "/";
}

// The secret of a link is in the fragment, which no server and no log of one sees; it is exchanged for a cookie, once.
export function SignInPage() {
  const [message, setMessage] = useState("");
  const [isExchanging] = useState(() => location.hash.length > 1);
  const methods = useData(isExchanging ? "" : "/v1/sign-in");
  useEffect(() => {
    const code = location.hash.slice(1);
    if (!code) return;
    history.replaceState(null, "", "/sign-in");
    exchange("/v1/sign-in", { code }, setMessage);
  }, []);
  const begin = async () => {
    setMessage("…");
    try {
      if (location.pathname !== "/sign-in") sessionStorage.setItem(WANTED, location.pathname + location.search);
      location.assign((await call("/v1/sign-in/oidc", { method: "POST", body: {} })).url);
    } catch (error) {
      setMessage(error.message);
    }
  };
  const hint = methods.data?.is_local
    ? html`Start <code>verdikt serve</code> and open the link that it prints.`
    : html`Ask an administrator for a link: <code>verdikt serve link</code> makes one.`;
  return html`<main tabindex="-1" class="page sign-in">
    <h1>verdikt</h1>
    <p class="facts">What agents did, what was decided about it, and what waits for an answer.</p>
    ${methods.data?.oidc
      ? html`<div class="bar"><button onClick=${begin}>Sign in with your identity provider</button></div><p role="status">${message}</p>`
      : html`<p role="status">${message || methods.error?.message || (isExchanging ? "signing in…" : methods.data ? hint : "…")}</p>`}
  </main>`;
}

// The provider sends the browser here. The answer is handed over in a POST of this page: no GET changes anything, and the
// cookie that binds it to this browser is not sent along with what another site begins.
export function ProviderAnswerPage() {
  const [message, setMessage] = useState("signing in…");
  useEffect(() => {
    const query = new URLSearchParams(location.search);
    history.replaceState(null, "", "/oidc");
    if (query.get("code")) exchange("/v1/sign-in/oidc/answer", { code: query.get("code"), state: query.get("state") ?? "" }, setMessage);
    else setMessage("the identity provider did not sign you in");
  }, []);
  return html`<main tabindex="-1" class="page sign-in"><h1>verdikt</h1><p role="status">${message}</p><p><a href="/sign-in">Begin again</a></p></main>`;
}

function exchange(path, body, onProblem) {
  call(path, { method: "POST", body }).then(
    () => location.replace(takeWanted()),
    (error) => onProblem(error.message),
  );
}
