"""Pauses: the operator's signed permission to let everything but red lines pass for a while."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from verdikt.errors import LedgerError
from verdikt.ledger.operator_log import find_operator_entry
from verdikt.ledger.projections import PAUSE
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind
from verdikt.model.pause import Pause, parse_pause

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore

MAX_PAUSE_SECONDS = 8 * 3600
"""Longest pause; what should hold for longer belongs into the policy."""


def begin_pause(store: FileStore, *, seconds: float, reason: str, by: str) -> Pause:
    """Append a pause that begins now, signed."""
    if not 0 < seconds <= MAX_PAUSE_SECONDS:
        raise LedgerError(f"expected a pause of at most {MAX_PAUSE_SECONDS // 3600} hours, found {seconds:.0f} seconds")
    pause = Pause(until=int(store.clock.now() + seconds), reason=reason, by=by)
    store.append(OPERATOR, EntryKind.GRANT, {"pause": pause.to_record()})
    return pause


def end_pause(store: FileStore, *, by: str) -> None:
    """Append the end of the pause, signed."""
    store.append(OPERATOR, EntryKind.GRANT, {"pause": {"until": 0, "reason": "ended", "by": by}})


def find_active_pause(store: FileStore) -> Pause | None:
    """Return the pause that holds now, read from its signed entry: writing to `state.db` cannot begin one."""
    indexed = store.read_projection(PAUSE.name, OPERATOR)
    now = store.clock.now()
    if not indexed or indexed["until"] <= now:
        return None
    verified = find_operator_entry(store, indexed["seq"])
    # The last word counts: an index that points to an earlier one cannot bring an ended pause back.
    if verified is None or any("pause" in later_entry.body for later_entry in verified[1]):
        return None
    pause = verified[0].body.get("pause")
    # A longer pause cannot come from `begin_pause`, so it is not honoured.
    if not isinstance(pause, Mapping) or not now < pause.get("until", 0) <= now + MAX_PAUSE_SECONDS:
        return None
    return parse_pause(pause)
