// Decisions by hour. Dragging selects a time, which becomes a search.
import { html, useEffect, useRef } from "./html.js";
import { go } from "./router.js";

const SERIES = ["pass", "warn", "ask", "block"];
const HOUR = 3600;
const DAY_MICROSECONDS = 24 * HOUR * 1e6;
const HEIGHT = 116;

// A log that began lately fills the picture: at least a day is shown, at most what was asked for.
function buildColumns(hours, since, now) {
  const began = hours.reduce((least, hour) => Math.min(least, hour.hour), now - DAY_MICROSECONDS);
  const first = Math.floor(Math.max(since, began) / 1e6 / HOUR) * HOUR;
  const count = Math.floor((now / 1e6 - first) / HOUR) + 1;
  const times = Array.from({ length: count }, (_, index) => first + index * HOUR);
  const columns = SERIES.map(() => new Array(count).fill(0));
  for (const hour of hours) {
    const index = Math.round((hour.hour / 1e6 - first) / HOUR);
    SERIES.forEach((word, series) => {
      if (index >= 0 && index < count) columns[series][index] = hour[word] ?? 0;
    });
  }
  return [times, ...columns];
}

// Days by their date and hours from 00:00 to 23:00, as in the lists below.
function showTimes(plot, times) {
  return times.map((time) => {
    const date = new Date(time * 1000);
    if (date.getHours() === 0) return date.toLocaleDateString(undefined, { day: "numeric", month: "short" });
    return date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  });
}

export function Chart({ hours, since, now }) {
  const box = useRef(null);
  useEffect(() => {
    // Held here: an observer may still report when the page is gone, and the reference is empty then.
    const element = box.current;
    if (!globalThis.uPlot || !element) return undefined;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const options = {
      width: element.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { setScale: false } },
      axes: [{ ...axis, values: showTimes, size: 24 }, { ...axis, size: 40 }],
      series: [{}, ...SERIES.map((word) => ({ label: word, stroke: colour(`--${word}`), width: 1.5, points: { show: false } }))],
      hooks: {
        setSelect: [
          (plot) => {
            if (plot.select.width < 4) return;
            const from = Math.round(plot.posToVal(plot.select.left, "x") * 1e6);
            const until = Math.round(plot.posToVal(plot.select.left + plot.select.width, "x") * 1e6);
            go(`/integrity?q=${encodeURIComponent(`kind:decision since:${from} until:${until}`)}`);
          },
        ],
      },
    };
    const plot = new globalThis.uPlot(options, buildColumns(hours, since, now), element);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [hours, since, now]);
  const peak = hours.reduce((most, hour) => Math.max(most, (hour.block ?? 0) + (hour.ask ?? 0)), 0);
  return html`<figure class="chart" aria-label=${`Decisions by hour over seven days; at most ${peak} asks and blocks in one hour`}>
    <div ref=${box}></div>
    <figcaption>${SERIES.map((word) => html`<span class=${`key ${word}`}>${word}</span>`)} by hour<span class="optional">; drag to search in a time</span></figcaption>
  </figure>`;
}
