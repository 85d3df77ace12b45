// A list of any length of which only the visible rows are in the page.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { useKeys } from "./keys.js";

export const ROW_HEIGHT = 30;
const MARGIN_ROWS = 8;

export function WindowedList({ count, renderRow, selected, onSelect, onOpen, label }) {
  const box = useRef(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 600));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  // Keep the selected row in view, however it was selected.
  useEffect(() => {
    const element = box.current;
    if (selected < 0 || !element) return;
    const rowTop = selected * ROW_HEIGHT;
    if (rowTop < element.scrollTop) element.scrollTop = rowTop;
    else if (rowTop + ROW_HEIGHT > element.scrollTop + element.clientHeight)
      element.scrollTop = rowTop + ROW_HEIGHT - element.clientHeight;
  }, [selected, count === 0]);

  const move = (step) => count && onSelect(Math.min(count - 1, Math.max(0, selected + step)));
  const page = Math.max(1, Math.floor(height / ROW_HEIGHT) - 1);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    PageDown: () => move(page),
    PageUp: () => move(-page),
    Home: () => move(-count),
    End: () => move(count),
    Enter: () => selected >= 0 && onOpen?.(selected),
  });

  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - MARGIN_ROWS);
  const last = Math.min(count, Math.ceil((top + height) / ROW_HEIGHT) + MARGIN_ROWS);
  const rows = [];
  for (let index = first; index < last; index += 1) {
    rows.push(html`<div
      key=${index}
      class=${index === selected ? "row selected" : "row"}
      role="option"
      aria-selected=${index === selected}
      aria-posinset=${index + 1}
      aria-setsize=${count}
      id=${`row-${index}`}
      style=${{ transform: `translateY(${index * ROW_HEIGHT}px)` }}
      onClick=${() => {
        onSelect(index);
        onOpen?.(index);
      }}
    >
      ${renderRow(index)}
    </div>`);
  }
  return html`<div
    class="list"
    role="listbox"
    tabindex="0"
    aria-label=${label}
    aria-activedescendant=${selected >= 0 ? `row-${selected}` : undefined}
    ref=${box}
    onScroll=${(event) => setTop(event.currentTarget.scrollTop)}
  >
    <div class="list-space" style=${{ height: `${count * ROW_HEIGHT}px` }}>${rows}</div>
  </div>`;
}
