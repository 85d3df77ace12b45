"""One entry of the log, and its line in the log file.

A line of version 2 is a header in canonical form (RFC 8785), the two seals, and the body:

    {"body_sha256":"…","kid":…,"kind":…,"prev":…,"seq":…,"session":…,"ts":…,"v":2,"hash":"…","sig":"…","body":{…}}

`hash` is the SHA-256 of the bytes before it and therefore covers every other field, `prev` and `kid` included, without
a list of names that could miss one; it covers the body through its digest. So the body may be left out, and the chain
still verifies. `sig` signs the hash.

Version 1 is only read: there the body itself is among the hashed fields, and nothing follows the seals.

    {"body":…,"kid":…,"kind":…,"prev":…,"seq":…,"session":…,"ts":…,"v":1,"hash":"…","sig":"…"}
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from json import JSONDecoder
from typing import Any

from verdikt.errors import ChainBroken, LedgerError
from verdikt.model.canonical_json import encode_canonical, fields_of, sha256_hex

ENTRY_VERSION = 2
"""The version that new entries are written in."""

READABLE_VERSIONS: frozenset[int] = frozenset({1, ENTRY_VERSION})
GENESIS_HASH = "0" * 64
"""The `prev` of a session's first entry."""

SEAL_FIELDS = ("hash", "sig")
"""The two fields that the hash does not cover, because they are computed from it."""

# Domain separation: a signature of an entry is never valid for anything else that the same key signs. Both versions
# share it, because no hash belongs to an entry of each.
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
    MCP = "mcp"
    ANSWER = "answer"
    APPROVAL = "approval"


ENTRY_KINDS: frozenset[str] = frozenset(EntryKind)

SIGNED_KINDS: frozenset[EntryKind] = frozenset(
    {
        EntryKind.VALIDATOR_PASS,
        EntryKind.GRANT,
        EntryKind.POSTURE,
        EntryKind.ROTATION,
        EntryKind.KEY_ROTATION,
        EntryKind.CHECKPOINT,
        EntryKind.ANSWER,
        EntryKind.APPROVAL,
    }
)
"""Kinds that are always signed. The others are covered by the next signed checkpoint, which chains back to them."""


class AbsentBody(dict[str, Any]):
    """The body of an entry whose text was left out of its line; equal to no other body, the empty one included."""

    __slots__ = ()
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsentBody)

    def __ne__(self, other: object) -> bool:
        return not isinstance(other, AbsentBody)


ABSENT_BODY = AbsentBody()


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
    body_sha256: str = ""
    """Digest of the body; empty in version 1, and before the entry is sealed."""
    hash: str = ""
    sig: str = ""

    @property
    def timestamp_seconds(self) -> float:
        """When the entry was written, in seconds since the epoch."""
        return self.ts / 1_000_000

    @property
    def has_body(self) -> bool:
        """Return whether the text of the body is there, and not only its digest."""
        return not isinstance(self.body, AbsentBody)

    def payload_bytes(self) -> bytes:
        """Return the bytes that the hash covers: every field but the seals, and from version 2 on the body's digest."""
        hashed_fields = {name: value for name, value in fields_of(self).items() if name not in SEAL_FIELDS}
        if self.v == 1:
            del hashed_fields["body_sha256"]
        else:
            del hashed_fields["body"]
            if self.has_body:
                hashed_fields["body_sha256"] = sha256_hex(_encode_body_member(self.body)[_BODY_TEXT])
        return encode_canonical(hashed_fields)

    def to_line(self, *, with_body: bool = True) -> bytes:
        """Return the entry as one line of the log, newline included; from version 2 on the body may be left out."""
        if self.v == 1:
            return _format_line(self.payload_bytes(), self.hash, self.sig)
        member = _encode_body_member(self.body) if with_body and self.has_body else b""
        return _format_line(self.payload_bytes(), self.hash, self.sig, member)

    def to_record(self) -> dict[str, Any]:
        """Return every field of the line as plain data."""
        record = fields_of(self)
        if self.v == 1:
            del record["body_sha256"]
        elif not self.has_body:
            del record["body"]
        return record


