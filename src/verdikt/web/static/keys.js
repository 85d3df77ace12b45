// The keyboard: pages register keys while they are shown; `g` begins a two-key word.
import { useLayoutEffect, useRef } from "./html.js";

const handlers = [];
let prefix = "";
let prefixTimer = 0;

function isTyping(target) {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

const SCROLL_KEYS = ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"];

// What has the focus keeps the keys that it answers by itself: a link and a button `Enter`, what scrolls its arrows.
function isAnsweredByItself(event) {
  const target = event.target instanceof Element ? event.target : document.body;
  if (event.key === "Enter") return target.closest("a, button, summary") !== null;
  return SCROLL_KEYS.includes(event.key) && !target.matches("body, main") && target.closest(".list") === null;
}

addEventListener("keydown", (event) => {
  if (event.metaKey || event.ctrlKey || event.altKey) return;
  if (isTyping(event.target) && event.key !== "Escape") return;
  if (isAnsweredByItself(event)) return;
  const key = prefix + event.key;
  prefix = "";
  clearTimeout(prefixTimer);
  // The page that was shown last comes first.
  for (let index = handlers.length - 1; index >= 0; index -= 1) {
    const { actions, isModal } = handlers[index].current;
    if (actions[key]) {
      event.preventDefault();
      actions[key](event);
      return;
    }
    if (isModal) return;
  }
  if (event.key === "g") {
    prefix = "g ";
    prefixTimer = setTimeout(() => (prefix = ""), 1500);
  }
});

// A key acts on what is shown. An ordinary effect runs some time after the page was drawn, and a key pressed in between
// would act on the state before: `j`, `Enter` in a hurry would open nothing. A layout effect runs with the drawing.
// With `isModal`, what is behind gets no keys.
export function useKeys(actions, { isModal = false } = {}) {
  const handler = useRef({ actions, isModal });
  useLayoutEffect(() => {
    handler.current = { actions, isModal };
  });
  useLayoutEffect(() => {
    handlers.push(handler);
    return () => handlers.splice(handlers.indexOf(handler), 1);
  }, []);
}
