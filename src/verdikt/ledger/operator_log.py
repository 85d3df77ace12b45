"""The operator's signed entries, verified together with everything that follows them."""

from __future__ import annotations

from itertools import dropwhile
from typing import TYPE_CHECKING

from verdikt.errors import ChainBroken
from verdikt.ledger.chain_reader import GAP_LOST, GAP_REWRITTEN, read_chain
from verdikt.ledger.key_introduction import is_introduced
from verdikt.ledger.log_reader import parse_seq
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import EntryKind

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.model.entry import Entry
    from verdikt.observe.watched_files import WatchedFiles


def find_operator_entry(store: FileStore, seq: int) -> tuple[Entry, list[Entry]] | None:
    """Return the operator's signed entry with that seq, and all entries that follow it.

    None when there is none, when its signature is wrong, or when what follows is damaged or cut off: the missing part
    may have revoked it. The answer is kept while the files that it was read from stay as they are.
    """
    return store.operator_entries.get(seq, lambda watched: _read_operator_entry(store, seq, watched))


def _read_operator_entry(store: FileStore, seq: int, watched: WatchedFiles) -> tuple[Entry, list[Entry]] | None:
    # A directory changes when a file comes or goes in it: a rotation, another key.
    for path in (store.reader.hot_file_path(OPERATOR), store.reader.ledger / "_archive", store.keyring.path):
        watched.add(str(path))
    try:
        # What was damaged before it was said does not matter to it.
        lines = dropwhile(lambda line: parse_seq(line) != seq, store.reader.read_lines(OPERATOR, since=seq - 1))
        entry, *later = read_chain(lines, OPERATOR)
    except (ChainBroken, ValueError):
        return None
    if entry.kind is not EntryKind.GRANT or not entry.sig:
        return None
    if store.keyring.check_entry_signature(entry.kid, entry.hash, entry.sig, entry.ts) is not None:
        return None
    if not is_introduced(store, entry.kid):
        return None
    # The log itself reports that entries after this one were lost or replaced.
    if any(
        later_entry.kind is EntryKind.GAP and later_entry.body.get("reason") in (GAP_LOST, GAP_REWRITTEN)
        for later_entry in later
    ):
        return None
    return entry, later
