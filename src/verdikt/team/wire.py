"""What a machine sends: lines of its log, as they stand there, grouped into stretches of one session each.

Lines of entry form v2 may come without their bodies. Every line is verified by itself, and every stretch as a chain,
before a store sees it; whether a stretch continues what is stored is decided by `chain_extension`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verdikt.errors import CanonicalError, WireError
from verdikt.model.canonical_json import encode_canonical, parse_json
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import READABLE_VERSIONS, unseal_line

MAX_BATCH_BYTES = 8 << 20
"""Most bytes of lines in one batch, after decompression."""

MAX_BATCH_ENTRIES = 2000
INDEX_PREFIX = b'{"index":'
MAX_LINE_BYTES = 1 << 20
MAX_SESSION_CHARS = 300
MAX_SEQ = 2**53 - 1
_MAX_TIMESTAMP = 2**53 - 1


@dataclass(frozen=True, slots=True)
class ReceivedLine:
    """One verified line: the bytes as they were sent, newline included, and their fields."""

    line: bytes
    fields: dict[str, Any]
    index: dict[str, Any] | None = None
    """What a machine says of an entry whose body it keeps to itself; the chain does not prove it."""

    @property
    def seq(self) -> int:
        """The sequence number."""
        return int(self.fields["seq"])

    @property
    def hash(self) -> str:
        """The hash of the entry."""
        return str(self.fields["hash"])

    @property
    def prev(self) -> str:
        """The hash of the entry before."""
        return str(self.fields["prev"])

    @property
    def is_signed(self) -> bool:
        """Return whether the line carries a signature; whether it is valid is for `ledger verify` to say."""
        return bool(self.fields["sig"])


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive lines of one session: each links to the one before it."""

    session: str
    lines: tuple[ReceivedLine, ...]

    def __post_init__(self) -> None:
        # With no lines it would have no place in a chain.
        if not self.lines:
            raise WireError("expected at least one line in a stretch, found none")

    @property
    def first_seq(self) -> int:
        """The sequence number of the first line."""
        return self.lines[0].seq

    @property
    def head(self) -> ChainHead:
        """The last entry."""
        return ChainHead(self.lines[-1].seq, self.lines[-1].hash)


def parse_batch(data: bytes, load: Callable[[bytes], Any] | None = None) -> list[Stretch]:
    """Return the stretches of a batch; raise `WireError` at the first line that does not verify or follow.

    `load` is a faster parser of JSON; what it refuses with a `ValueError` is parsed as always.
    """
    if len(data) > MAX_BATCH_BYTES:
        raise WireError(f"expected at most {MAX_BATCH_BYTES} bytes of lines, found {len(data)}")
    # Not `splitlines`, which also splits at a carriage return.
    *complete_lines, torn = data.split(b"\n")
    lines = [line + b"\n" for line in complete_lines]
    if torn:
        raise WireError(f"line {len(lines) + 1}: expected a newline at its end")
    # An entry may be followed by its index.
    if len(lines) > 2 * MAX_BATCH_ENTRIES:
        raise WireError(f"expected at most {2 * MAX_BATCH_ENTRIES} lines, found {len(lines)}")
    received: list[ReceivedLine] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith(INDEX_PREFIX):
            if not received or "body" in received[-1].fields:
                raise WireError(f"line {number}: expected an index after an entry without its body")
            received[-1] = replace(received[-1], index=_parse_index(line, number))
        else:
            received.append(parse_line(line, number, load))
    if len(received) > MAX_BATCH_ENTRIES:
        raise WireError(f"expected at most {MAX_BATCH_ENTRIES} entries, found {len(received)}")
    return list(build_stretches(received))


def format_index(index: Mapping[str, Any]) -> bytes:
    """Return the line that follows an entry whose body stays on the machine."""
    return encode_canonical({"index": index}) + b"\n"


def _parse_index(line: bytes, number: int) -> dict[str, Any]:
    try:
        index = parse_json(line)["index"]
    except (CanonicalError, KeyError, TypeError) as error:
        raise WireError(f"line {number}: expected an index") from error
    if not isinstance(index, dict):
        raise WireError(f"line {number}: expected an index")
    return index


def parse_line(line: bytes, number: int = 1, load: Callable[[bytes], Any] | None = None) -> ReceivedLine:
    """Return one verified line; raise `WireError` when its hash, a type or a limit is wrong."""
    if len(line) > MAX_LINE_BYTES:
        raise WireError(f"line {number}: expected at most {MAX_LINE_BYTES} bytes, found {len(line)}")
    fields = unseal_line(line, load)
    if isinstance(fields, str):
        raise WireError(f"line {number}: {fields}")
    if problem := _find_field_problem(fields):
        raise WireError(f"line {number}: {problem}")
    return ReceivedLine(line, fields)


def _find_field_problem(fields: dict[str, Any]) -> str:
    """Return what is wrong with the types of a line whose hash is right: the machine that hashed it may be hostile."""
    session, seq, ts, kind = fields.get("session"), fields.get("seq"), fields.get("ts"), fields.get("kind")
    if fields.get("v") not in READABLE_VERSIONS:
        return f"version `{fields.get('v')}` is newer than this service: upgrade it"
    if not isinstance(session, str) or not 0 < len(session) <= MAX_SESSION_CHARS or not _is_storable(session):
        return f"expected a session of 1 to {MAX_SESSION_CHARS} characters"
    if type(seq) is not int or not 0 < seq <= MAX_SEQ:
        return "expected a positive sequence number"
    if type(ts) is not int or not 0 <= ts <= _MAX_TIMESTAMP:
        return "expected a time in microseconds"
    if not isinstance(kind, str) or not isinstance(fields.get("prev"), str) or not isinstance(fields.get("kid"), str):
        return "expected text as kind, prev and kid"
    return ""


def _is_storable(text: str) -> bool:
    """Return whether a database can hold a text: NUL and lone surrogates, which JSON can escape, it cannot."""
    return "\0" not in text and (text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text))


def build_stretches(lines: Sequence[ReceivedLine]) -> Iterator[Stretch]:
    """Yield the lines as stretches; raise `WireError` when lines of one session do not follow each other."""
    by_session: dict[str, list[ReceivedLine]] = {}
    for number, line in enumerate(lines, start=1):
        fields = line.fields
        stretch = by_session.setdefault(fields["session"], [])
        if stretch:
            last = stretch[-1].fields
            if fields["seq"] != last["seq"] + 1 or fields["prev"] != last["hash"]:
                raise WireError(f"line {number}: expected entry {last['seq'] + 1} of its session, found another")
        stretch.append(line)
    for session, session_lines in by_session.items():
        yield Stretch(session, tuple(session_lines))
