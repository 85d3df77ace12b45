"""Export log entries as JSON lines, in-toto Statements or a Parquet table."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from verdikt.errors import LedgerError
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.entry import Entry
from verdikt.report.entry_line import effects_of, verdict_of

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:verdikt:ledger-entry:v"
"""Followed by the version of the entry's form, which says what its hash covers."""
# Rows in memory at a time: a log can be larger than memory.
_BATCH_ROWS = 10_000


def export_jsonl(entries: Iterable[Entry]) -> Iterator[bytes]:
    """Yield the lines exactly as they are in the log."""
    for entry in entries:
        yield entry.to_line()


def export_in_toto(entries: Iterable[Entry]) -> Iterator[bytes]:
    """Yield one in-toto Statement per line: the entry's hash as subject, everything else as predicate."""
    for entry in entries:
        subject = {"name": f"verdikt:{entry.session}/{entry.seq}", "digest": {"sha256": entry.hash}}
        predicate = {name: value for name, value in entry.to_record().items() if name != "hash"}
        statement = {
            "_type": STATEMENT_TYPE,
            "subject": [subject],
            "predicateType": f"{PREDICATE_TYPE}{entry.v}",
            "predicate": predicate,
        }
        yield encode_canonical(statement) + b"\n"


def export_parquet(entries: Iterable[Entry], sink: BinaryIO) -> int:
    """Write a Parquet table (envelope, verdict, guard, effects, body as JSON) and return the number of rows."""
    try:
        # A large optional dependency, needed for this format alone.
        import pyarrow
        from pyarrow import parquet as tables
    except ImportError:
        raise LedgerError("Parquet needs pyarrow, which is not installed: `pip install pyarrow`") from None
    schema = pyarrow.schema(
        [
            ("session", pyarrow.string()),
            ("seq", pyarrow.int64()),
            ("ts", pyarrow.timestamp("us", tz="UTC")),
            ("kind", pyarrow.string()),
            ("verdict", pyarrow.string()),
            ("guard", pyarrow.string()),
            ("effects", pyarrow.list_(pyarrow.string())),
            ("body", pyarrow.string()),
            ("body_sha256", pyarrow.string()),
            ("v", pyarrow.int32()),
            ("prev", pyarrow.string()),
            ("hash", pyarrow.string()),
            ("kid", pyarrow.string()),
            ("sig", pyarrow.string()),
        ]
    )
    count = 0
    rows = map(_entry_to_row, entries)
    with tables.ParquetWriter(sink, schema) as writer:
        while batch := list(islice(rows, _BATCH_ROWS)):
            writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
            count += len(batch)
    return count


def _entry_to_row(entry: Entry) -> dict[str, Any]:
    verdict, guard = verdict_of(entry)
    return {
        **entry.to_record(),
        "kind": entry.kind.value,
        "body": encode_canonical(entry.body).decode() if entry.has_body else None,
        "verdict": verdict or None,
        "guard": guard or None,
        "effects": list(effects_of(entry)),
    }
