// Every state is in the address: pages read it, links and keys change it.
import { useEffect, useState } from "./html.js";

const listeners = new Set();

function readPlace() {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

export function go(address, { replace = false } = {}) {
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  listeners.forEach((listener) => listener(readPlace()));
}

export function usePlace() {
  const [place, setPlace] = useState(readPlace);
  useEffect(() => {
    listeners.add(setPlace);
    const onBack = () => setPlace(readPlace());
    addEventListener("popstate", onBack);
    return () => {
      listeners.delete(setPlace);
      removeEventListener("popstate", onBack);
    };
  }, []);
  return place;
}

export function withQuery(changes) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === undefined || value === null) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return location.pathname + (text ? `?${text}` : "");
}

// A click on a link of ours changes the page without loading it; with a modifier key the browser does what it always does.
export function followLink(event) {
  const link = event.target.closest?.("a[href^='/']");
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain || link.hasAttribute("download") || link.target) return;
  event.preventDefault();
  go(link.getAttribute("href"));
}
