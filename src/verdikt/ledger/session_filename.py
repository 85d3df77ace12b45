"""Session ids as file names: any text, no two alike, nothing that leaves the directory."""

from __future__ import annotations

from functools import lru_cache

from verdikt.errors import LedgerError
from verdikt.model.canonical_json import sha256_hex

_SAFE_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_.")
_MAX_LENGTH = 150


@lru_cache(maxsize=256)
def encode_session_filename(session: str) -> str:
    """A file name for a session id, without ending.

    Lower-case letters, digits, `-`, `_` and `.` stand for themselves, everything else is %XX, so that two ids never share
    a name, not even on a disk that ignores case; a leading `_` or `.` is escaped too, which keeps `_archive` for us.
    Very long ids end in their digest.
    """
    try:
        raw = session.encode()
    except UnicodeEncodeError:
        raise LedgerError("expected a session id of Unicode text, found a lone surrogate in it") from None
    if not raw:
        raise LedgerError("expected a session id, found an empty one")
    name = "".join(
        chr(byte) if byte in _SAFE_BYTES and not (at == 0 and byte in b"_.") else f"%{byte:02X}"
        for at, byte in enumerate(raw)
    )
    if len(name) > _MAX_LENGTH:
        return f"{name[: _MAX_LENGTH - 70]}~{sha256_hex(raw)}"
    return name


def decode_session_filename(name: str) -> str | None:
    """The session id that a file name stands for; None when the name is not one of ours, or was too long to keep."""
    if "~" in name:
        return None
    from urllib.parse import unquote_to_bytes

    try:
        session = unquote_to_bytes(name).decode()
    except UnicodeDecodeError:
        return None
    return session if session and encode_session_filename(session) == name else None
