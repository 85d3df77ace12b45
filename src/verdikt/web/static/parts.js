// Small pieces that several pages share.
import { call } from "./api.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { useKeys } from "./keys.js";
import { go, withQuery } from "./router.js";
import { showTime } from "./text.js";

export function Verdict({ verdict }) {
  if (!verdict) return html`<span class="verdict none"></span>`;
  return html`<span class=${`verdict ${verdict}`}>${verdict}</span>`;
}

// Instead of a spinner: how old the data is, and why there is none newer.
export function Freshness({ at, error }) {
  if (error) return html`<p class="freshness stale" role="status">${error.message}${at ? `; as of ${showTime(at * 1000)}` : ""}</p>`;
  return html`<p class="freshness" role="status">${at ? `as of ${showTime(at * 1000)}` : "…"}</p>`;
}

const HINT = 'verdict:block guard:git_* host:claude since:7d "push --force"';

// `parameter` is where the address has what was searched for.
export function SearchBox({ query, hint = HINT, parameter = "q" }) {
  const input = useRef(null);
  useKeys({ "/": () => input.current.focus(), Escape: () => input.current.blur() });
  useEffect(() => {
    input.current.value = query;
  }, [query]);
  const submit = (event) => {
    event.preventDefault();
    input.current.blur();
    go(withQuery({ [parameter]: input.current.value.trim(), selected: "", marked: "" }));
  };
  return html`<form class="search" role="search" onSubmit=${submit}>
    <input ref=${input} type="search" name="q" defaultValue=${query} placeholder=${hint} aria-label="Search" autocomplete="off" spellcheck="false" />
    <button type="submit">Search</button>
  </form>`;
}

// What a form does instead of being sent, so that `Enter` in its field does what its button does.
export function instead(action) {
  return (event) => {
    event.preventDefault();
    action();
  };
}

// Where nothing was recorded yet: what makes that change.
export function NothingYet({ me }) {
  return html`<${Empty}>Nothing was recorded yet. Let an agent work in a governed project${me.is_local ? "" : html`, on a machine that <a href="/settings">sends its log here</a>`}, and its calls appear.<//>`;
}

export function Empty({ children }) {
  return html`<p class="empty">${children}</p>`;
}

// Asks the service to verify a chain; `describe` says its answer in words.
export function VerifyButton({ path, describe }) {
  const [state, setState] = useState(null);
  const verify = async () => {
    setState({ text: "verifying…" });
    try {
      const report = await call(path);
      setState({ text: describe(report), isIntact: report.intact });
    } catch (error) {
      setState({ text: error.message, isIntact: false });
    }
  };
  const style = state?.isIntact === undefined ? "" : state.isIntact ? "pass" : "block";
  return html`<button onClick=${verify}>Verify</button><span class=${`result ${style}`} role="status">${state?.text ?? ""}</span>`;
}
