// Signing in: by a link that works once, or by the identity provider of the team.
import { call, useData } from "./api.js";
import { html, useEffect, useState } from "./html.js";

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
      location.assign((await call("/v1/sign-in/oidc", { method: "POST", body: {} })).url);
    } catch (error) {
      setMessage(error.message);
    }
  };
  const hint = isExchanging ? "signing in…" : "Start `verdikt serve` and open the link that it prints.";
  return html`<main tabindex="-1" class="page sign-in">
    <h1>verdikt</h1>
    ${methods.data?.oidc
      ? html`<div class="bar"><button onClick=${begin}>Sign in</button></div><p role="status">${message}</p>`
      : html`<p role="status">${message || methods.error?.message || hint}</p>`}
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
    () => location.replace("/"),
    (error) => onProblem(error.message),
  );
}
