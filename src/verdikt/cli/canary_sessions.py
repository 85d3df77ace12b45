"""Sessions that exist only because `verdikt doctor` fired a canary: no view of the log shows them unless asked."""

import os
from typing import TYPE_CHECKING

from verdikt.hosts.live.canary import Canary
from verdikt.ledger.log_reader import parse_seq
from verdikt.model.entry import EntryKind
from verdikt.model.session_state import CANARY_SESSION
from verdikt.report.entry_line import receipt_of, verdict_of

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.model.entry import Entry

# A client that `doctor --live` runs makes one blocked call; what is longer is a session of its own right.
_MAX_ENTRIES = 12

# What a client's hooks record around the canary. Above all no tool call: nothing ran in such a session.
_HARMLESS_KINDS = {EntryKind.CONTRACT, EntryKind.COMPLETION, EntryKind.FEEDBACK, EntryKind.CHECKPOINT}


def is_canary_session(store: "FileStore", name: str) -> bool:
    """Return whether a session is doctor's own, or one in which nothing but a blocked canary was decided.

    The second kind is told by its content, because a real client chooses its own session id. An agent can hide nothing
    this way except a call that was blocked and the words around it.
    """
    if name == CANARY_SESSION:
        return True
    last_seq = parse_seq(store.reader.read_last_line(name)) or 0
    if not 0 < last_seq <= _MAX_ENTRIES:
        return False
    canary_file = os.path.realpath(Canary(data_directory=str(store.home)).file)
    entries = list(store.reader.read_intact_entries(name))
    decisions = [entry for entry in entries if entry.kind is EntryKind.DECISION]
    return (
        bool(decisions)
        and all(_is_blocked_canary(entry, canary_file) for entry in decisions)
        and all(entry.kind is EntryKind.DECISION or entry.kind in _HARMLESS_KINDS for entry in entries)
    )


def _is_blocked_canary(entry: "Entry", canary_file: str) -> bool:
    action = receipt_of(entry).get("action")
    payload = action.get("payload") if isinstance(action, dict) else None
    command = payload.get("command") if isinstance(payload, dict) else None
    if verdict_of(entry)[0] != "block" or not isinstance(command, str) or not command.startswith("touch "):
        return False
    return os.path.realpath(command.removeprefix("touch ").strip("'")) == canary_file
