// A short message of what a key did, for some seconds, at the edge of every page.
import { html, useEffect, useState } from "./html.js";

const SHOWN_MILLISECONDS = 4000;
let show = () => {};

export function announce(text) {
  show({ text });
}

// Copies a text, and says so: `what` names it.
export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    announce(`${what} copied`);
  } catch {
    announce("this browser does not let the page copy");
  }
}

export function Message() {
  const [message, setMessage] = useState(null);
  useEffect(() => {
    show = setMessage;
  }, []);
  useEffect(() => {
    if (!message) return undefined;
    const timer = setTimeout(() => setMessage(null), SHOWN_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [message]);
  return html`<p class="message" role="status" hidden=${!message}>${message?.text}</p>`;
}
