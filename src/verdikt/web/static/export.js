// Export of what a search finds, in the forms that this service offers to this person.
import { html } from "./html.js";
import { Freshness } from "./parts.js";

const FORMS = [
  ["jsonl", "JSONL", "the lines as they stand in the log, which can be verified elsewhere"],
  ["csv", "CSV", "a table, one row for each entry"],
  ["parquet", "Parquet", "a table for DuckDB, pandas and others"],
];

// How old the list is, and its exports.
export function ExportBar({ q, me, data }) {
  const address = (form) => `/v1/export?format=${form}&q=${encodeURIComponent(q)}`;
  return html`<div class="bar">
    <${Freshness} ...${data} />
    ${me.exports.length > 0 && html`<span class="facts optional">export</span>`}
    ${FORMS.filter(([form]) => me.exports.includes(form)).map(
      ([form, name, text]) => html`<a key=${form} class="button" href=${address(form)} title=${text} download>${name}</a>`,
    )}
    ${me.exports.length > 0 && !me.exports.includes("parquet") && html`<span class="facts">Parquet needs pyarrow</span>`}
  </div>`;
}
