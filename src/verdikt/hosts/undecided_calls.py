"""Which calls the log has a decision for: what a client runs without having asked must not go unnoticed."""

from collections.abc import Iterator, Mapping
from typing import Any

from verdikt.hosts.host_decision import TEXT_MARK
from verdikt.ledger.files import FileStore
from verdikt.model.action import Action, action_to_record
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.redaction import redact_action, redact_text

RECENT_ENTRIES = 64
ENTRIES_PER_CALL = 16
"""How many entries of a session are looked at, from its end: enough for one batch of calls, however long the session."""

_NOT_RUN_PREFIXES = ("<tool_use_error>", "PreToolUse:", TEXT_MARK)
"""How the answer to a call begins that Claude Code could not make, or that a hook of its kind, or this one, refused."""


def find_decision(action: Action, store: FileStore) -> Mapping[str, Any] | None:
    """The verdict on this very call, while its outcome is not known yet; None when nothing was decided."""
    record = action_to_record(redact_action(action)[0])
    wanted = (record["tool"], encode_canonical(record["payload"]))
    verdict = None
    for entry in _read_recent_entries(store, action.session_id):
        if entry.kind is EntryKind.DECISION and _to_call_key(entry.body["receipt"].get("action")) == wanted:
            verdict = entry.body["receipt"].get("verdict")
        elif entry.kind is EntryKind.TOOL_CALL and _to_call_key(entry.body) == wanted:
            verdict = None  # that call is over, and this is another one like it
    return verdict if isinstance(verdict, Mapping) else None


def find_undecided_calls(calls: object, session_id: str, store: FileStore) -> list[str]:
    """Those of a batch of calls that ran and that no decision covers, in words for a person."""
    ran = [call for call in calls if _has_run(call)] if isinstance(calls, list) else []
    if not ran:
        return []
    found = _read_recent_entries(store, session_id, call_count=len(ran))
    decided = {entry.body.get("call_id") for entry in found if entry.kind is EntryKind.DECISION}
    return [
        f"`{redact_text(str(call.get('tool_name', '')))[0][:80]}` ran without a decision"
        for call in ran
        if call["tool_use_id"] not in decided
    ]


def _has_run(call: object) -> bool:
    if not isinstance(call, Mapping) or not isinstance(call.get("tool_use_id"), str):
        return False
    response = call.get("tool_response")
    return not (isinstance(response, str) and response.startswith(_NOT_RUN_PREFIXES))


def _to_call_key(record: object) -> tuple[str, bytes]:
    """What is called with what, comparable."""
    found = record if isinstance(record, Mapping) else {}
    return str(found.get("tool", "")), encode_canonical(found.get("payload"))


def _read_recent_entries(store: FileStore, session_id: str, *, call_count: int = ENTRIES_PER_CALL) -> Iterator[Entry]:
    since = store.read_head(session_id).seq - RECENT_ENTRIES - ENTRIES_PER_CALL * call_count
    return store.reader.read_intact_entries(session_id, since=max(0, since))
