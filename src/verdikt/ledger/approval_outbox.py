"""The outbox of approval requests: which a service has to hear of, and which it has taken. Read without any lock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from verdikt.ledger.data_directory import make_private_directory
from verdikt.observe.atomic_file import DRAFT_SUFFIX, write_atomically

if TYPE_CHECKING:
    from pathlib import Path

OUTBOX = "approvals"
"""Directory with a file for each request that a service has to hear of; the log has all that is said in it."""
_MAX_NOTICES = 200
"""Notices that one decision looks at: without a service, which takes them away, they only become more."""


def announce_request(home: Path, session: str, id: str, call: str = "") -> None:
    """Announce a request to the process that asks the service; `call` tells other sessions what it is about."""
    path = make_private_directory(home / OUTBOX) / id
    if not path.exists():
        _write_notice(path, {"session": session, "call": call})


def mark_submitted(home: Path, id: str) -> None:
    """Note that a service has taken a request, and people can see it."""
    path = home / OUTBOX / id
    notice = _read_notice(path)
    if notice is not None:
        _write_notice(path, {**notice, "submitted": True})


def is_submitted(home: Path, id: str) -> bool:
    """Return whether a service has taken a request that is still open."""
    notice = _read_notice(home / OUTBOX / id)
    return notice is not None and notice.get("submitted") is True


def _write_notice(path: Path, notice: Mapping[str, Any]) -> None:
    write_atomically(path, json.dumps(notice).encode())


def _read_notice(path: Path) -> dict[str, Any] | None:
    """Return what the outbox says of a request; None when it is no longer there, or is not what we wrote."""
    try:
        notice = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return notice if isinstance(notice, dict) and isinstance(notice.get("session"), str) else None


def _read_notices(home: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted((home / OUTBOX).glob("*")) if (home / OUTBOX).is_dir() else ():
        if path.suffix != DRAFT_SUFFIX and (notice := _read_notice(path)) is not None:
            yield path.name, notice


def list_announced(home: Path) -> dict[str, str]:
    """Return the requests that a service has to hear of: id → session."""
    return {id: notice["session"] for id, notice in _read_notices(home)}


def withdraw_request(home: Path, id: str) -> None:
    """Take a request that has ended out of the outbox; the log keeps it."""
    (home / OUTBOX / id).unlink(missing_ok=True)


def explain_other_session(home: Path, session: str, call: str) -> str:
    """Return that an approval for the same call is one of another session; empty when there is none.

    By the outbox alone: to look into that session's log would take its lock while this one's is held.
    """
    for id, notice in islice(_read_notices(home), _MAX_NOTICES):
        if notice["session"] != session and notice.get("call") == call:
            return f"approval {id} is one of another session"
    return ""
