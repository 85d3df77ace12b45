"""Which calls the log has a decision for: what a client runs without having asked must not go unnoticed."""

from collections.abc import Iterator, Mapping
from typing import Any

from verdikt.adapters.ruling import MARK
from verdikt.ledger.files import FileStore
from verdikt.model.action import Action
from verdikt.model.canonical import canonical
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.receipt import action_record
from verdikt.model.redaction import redact_action, redact_text

RECENT = 64
ENTRIES_PER_CALL = 16
"""How many entries of a session are looked at, from its end: enough for one batch of calls, however long the session."""

_NEVER_RAN = ("<tool_use_error>", "PreToolUse:", MARK)
"""How the answer to a call begins that Claude Code could not make, or that a hook of its kind, or this one, refused."""


def decision_for(action: Action, store: FileStore) -> Mapping[str, Any] | None:
    """The verdict on this very call, while its outcome is not known yet; None when nothing was decided."""
    record = action_record(redact_action(action)[0])
    wanted = (record["tool"], canonical(record["payload"]))
    verdict = None
    for entry in _recent(store, action.session_id):
        if entry.kind is EntryKind.DECISION and _call(entry.body["receipt"].get("action")) == wanted:
            verdict = entry.body["receipt"].get("verdict")
        elif entry.kind is EntryKind.TOOL_CALL and _call(entry.body) == wanted:
            verdict = None  # that call is over, and this is another one like it
    return verdict if isinstance(verdict, Mapping) else None


def undecided(calls: object, session: str, store: FileStore) -> list[str]:
    """Those of a batch of calls that ran and that no decision covers, in words for a person."""
    ran = [call for call in calls if _ran(call)] if isinstance(calls, list) else []
    if not ran:
        return []
    found = _recent(store, session, calls=len(ran))
    decided = {entry.body.get("call_id") for entry in found if entry.kind is EntryKind.DECISION}
    return [
        f"`{redact_text(str(call.get('tool_name', '')))[0][:80]}` ran without a decision"
        for call in ran
        if call["tool_use_id"] not in decided
    ]


def _ran(call: object) -> bool:
    if not isinstance(call, Mapping) or not isinstance(call.get("tool_use_id"), str):
        return False
    response = call.get("tool_response")
    return not (isinstance(response, str) and response.startswith(_NEVER_RAN))


def _call(record: object) -> tuple[str, bytes]:
    """What is called with what, comparable."""
    found = record if isinstance(record, Mapping) else {}
    return str(found.get("tool", "")), canonical(found.get("payload"))


def _recent(store: FileStore, session: str, *, calls: int = ENTRIES_PER_CALL) -> Iterator[Entry]:
    since = store.head(session).seq - RECENT - ENTRIES_PER_CALL * calls
    return store.reader.legible(session, since=max(0, since))
