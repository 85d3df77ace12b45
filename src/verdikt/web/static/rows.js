// A list of which one row is selected and any number are marked. Both are in the address, so that a link and the way
// back lead to the same rows.
import { html, useMemo } from "./html.js";
import { useKeys } from "./keys.js";
import { WindowedList } from "./list.js";
import { copyText } from "./message.js";
import { go, withQuery } from "./router.js";
import { showCount } from "./text.js";

// `keyOf` names a row in the address, `linkOf` is where it is shown alone, and `searchOf` finds the rows of some keys.
export function RowList({ rows, query, keyOf, linkOf, searchOf, onOpen, renderRow, label, parameter = "selected" }) {
  const wanted = query.get(parameter);
  const selected = useMemo(() => (wanted ? rows.findIndex((row) => keyOf(row) === wanted) : -1), [rows, wanted]);
  const marked = (query.get("marked") ?? "").split(",").filter(Boolean);
  const change = (changes) => go(withQuery(changes), { replace: true });
  const setMarked = (keys) => change({ marked: keys.join(",") });
  const mark = (index) => {
    const key = keyOf(rows[index]);
    setMarked(marked.includes(key) ? marked.filter((other) => other !== key) : [...marked, key]);
  };
  const copyLinks = () => {
    const chosen = marked.length ? rows.filter((row) => marked.includes(keyOf(row))) : rows.slice(selected, selected + 1);
    copyText(chosen.map((row) => location.origin + linkOf(row)).join("\n"), showCount(chosen.length, "link"));
  };
  useKeys({
    ...(selected >= 0 ? { x: () => mark(selected) } : {}),
    ...(selected >= 0 || marked.length ? { ".": copyLinks } : {}),
    ...(marked.length ? { Escape: () => setMarked([]) } : {}),
  });
  return html`<div class="rows">
    ${marked.length > 0 &&
    html`<div class="bar marks" role="group" aria-label="Marked rows">
      <span role="status">${showCount(marked.length, "row")} marked</span>
      <a class="button" href=${searchOf(marked, rows)}>Show only these</a>
      <button onClick=${copyLinks}>Copy links</button>
      <button onClick=${() => setMarked([])}>Unmark</button>
    </div>`}
    <${WindowedList}
      label=${label}
      count=${rows.length}
      selected=${selected}
      isMarked=${(index) => marked.includes(keyOf(rows[index]))}
      onSelect=${(index) => rows[index] && change({ [parameter]: keyOf(rows[index]) })}
      onOpen=${onOpen && ((index) => onOpen(rows[index]))}
      renderRow=${(index) => renderRow(rows[index])}
    />
  </div>`;
}

// The keys and addresses of entries, as pages that list them need them.
export const ENTRIES = {
  keyOf: (entry) => `${entry.chain}/${entry.seq}`,
  linkOf: (entry) => `/session/${entry.chain}?seq=${entry.seq}`,
  searchOf: (keys) => `/integrity?q=${encodeURIComponent(`entry:${keys.join(",")}`)}`,
};
