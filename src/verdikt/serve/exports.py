"""Export of what a search finds: lines as they were sent, a table, or Parquet."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse

from verdikt.errors import WireError
from verdikt.model.entry import decode_entry
from verdikt.report.export import export_parquet
from verdikt.serve.routes import AUDITORS, QUERY_PARAMETER, ApiCall, ApiRoute

if TYPE_CHECKING:
    from verdikt.serve.people import Person
    from verdikt.serve.store_reader import StoreReader
    from verdikt.team.search_query import SearchQuery

PAGE_ENTRIES = 500
# The wide forms are taken for the plain ones in some languages.
_FORMULA = re.compile(r"((?:^|[;\t\r\n])[\"']?)([^\S\t\r\n]*[=+\-@\uff1d\uff0b\uff0d\uff20])")
_CSV_COLUMNS = ("ts", "machine", "session", "seq", "kind", "verdict", "guard", "class", "tool", "effect", "host")


def list_formats(person: Person) -> list[str]:
    """Return the formats in which a person can export here."""
    if not person.roles & AUDITORS:
        return []
    return [form for form in EXPORT_FORMATS if form != "parquet" or _has_parquet()]


def _has_parquet() -> bool:
    return find_spec("pyarrow") is not None


def export_entries(call: ApiCall) -> Response:
    """Stream everything that a query selects: lines as they were sent, or the index as a table."""
    form = call.query.get("format", "jsonl")
    if form not in EXPORT_FORMATS:
        raise WireError(f"expected one of {', '.join(EXPORT_FORMATS)} as format, found `{form}`")
    if form == "parquet" and not _has_parquet():
        # Said now: an answer that has begun can only be cut off.
        raise WireError("Parquet needs pyarrow, which the service does not have: `pip install pyarrow`")
    query = call.read_query()
    # What leaves may be of every team. Before the first line of it: an answer that is cut off has told something, too.
    call.record("export", f"{form} {call.query.get('q', '')}".strip())
    media_type, build_stream = EXPORT_FORMATS[form]
    stream = build_stream(call.open_reader(), query)
    headers = {"Content-Disposition": f'attachment; filename="verdikt-export.{form}"'}
    return StreamingResponse(stream, media_type=media_type, headers=headers)


def _walk_entries(reader: StoreReader, query: SearchQuery) -> Iterator[list[dict[str, Any]]]:
    cursor = ""
    while True:
        page = reader.search_entries(query, cursor, PAGE_ENTRIES)
        yield page.entries
        cursor = page.cursor
        if not cursor:
            return


def _stream_lines(reader: StoreReader, query: SearchQuery) -> Iterator[bytes]:
    for entries in _walk_entries(reader, query):
        # A page's lines are read chain by chain: reading each by itself would unpack its segment again and again.
        seqs_by_chain: dict[int, set[int]] = {}
        for entry in entries:
            seqs_by_chain.setdefault(entry["chain"], set()).add(entry["seq"])
        lines = {
            (chain, seq): line for chain, seqs in seqs_by_chain.items() for seq, line in _read_some(reader, chain, seqs)
        }
        yield from (lines[(entry["chain"], entry["seq"])] for entry in entries)


def _read_some(reader: StoreReader, chain: int, seqs: set[int]) -> Iterator[tuple[int, bytes]]:
    first, last = min(seqs), max(seqs)
    lines = reader.read_lines(chain, since=first - 1, limit=last - first + 1)
    for seq, line in enumerate(lines, start=first):
        if seq in seqs:
            yield seq, line


def _stream_table(reader: StoreReader, query: SearchQuery) -> Iterator[bytes]:
    columns = (*_CSV_COLUMNS, "hash", "summary")
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(columns)
    for entries in _walk_entries(reader, query):
        for entry in entries:
            writer.writerow([defuse_formulas(str(entry[column])) for column in columns])
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()


def _stream_parquet(reader: StoreReader, query: SearchQuery) -> Iterator[bytes]:
    """Yield a Parquet file; it is written to the disk first, because its index is at its end."""
    entries = (decode_entry(line, body_required=False) for line in _stream_lines(reader, query))
    with tempfile.TemporaryFile() as file:
        export_parquet(entries, file)
        file.seek(0)
        while chunk := file.read(1 << 16):
            yield chunk


EXPORT_FORMATS: dict[str, tuple[str, Callable[[StoreReader, SearchQuery], Iterator[bytes]]]] = {
    "jsonl": ("application/x-ndjson", _stream_lines),
    "csv": ("text/csv; charset=utf-8", _stream_table),
    "parquet": ("application/vnd.apache.parquet", _stream_parquet),
}
"""Format → its media type, and what streams it."""


def defuse_formulas(text: str) -> str:
    """Return a cell that no spreadsheet runs: what an agent wrote may begin like a formula.

    Neither as a whole nor in a part: some take semicolons or tabs for the ends of cells, in spite of the quotes.
    """
    return _FORMULA.sub(r"\1'\2", text)


EXPORT_ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "GET",
        "/v1/export",
        export_entries,
        AUDITORS,
        "everything that is found",
        QUERY_PARAMETER | {"format": "`jsonl`, `csv` or `parquet`"},
        scope="export",
    ),
)