_DECODER = JSONDecoder()

_BODY_TEXT = slice(len('{"body":'), -1)
"""Where the body stands in the bytes that `_encode_body_member` returns."""


def seal_entry(entry: Entry, sign: Callable[[bytes], str] | None = None) -> tuple[Entry, bytes]:
    """Return the entry with its hash and, given a signer for its `kid`, its signature; and its line."""
    payload = entry.payload_bytes()
    hash = sha256_hex(payload)
    digest = "" if entry.v == 1 else payload[_BODY_DIGEST].decode()
    sealed = replace(entry, body_sha256=digest, hash=hash, sig=sign(signature_message(hash)) if sign else "")
    return sealed, sealed.to_line()


def build_entry(
    *,
    seq: int,
    ts: int,
    session: str,
    kind: EntryKind,
    body: Mapping[str, Any],
    prev: str,
    kid: str = "",
    sign: Callable[[bytes], str] | None = None,
) -> tuple[Entry, bytes]:
    """Return a new sealed entry and its line. Its body is decoded from the line, so it shares nothing with `body`."""
    member = _encode_body_member(body)
    body_text = member[_BODY_TEXT]
    digest = sha256_hex(body_text)
    payload = encode_canonical(
        {
            "body_sha256": digest,
            "kid": kid,
            "kind": kind,
            "prev": prev,
            "seq": seq,
            "session": session,
            "ts": ts,
            "v": ENTRY_VERSION,
        }
    )
    hash = sha256_hex(payload)
    sig = sign(signature_message(hash)) if sign else ""
    entry = Entry(
        seq=seq,
        ts=ts,
        session=session,
        kind=kind,
        body=_DECODER.raw_decode(body_text.decode())[0],
        prev=prev,
        kid=kid,
        body_sha256=digest,
        hash=hash,
        sig=sig,
    )
    return entry, _format_line(payload, hash, sig, member)


def signature_message(hash: str) -> bytes:
    """Return the bytes that the signature of an entry with this hash signs."""
    return _SIGNATURE_DOMAIN + hash.encode()


def _encode_body_member(body: Mapping[str, Any]) -> bytes:
    """Return `{"body":…}`: encoded inside an object, so that body and line have the same limit of nesting."""
    return encode_canonical({"body": body})


def _format_line(payload: bytes, hash: str, sig: str, body_member: bytes = b"") -> bytes:
    seals = f',"hash":"{hash}","sig":"{sig}"'.encode()
    # One copy of the body, which may be megabytes long.
    body_parts = (b",", memoryview(body_member)[1:]) if body_member else (b"}",)
    return b"".join((payload[:-1], seals, *body_parts, b"\n"))


def decode_entry(line: bytes, *, body_required: bool = True) -> Entry:
    """Return the entry of a line after checking its hash; raise `ChainBroken` when the line was changed.

    A line without its body counts as changed unless the caller can do without: what decides by the log must not take
    an erased entry for an empty one.
    """
    fields = unseal_line(line)
    if isinstance(fields, str):
        raise ChainBroken(fields)
    entry = _entry_from_fields(fields)
    if body_required and not entry.has_body:
        raise ChainBroken(f"entry {entry.seq}: its body was left out or erased")
    return entry


def unseal_line(line: bytes, load: Callable[[bytes], Any] | None = None) -> dict[str, Any] | str:
    """Return the fields of a line whose hash is correct, or else a description of the problem.

    There is no `body` among the fields when the line is of version 2 and has none. `load` is a faster parser of JSON;
    what it refuses with a `ValueError` is parsed as always.
    """
    return _unseal_with_digest(line, load) if line.startswith(_DIGEST_PREFIX) else _unseal_with_body(line)


