"""One entry of the log, and its line in the log file.

A line is the canonical bytes (RFC 8785) of every field except `hash` and `sig`, followed by those two:

    {"body":…,"kid":…,"kind":…,"prev":…,"seq":…,"session":…,"ts":…,"v":1,"hash":"…","sig":"…"}

`hash` is the SHA-256 of the bytes before it and therefore covers every other field, `prev` and `kid` included, without
a list of names that could miss one. `sig` signs the hash.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from json import JSONDecoder
from json import loads as load
from typing import Any

from verdikt.errors import ChainBroken, LedgerError
from verdikt.model.canonical_json import encode_canonical, fields_of, sha256_hex

ENTRY_VERSION = 1
GENESIS_HASH = "0" * 64
"""The `prev` of a session's first entry."""

SEAL_FIELDS = ("hash", "sig")
"""The two fields that the hash does not cover, because they are computed from it."""

# Domain separation: a signature of an entry is never valid for anything else that the same key signs.
_SIGNATURE_DOMAIN = b"verdikt entry v1\n"


class EntryKind(enum.StrEnum):
    """The kinds of entries."""

    TOOL_CALL = "tool_call"
    DECISION = "decision"
    CONTRACT = "contract"
    SNAPSHOT = "snapshot"
    VALIDATOR_PASS = "validator_pass"
    OVERRIDE = "override"
    GRANT = "grant"
    FINDING = "finding"
    FINDING_CLEARED = "finding_cleared"
    REVIEW = "review"
    FEEDBACK = "feedback"
    POSTURE = "posture"
    COMPLETION = "completion"
    CRASH = "crash"
    GAP = "gap"
    ROTATION = "rotation"
    KEY_ROTATION = "key_rotation"
    CHECKPOINT = "checkpoint"
    SESSION = "session"


ENTRY_KINDS: frozenset[str] = frozenset(EntryKind)

SIGNED_KINDS: frozenset[EntryKind] = frozenset(
    {
        EntryKind.VALIDATOR_PASS,
        EntryKind.GRANT,
        EntryKind.POSTURE,
        EntryKind.ROTATION,
        EntryKind.KEY_ROTATION,
        EntryKind.CHECKPOINT,
    }
)
"""Kinds that are always signed. The others are covered by the next signed checkpoint, which chains back to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the log. `ts` is whole microseconds since the epoch; `seq` counts from 1 within the session."""

    seq: int
    ts: int
    session: str
    kind: EntryKind
    body: Mapping[str, Any] = field(default_factory=dict)
    prev: str = GENESIS_HASH
    kid: str = ""
    v: int = ENTRY_VERSION
    hash: str = ""
    sig: str = ""

    @property
    def timestamp_seconds(self) -> float:
        """When the entry was written, in seconds since the epoch."""
        return self.ts / 1_000_000

    def payload_bytes(self) -> bytes:
        """Return the bytes that the hash covers: every field but the seals."""
        return encode_canonical({name: value for name, value in fields_of(self).items() if name not in SEAL_FIELDS})

    def to_line(self) -> bytes:
        """Return the entry as one line of the log, newline included."""
        return _format_line(self.payload_bytes(), self.hash, self.sig)

    def to_record(self) -> dict[str, Any]:
        """Return every field as plain data."""
        return fields_of(self)


_DECODER = JSONDecoder()


def seal_entry(entry: Entry, sign: Callable[[bytes], str] | None = None) -> tuple[Entry, bytes]:
    """Return the entry with its hash and, given a signer for its `kid`, its signature; and its line."""
    payload = entry.payload_bytes()
    hash = sha256_hex(payload)
    sig = sign(signature_message(hash)) if sign else ""
    return replace(entry, hash=hash, sig=sig), _format_line(payload, hash, sig)


def build_entry(
    *,
    seq: int,
    ts: int,
    session: str,
    kind: EntryKind,
    body: Mapping[str, Any],
    prev: str,
    kid: str = "",
    v: int = ENTRY_VERSION,
    sign: Callable[[bytes], str] | None = None,
) -> tuple[Entry, bytes]:
    """Return a new sealed entry and its line. The entry is decoded from the line, so it shares nothing with `body`."""
    fields = {"body": body, "kid": kid, "kind": kind, "prev": prev, "seq": seq, "session": session, "ts": ts, "v": v}
    payload = encode_canonical(fields)
    hash = sha256_hex(payload)
    line = _format_line(payload, hash, sign(signature_message(hash)) if sign else "")
    return _entry_from_fields(_DECODER.raw_decode(line.decode())[0]), line


def signature_message(hash: str) -> bytes:
    """Return the bytes that the signature of an entry with this hash signs."""
    return _SIGNATURE_DOMAIN + hash.encode()


def _format_line(payload: bytes, hash: str, sig: str) -> bytes:
    return payload[:-1] + f',"hash":"{hash}","sig":"{sig}"}}\n'.encode()


def decode_entry(line: bytes) -> Entry:
    """Return the entry of a line after checking its hash; raise `ChainBroken` when the line was changed."""
    fields = unseal_line(line)
    if isinstance(fields, str):
        raise ChainBroken(fields)
    return _entry_from_fields(fields)


def unseal_line(line: bytes) -> dict[str, Any] | str:
    """Return the fields of a line whose hash is correct, or else a description of the problem."""
    at = line.rfind(b',"hash":"')
    seal = _extract_hash(line.removesuffix(b"\n")[at:]) if at > 0 else None
    if seal is None:
        return "expected an entry, found a line without hash and signature at its end"
    expected = sha256_hex(line[:at] + b"}")
    if seal != expected.encode():
        return f"expected hash {expected[:12]}…, found {seal[:12].decode()}…"
    try:
        fields = load(line)
    except (ValueError, RecursionError):
        return "expected a JSON object, found something else"
    return fields if isinstance(fields, dict) else "expected a JSON object, found something else"


# The seals are found by position and not by parsing: only bytes that were written exactly so have a valid hash.
def _extract_hash(line_end: bytes) -> bytes | None:
    """Return the hash from `,"hash":"…","sig":"…"}`, or None when the text differs or is not hexadecimal."""
    hash, sig = line_end[9:73], line_end[82:-2]
    if (
        (line_end[:9], line_end[73:82], line_end[-2:]) != (b',"hash":"', b'","sig":"', b'"}')
        or len(line_end) < 84
        or len(sig) % 2
    ):
        return None
    return None if (hash + sig).translate(None, b"0123456789abcdef") else hash


def _entry_from_fields(fields: dict[str, Any]) -> Entry:
    version = fields.get("v")
    if version != ENTRY_VERSION:
        raise LedgerError(
            f"expected an entry of version {ENTRY_VERSION}, found version `{version}` (seq {fields.get('seq')}):"
            " this log was written by a newer verdikt; upgrade to read it"
        )
    kind = fields.get("kind")
    if isinstance(kind, str) and kind not in ENTRY_KINDS:
        raise LedgerError(
            f"entry {fields.get('seq')} is of kind `{kind}`, which this verdikt does not know: upgrade to read it"
        )
    try:
        fields["kind"] = EntryKind(fields["kind"])
        return Entry(**fields)
    except (TypeError, KeyError, ValueError) as error:
        raise ChainBroken(f"expected the fields of an entry, found others: {error}") from error
