"""The operator's word as the log has it: signed, and with everything said after it."""

from __future__ import annotations

from itertools import dropwhile

from verdikt.errors import ChainBroken
from verdikt.ledger.link import LOST, REWRITTEN, linked
from verdikt.ledger.segment import seq_of
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.model.entry import Entry


def word_at(store: FileStore, seq: int) -> tuple[Entry, list[Entry]] | None:
    """The operator's signed entry with that seq, and all that follow it.

    None when there is none, or its signature fails, or what follows is damaged or cut off: that may have taken it back.
    """
    try:
        # What was damaged before it was said does not matter to it.
        lines = dropwhile(lambda line: seq_of(line) != seq, store.reader.lines(OPERATOR, since=seq - 1))
        entry, *later = linked(lines, OPERATOR)
    except (ChainBroken, ValueError):
        return None
    if entry.kind is not EntryKind.GRANT or not entry.sig:
        return None
    if store.keyring.check(entry.kid, entry.hash, entry.sig, entry.ts) is not None:
        return None
    if any(each.kind is EntryKind.GAP and each.body.get("reason") in (LOST, REWRITTEN) for each in later):
        return None
    return entry, later