_NO_SEALS = "expected an entry, found a line without hash and signature"
_NO_OBJECT = "expected a JSON object, found something else"
_DIGEST_PREFIX = b'{"body_sha256":"'
_BODY_DIGEST = slice(len(_DIGEST_PREFIX), len(_DIGEST_PREFIX) + 64)
_HEADER_FIELDS = frozenset({"body_sha256", "kid", "kind", "prev", "seq", "session", "ts", "v"})


def _unseal_with_digest(line: bytes, load: Callable[[bytes], Any] | None = None) -> dict[str, Any] | str:
    """Return the fields of a line of version 2 or newer, its body under `body` if it has one."""
    # The first occurrence: text in JSON has no bare quotes, and nothing before the seals is nested.
    at = line.find(b',"hash":"')
    end = line.find(b'"', at + 82)
    hash = _extract_hash(line[at : end + 1] + b"}") if 0 < at < end else None
    if hash is None:
        return _NO_SEALS
    payload = line[:at] + b"}"
    expected = sha256_hex(payload)
    if hash != expected.encode():
        return f"expected hash {expected[:12]}…, found {hash[:12].decode()}…"
    # Header and body are parsed by themselves: a body such as `{},"seq":9` must not change what the header says.
    fields = _load_object(payload, load)
    if fields is None or fields.keys() != _HEADER_FIELDS:
        return "expected the fields of an entry, found others"
    if fields["v"] == 1:
        return "expected a later version, found version 1 with a digest of its body"
    fields["hash"], fields["sig"] = expected, line[at + 82 : end].decode()
    member = line[end + 1 :].removesuffix(b"\n")
    if member == b"}":
        return fields
    if not member.startswith(b',"body":'):
        return _NO_SEALS
    body_text = member[_BODY_TEXT]
    if sha256_hex(body_text) != fields["body_sha256"]:
        return f"expected a body with digest {str(fields['body_sha256'])[:12]}…, found another"
    body = _load_object(body_text, load)
    if body is None or not member.endswith(b"}"):
        return _NO_OBJECT
    fields["body"] = body
    return fields


def _unseal_with_body(line: bytes) -> dict[str, Any] | str:
    """Return the fields of a line of version 1."""
    at = line.rfind(b',"hash":"')
    hash = _extract_hash(line.removesuffix(b"\n")[at:]) if at > 0 else None
    if hash is None:
        return _NO_SEALS
    expected = sha256_hex(line[:at] + b"}")
    if hash != expected.encode():
        return f"expected hash {expected[:12]}…, found {hash[:12].decode()}…"
    fields = _load_object(line)
    if fields is None:
        return _NO_OBJECT
    # Else an entry of version 2 could be written in two ways.
    return "expected the digest of the body first, found version 2 without it" if fields.get("v") == 2 else fields


def _load_object(text: bytes, load: Callable[[bytes], Any] | None = None) -> dict[str, Any] | None:
    if load is not None:
        try:
            fields = load(text)
        except ValueError:
            return _load_object(text)
        return fields if isinstance(fields, dict) else None
    try:
        fields = _DECODER.decode(text.decode())
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


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
    if version not in READABLE_VERSIONS:
        raise LedgerError(
            f"expected an entry of version 1 or {ENTRY_VERSION}, found version `{version}` (seq {fields.get('seq')}):"
            " this log was written by a newer verdikt; upgrade to read it"
        )
    kind = fields.get("kind")
    if isinstance(kind, str) and kind not in ENTRY_KINDS:
        raise LedgerError(
            f"entry {fields.get('seq')} is of kind `{kind}`, which this verdikt does not know: upgrade to read it"
        )
    if version == 1 and "body_sha256" in fields:
        raise ChainBroken("expected the fields of an entry, found others: `body_sha256` in version 1")
    if version == ENTRY_VERSION:
        fields.setdefault("body", ABSENT_BODY)
    try:
        fields["kind"] = EntryKind(fields["kind"])
        return Entry(**fields)
    except (TypeError, KeyError, ValueError) as error:
        raise ChainBroken(f"expected the fields of an entry, found others: {error}") from error
