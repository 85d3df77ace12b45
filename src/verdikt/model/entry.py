"""One link of the log, and the line it is written as.

A line is the canonical bytes (RFC 8785) of every field except `hash` and `sig`, followed by those two:

    {"body":…,"kid":…,"kind":…,"prev":…,"seq":…,"session":…,"ts":…,"v":1,"hash":"<sha-256 of the above>","sig":"<over the hash>"}

So the hash covers every other field, `prev` and `kid` included, without a list of them that could forget one; the
signature covers the hash, and what remains uncovered is nothing.
"""

from __future__ import annotations

import enum

from verdikt.errors import ChainBroken, LedgerError
from verdikt.model.canonical import canonical, sha256
from verdikt.model.notation import load, raw_load
from verdikt.model.value import Value, field, fields_of, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

VERSION = 1
GENESIS = "0" * 64
"""The `prev` of a session's first entry."""

SEALS = ("hash", "sig")
"""The two fields that the hash does not cover, because they are made from it."""

_DOMAIN = b"verdikt entry v1\n"


class EntryKind(enum.StrEnum):
    """What an entry records."""

    TOOL_CALL = "tool_call"
    DECISION = "decision"
    CONTRACT = "contract"
    VALIDATOR_PASS = "validator_pass"
    OVERRIDE = "override"
    GRANT = "grant"
    FINDING = "finding"
    FINDING_CLEARED = "finding_cleared"
    FEEDBACK = "feedback"
    POSTURE = "posture"
    COMPLETION = "completion"
    CRASH = "crash"
    GAP = "gap"
    ROTATION = "rotation"
    KEY_ROTATION = "key_rotation"
    CHECKPOINT = "checkpoint"


KINDS: frozenset[str] = frozenset(EntryKind)

SIGNED: frozenset[EntryKind] = frozenset(
    {
        EntryKind.VALIDATOR_PASS,
        EntryKind.GRANT,
        EntryKind.POSTURE,
        EntryKind.ROTATION,
        EntryKind.KEY_ROTATION,
        EntryKind.CHECKPOINT,
    }
)
"""Kinds that are always signed. The others are covered by the next signed checkpoint, which chains back over them."""


class Entry(Value, kw_only=True):
    """One link of the log. `ts` is whole microseconds since the epoch; `seq` counts from 1 within the session."""

    seq: int
    ts: int
    session: str
    kind: EntryKind
    body: Mapping[str, Any] = field(default_factory=dict)
    prev: str = GENESIS
    kid: str = ""
    v: int = VERSION
    hash: str = ""
    sig: str = ""

    @property
    def seconds(self) -> float:
        """When it was written, in seconds since the epoch."""
        return self.ts / 1_000_000

    def payload(self) -> bytes:
        """The bytes under the hash: every field but the seals."""
        return canonical({name: value for name, value in fields_of(self).items() if name not in SEALS})

    def line(self) -> bytes:
        """The entry as one line of the log, newline included."""
        return _line(self.payload(), self.hash, self.sig)

    def record(self) -> dict[str, Any]:
        """Every field as plain data."""
        return fields_of(self)


def seal(entry: Entry, sign: Callable[[bytes], str] | None = None) -> tuple[Entry, bytes]:
    """The entry with its hash and, given a signer for its `kid`, its signature; and its line."""
    payload = entry.payload()
    hash = sha256(payload)
    sig = sign(message(hash)) if sign else ""
    return replace(entry, hash=hash, sig=sig), _line(payload, hash, sig)


def write(
    *,
    seq: int,
    ts: int,
    session: str,
    kind: EntryKind,
    body: Mapping[str, Any],
    prev: str,
    kid: str = "",
    v: int = VERSION,
    sign: Callable[[bytes], str] | None = None,
) -> tuple[Entry, bytes]:
    """A new entry, sealed, and its line. The entry is what the line says, and holds nothing that a caller has in its hands."""
    fields = {"body": body, "kid": kid, "kind": kind, "prev": prev, "seq": seq, "session": session, "ts": ts, "v": v}
    payload = canonical(fields)
    hash = sha256(payload)
    line = _line(payload, hash, sign(message(hash)) if sign else "")
    return _entry(raw_load(line.decode())[0]), line


def message(hash: str) -> bytes:
    """What the signature of an entry with this hash signs."""
    return _DOMAIN + hash.encode()


def _line(payload: bytes, hash: str, sig: str) -> bytes:
    return payload[:-1] + f',"hash":"{hash}","sig":"{sig}"}}\n'.encode()


def decode(line: bytes) -> Entry:
    """The entry that a line holds, its hash checked; `ChainBroken` when the line is not what was written."""
    found = unseal(line)
    if isinstance(found, str):
        raise ChainBroken(found)
    return _entry(found)


def unseal(line: bytes) -> dict[str, Any] | str:
    """The fields of a line whose hash holds, or what is wrong with it, in words."""
    at = line.rfind(b',"hash":"')
    seal = _seal(line.removesuffix(b"\n")[at:]) if at > 0 else None
    if seal is None:
        return "expected an entry, found a line without hash and signature at its end"
    expected = sha256(line[:at] + b"}")
    if seal != expected.encode():
        return f"expected hash {expected[:12]}…, found {seal[:12].decode()}…"
    try:
        fields = load(line)
    except (ValueError, RecursionError):
        return "expected a JSON object, found something else"
    return fields if isinstance(fields, dict) else "expected a JSON object, found something else"


def _seal(end: bytes) -> bytes | None:
    """The hash in `,"hash":"…","sig":"…"}`, when that is what stands there, in hexadecimal digits."""
    hash, sig = end[9:73], end[82:-2]
    if (end[:9], end[73:82], end[-2:]) != (b',"hash":"', b'","sig":"', b'"}') or len(end) < 84 or len(sig) % 2:
        return None
    return None if (hash + sig).translate(None, b"0123456789abcdef") else hash


def _entry(fields: dict[str, Any]) -> Entry:
    version = fields.get("v")
    if version != VERSION:
        raise LedgerError(
            f"expected an entry of version {VERSION}, found version `{version}` (seq {fields.get('seq')}):"
            " this log was written by a newer verdikt; upgrade to read it"
        )
    kind = fields.get("kind")
    if isinstance(kind, str) and kind not in KINDS:
        raise LedgerError(
            f"entry {fields.get('seq')} is of kind `{kind}`, which this verdikt does not know: upgrade to read it"
        )
    try:
        fields["kind"] = EntryKind(fields["kind"])
        return Entry(**fields)
    except (TypeError, KeyError, ValueError) as error:
        raise ChainBroken(f"expected the fields of an entry, found others: {error}") from error
