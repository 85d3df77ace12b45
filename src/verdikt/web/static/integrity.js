// Search over everything, and export of what was found.
import { call, useData } from "./api.js";
import { html, useEffect, useState } from "./html.js";
import { WindowedList } from "./list.js";
import { Empty, Freshness, SearchBox, Verdict } from "./parts.js";
import { go } from "./router.js";
import { showMoment, showText } from "./text.js";

export function IntegrityPage({ query }) {
  const q = query.get("q") ?? "";
  const address = `/v1/entries?q=${encodeURIComponent(q)}&limit=200`;
  const first = useData(address);
  const [more, setMore] = useState({ address, entries: [], cursor: null });
  const [selected, setSelected] = useState(-1);
  useEffect(() => {
    setMore({ address, entries: [], cursor: null });
    setSelected(-1);
  }, [address]);
  const entries = [...(first.data?.entries ?? []), ...(more.address === address ? more.entries : [])];
  const cursor = more.cursor ?? first.data?.cursor ?? "";
  const loadMore = async () => {
    const page = await call(`${address}&cursor=${encodeURIComponent(cursor)}`);
    setMore((before) => ({ address, entries: [...before.entries, ...page.entries], cursor: page.cursor }));
  };
  const exportAddress = (format) => `/v1/export?format=${format}&q=${encodeURIComponent(q)}`;
  return html`<main tabindex="-1" class="page">
    <h1>Integrity</h1>
    <${SearchBox} query=${q} />
    <div class="bar">
      <${Freshness} ...${first} />
      <a class="button" href=${exportAddress("jsonl")} download>Export lines</a>
      <a class="button" href=${exportAddress("csv")} download>Export table</a>
      <a class="button" href=${exportAddress("parquet")} download>Export Parquet</a>
    </div>
    ${first.data && entries.length === 0 && html`<${Empty}>Nothing was found.<//>`}
    ${entries.length > 0 &&
    html`<${WindowedList}
      label="Entries, newest first"
      count=${entries.length}
      wraps=${true}
      selected=${selected}
      onSelect=${setSelected}
      onOpen=${(index) => go(`/session/${entries[index].chain}?seq=${entries[index].seq}`)}
      renderRow=${(index) => html`<${FoundRow} entry=${entries[index]} />`}
    />`}
    ${cursor && html`<button onClick=${loadMore}>Older entries</button>`}
  </main>`;
}

function FoundRow({ entry }) {
  return html`<span class="time wide">${showMoment(entry.ts)}</span>
    <span class="kind">${entry.verdict ? html`<${Verdict} verdict=${entry.verdict} />` : showText(entry.kind.replaceAll("_", " "))}</span>
    <span class="summary">${showText(entry.summary)}</span>
    <span class="guard">${showText(entry.guard)}</span>
    <span class="side">${showText(entry.session.slice(0, 8))}</span>`;
}
