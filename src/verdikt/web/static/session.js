// One session: every entry in order, and all about the selected one.
import { call, repeatLoad, useData } from "./api.js";
import { Detail } from "./detail.js";
import { html, useEffect, useMemo, useState } from "./html.js";
import { useKeys } from "./keys.js";
import { Empty, Freshness, Verdict, VerifyButton } from "./parts.js";
import { go, withQuery } from "./router.js";
import { ENTRIES, RowList } from "./rows.js";
import { lastName, quote, showCount, showMoment, showText, showTime } from "./text.js";

const PAGE_ROWS = 20000;

// All index rows of a session, page after page, then what is new every few seconds.
function useRows(chain) {
  const [state, setState] = useState({ chain, rows: [], head: 0, error: undefined, at: 0 });
  useEffect(() => {
    let isCurrent = true;
    let rows = [];
    setState({ chain, rows, head: 0, at: 0 });
    const load = async () => {
      for (;;) {
        const since = rows.length ? rows[rows.length - 1][0] : 0;
        const page = await call(`/v1/sessions/${chain}/entries?since=${since}&limit=${PAGE_ROWS}`);
        if (!isCurrent) return;
        rows = page.rows.length ? [...rows, ...page.rows] : rows;
        setState({ chain, rows, head: page.head, at: Date.now() });
        if (page.rows.length < PAGE_ROWS) return;
      }
    };
    const end = repeatLoad(async () => {
      try {
        await load();
      } catch (error) {
        if (isCurrent) setState((before) => ({ ...before, error }));
        throw error;
      }
    }, 3);
    return () => {
      isCurrent = false;
      end();
    };
  }, [chain]);
  return state;
}

export function SessionPage({ chain, query }) {
  const session = useData(`/v1/sessions/${chain}`, { everySeconds: 5 });
  const { rows, error, at } = useRows(chain);
  const showsAll = query.get("only") !== "decisions";
  const toggle = () => go(withQuery({ only: showsAll ? "decisions" : "" }), { replace: true });
  const shown = useMemo(() => (showsAll ? rows : rows.filter((row) => row[2] === "decision")), [rows, showsAll]);
  const wanted = Number(query.get("seq") ?? 0);
  const selected = useMemo(() => (wanted ? shown.findIndex((row) => row[0] === wanted) : -1), [shown, wanted]);
  const select = (index) => index >= 0 && index < shown.length && go(withQuery({ seq: shown[index][0] }), { replace: true });
  const jump = (step) => {
    for (let index = selected + step; index >= 0 && index < shown.length; index += step) {
      if (shown[index][3] === "ask" || shown[index][3] === "block") {
        select(index);
        return;
      }
    }
  };
  useKeys({
    "[": () => jump(-1),
    "]": () => jump(1),
    d: toggle,
    // Marks go first; the list answers for them.
    ...(query.get("marked") ? {} : { Escape: () => go(withQuery({ seq: "" }), { replace: true }) }),
  });
  if (session.error?.status === 404) return html`<main tabindex="-1" class="page"><h1>Session</h1><${Empty}>There is no such session.<//></main>`;
  return html`<main tabindex="-1" class=${selected >= 0 ? "page split has-detail" : "page split"}>
    <div class="head">
      <h1>${showText(lastName(session.data?.directory) || session.data?.session || "Session")}</h1>
      ${session.data?.title && html`<p class="title">${showText(session.data.title)}</p>`}
      ${session.data && html`<${SessionFacts} session=${session.data} />`}
      <${Freshness} at=${at} error=${error} />
      <${Lane} rows=${rows} onSelect=${(seq) => go(withQuery({ seq }), { replace: true })} />
      <div class="bar">
        <button aria-pressed=${!showsAll} onClick=${toggle}>Decisions only</button>
        <button aria-label="Previous ask or block" onClick=${() => jump(-1)}>Previous<span class="optional"> ask or block</span></button>
        <button aria-label="Next ask or block" onClick=${() => jump(1)}>Next<span class="optional"> ask or block</span></button>
        <${VerifyButton} path=${`/v1/sessions/${chain}/verification`} describe=${describeChain} />
      </div>
    </div>
    <${RowList}
      label="Entries, oldest first"
      rows=${shown}
      query=${query}
      parameter="seq"
      keyOf=${(row) => String(row[0])}
      linkOf=${(row) => `/session/${chain}?seq=${row[0]}`}
      searchOf=${(keys) => ENTRIES.searchOf(keys.map((key) => `${chain}/${key}`))}
      renderRow=${(row) => html`<${EntryRow} row=${row} />`}
    />
    ${selected >= 0 && html`<${Detail} chain=${chain} seq=${wanted} signedSeq=${session.data?.signed_seq ?? 0} onClose=${() => go(withQuery({ seq: "" }), { replace: true })} />`}
  </main>`;
}

