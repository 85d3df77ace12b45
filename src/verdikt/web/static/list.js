// A list of any length of which only the visible rows are in the page.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./html.js";
import { useKeys } from "./keys.js";

const ROW_HEIGHT = 30;
const TALL_ROW_HEIGHT = 50;
const MARGIN_ROWS = 8;
const NARROW = matchMedia("(max-width: 700px)");

// Whether the window is as narrow as the style sheet's narrow form.
function useNarrow() {
  const [isNarrow, setIsNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const update = () => setIsNarrow(NARROW.matches);
    NARROW.addEventListener("change", update);
    return () => NARROW.removeEventListener("change", update);
  }, []);
  return isNarrow;
}

export function WindowedList({ count, renderRow, selected, isMarked, onSelect, onOpen, label }) {
  const box = useRef(null);
  // Where the window is narrow, a row has a second line.
  const isTall = useNarrow();
  const rowHeight = isTall ? TALL_ROW_HEIGHT : ROW_HEIGHT;
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 600));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  // Keep the selected row in view, however it was selected, and when what is above the list grows. A list that was
  // scrolled away from it stays where it is.
  const shownHeight = useRef(0);
  useEffect(() => {
    const element = box.current;
    const rowTop = selected * rowHeight;
    const wasHidden = shownHeight.current && (rowTop < element.scrollTop || rowTop > element.scrollTop + shownHeight.current);
    const isResized = shownHeight.current !== height;
    shownHeight.current = height;
    if (selected < 0 || (isResized && wasHidden)) return;
    if (rowTop < element.scrollTop) element.scrollTop = rowTop;
    else if (rowTop + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = rowTop + rowHeight - element.clientHeight;
  }, [selected, count === 0, height]);

  const move = (step) => {
    if (!count) return;
    // `Enter` then opens the row, whatever had the focus before.
    box.current.focus({ preventScroll: true });
    onSelect(Math.min(count - 1, Math.max(0, selected + step)));
  };
  const page = Math.max(1, Math.floor(height / rowHeight) - 1);
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

  const first = Math.max(0, Math.floor(top / rowHeight) - MARGIN_ROWS);
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + MARGIN_ROWS);
  const rows = [];
  for (let index = first; index < last; index += 1) {
    rows.push(html`<div
      key=${index}
      class=${`row${isTall ? " tall" : ""}${index === selected ? " selected" : ""}${isMarked(index) ? " marked" : ""}`}
      role="option"
      aria-selected=${index === selected}
      aria-checked=${isMarked(index)}
      aria-posinset=${index + 1}
      aria-setsize=${count}
      id=${`row-${index}`}
      style=${{ transform: `translateY(${index * rowHeight}px)` }}
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
    <div class="list-space" style=${{ height: `${count * rowHeight}px` }}>${rows}</div>
  </div>`;
}