function SessionFacts({ session }) {
  const count = (number, noun, word) =>
    number ? html`<a href=${`/integrity?q=${encodeURIComponent(`session:${quote(session.session)} ${word}`)}`}>${showCount(number, noun)}</a>` : showCount(number, noun);
  return html`<p class="facts">
    ${showText(session.machine)} · ${showText(session.host || "–")} · ${showMoment(session.first_ts)} – ${showMoment(session.last_ts)} ·
    ${" "}${count(session.decisions, "action", "kind:decision")}, ${count(session.asks, "ask", "verdict:ask")}, ${count(session.blocks, "block", "verdict:block")} ·
    ${" "}${session.signed_seq ? `signed up to ${session.signed_seq} of ${session.seq}` : "not signed yet"}${session.forked ? html` · <b class="block">this history was rewritten later</b>` : ""}
  </p>`;
}

function EntryRow({ row }) {
  const [seq, ts, kind, verdict, guard, , effect, summary] = row;
  return html`<span class="seq">${seq}</span>
    <span class="time">${showTime(ts)}</span>
    <span class="kind">${verdict ? html`<${Verdict} verdict=${verdict} />` : showText(kind.replaceAll("_", " "))}</span>
    <span class="summary">${showText(summary)}</span>
    <span class="guard">${verdict && verdict !== "pass" ? showText(guard) : showText(effect)}</span>`;
}

const LANE_MARKS = 400;

// What is marked, the most important last; and entries that are no decision.
const MARKS = ["proof", "warn", "claim", "ask", "gap", "block"];
const MARKED_KINDS = { validator_pass: "proof", completion: "claim", gap: "gap", crash: "gap" };

const chooseMark = ([, , kind, verdict]) => MARKED_KINDS[kind] ?? verdict;

// The whole session on one line. A mark stands for the most important of its stretch.
function Lane({ rows, onSelect }) {
  const marks = useMemo(() => {
    const step = Math.max(1, rows.length / LANE_MARKS);
    const strongest = new Map();
    rows.forEach((row, index) => {
      const slot = Math.floor(index / step);
      const rank = MARKS.indexOf(chooseMark(row));
      if (rank > (strongest.get(slot)?.rank ?? -1)) strongest.set(slot, { rank, row });
    });
    return [...strongest].map(([slot, { rank, row }]) => ({ left: Math.min(1, ((slot + 0.5) * step) / Math.max(1, rows.length)), mark: MARKS[rank], row }));
  }, [rows]);
  const words = MARKS.filter((word) => marks.some(({ mark }) => mark === word));
  return html`<figure class="overview">
    <div class="lane">
      ${marks.map(
        ({ left, mark, row }) =>
          html`<button
            key=${row[0]}
            class=${`mark-${mark}`}
            style=${{ left: `calc((100% - 6px) * ${left})` }}
            title=${`${mark} at ${row[0]}: ${showText(row[7])}`}
            aria-label=${`${mark} at entry ${row[0]}`}
            onClick=${() => onSelect(row[0])}
          ></button>`,
      )}
    </div>
    <figcaption>the whole session${words.map((word) => html` <span class=${`key ${word}`}>${word}</span>`)}</figcaption>
  </figure>`;
}

function describeChain(report) {
  const bodies = report.absent_bodies ? `, ${showCount(report.absent_bodies, "body left out", "bodies left out")}` : "";
  return report.intact
    ? `intact: ${showCount(report.entries, "entry", "entries")}, signed up to ${report.signed_seq}${bodies}`
    : `FAILING: ${report.findings.map(showText).join("; ") || "the head is another"}`;
}
