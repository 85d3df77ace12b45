"""Search of the log for the decision about a call, so that a call that ran without one is noticed."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from verdikt.hosts.host_decision import TEXT_MARK
from verdikt.ledger.files import FileStore
from verdikt.model.action import Action, action_to_record
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.redaction import redact_action, redact_text
from verdikt.model.verdict import VerdictKind

# Only the end of a session is read, so that the cost does not grow with its length.
RECENT_ENTRIES = 64
ENTRIES_PER_CALL = 16

RECENT_SECONDS = 30.0
"""How long a decision counts for the next call that looks the same; a client asks its hook and calls at once."""

_PASSING_WORDS = frozenset((VerdictKind.PASS.word, VerdictKind.WARN.word))

_NOT_RUN_PREFIXES = ("<tool_use_error>", "PreToolUse:", TEXT_MARK)
"""How Claude Code begins the result of a call that it could not make, or that a hook refused."""


def find_decision(
    action: Action, store: FileStore, *, call_id: str = "", other_than: str = ""
) -> Mapping[str, Any] | None:
    """Return the verdict on this call, as long as its outcome is not recorded; None when there is none.

    With `call_id`, only a decision on the call with that id of the host counts; with `other_than`, only one that
    another host than this one asked for, and that has not let a call through yet.
    """
    record = action_to_record(redact_action(action)[0])
    call_key = (record["tool"], encode_canonical(record["payload"]))
    verdict = None
    for entry in _read_recent_entries(store, action.session_id):
        is_other_call = call_id and entry.body.get("call_id") != call_id
        if is_other_call:
            continue
        if entry.kind is EntryKind.DECISION and _to_call_key(entry.body["receipt"].get("action")) == call_key:
            if other_than and entry.body["receipt"]["action"].get("host") == other_than:
                continue
            verdict = entry.body["receipt"].get("verdict")
        elif entry.kind is EntryKind.TOOL_CALL and _to_call_key(entry.body) == call_key:
            verdict = None  # that call has ended; this one is another with the same input
        elif other_than and entry.kind is EntryKind.MCP and entry.body.get("event") == "covered":
            verdict = None  # that call runs; this one is another with the same id
    return verdict if isinstance(verdict, Mapping) else None


def find_unnamed_decision(action: Action, host: str, store: FileStore) -> tuple[str, str] | None:
    """Return session and receipt of a decision by which a host has just let this call through; each counts once.

    For a host that tells a server neither its session nor the call: what it decided on is known by place, tool and
    input. Its asks are refusals.
    """
    key = _to_call_key(action_to_record(redact_action(action)[0]))
    begin = store.clock.now() - RECENT_SECONDS
    for session_id in _list_recent_sessions(store, begin):
        if session_id == action.session_id:
            continue  # the caller's own, which no host has
        receipts: list[str] = []
        for entry in _read_recent_entries(store, session_id):
            decided = entry.body["receipt"].get("action", {}) if entry.kind is EntryKind.DECISION else {}
            if decided.get("host") == host and decided.get("cwd") == action.cwd and _to_call_key(decided) == key:
                is_pass = entry.body["receipt"]["verdict"]["kind"] in _PASSING_WORDS
                receipts += [entry.body["receipt_sha256"]] if is_pass and entry.timestamp_seconds >= begin else []
            elif entry.kind is EntryKind.TOOL_CALL and _to_call_key(entry.body) == key:
                receipts = receipts[1:]  # the end of the oldest of the calls that look the same
            elif entry.kind is EntryKind.MCP and entry.body.get("receipt") in receipts:
                receipts.remove(entry.body["receipt"])
        if receipts:
            return session_id, receipts[0]
    return None


def _list_recent_sessions(store: FileStore, begin: float) -> Iterator[str]:
    """Yield the sessions that were written to since then."""
    for file in store.reader.list_hot_files():
        with suppress(FileNotFoundError):  # archived in between
            if file.stat().st_mtime >= begin and (session_id := store.reader.find_session_id(file.stem)):
                yield session_id


def find_undecided_calls(calls: object, session_id: str, store: FileStore) -> list[str]:
    """Return a message for each call of a batch that ran without a decision."""
    executed_calls = [call for call in calls if _has_run(call)] if isinstance(calls, list) else []
    if not executed_calls:
        return []
    entries = _read_recent_entries(store, session_id, call_count=len(executed_calls))
    # By call id, because a batch often holds the same call twice.
    decided_ids = {entry.body.get("call_id") for entry in entries if entry.kind is EntryKind.DECISION}
    return [
        f"`{redact_text(str(call.get('tool_name', '')))[0][:80]}` ran without a decision"
        for call in executed_calls
        if call["tool_use_id"] not in decided_ids
    ]


def _has_run(call: object) -> bool:
    if not isinstance(call, Mapping) or not isinstance(call.get("tool_use_id"), str):
        return False
    response = call.get("tool_response")
    return not (isinstance(response, str) and response.startswith(_NOT_RUN_PREFIXES))


def _to_call_key(record: object) -> tuple[str, bytes]:
    """Return the tool and its input in a form that can be compared."""
    fields = record if isinstance(record, Mapping) else {}
    return str(fields.get("tool", "")), encode_canonical(fields.get("payload"))


def _read_recent_entries(store: FileStore, session_id: str, *, call_count: int = ENTRIES_PER_CALL) -> Iterator[Entry]:
    since = store.read_head(session_id).seq - RECENT_ENTRIES - ENTRIES_PER_CALL * call_count
    return store.reader.read_intact_entries(session_id, since=max(0, since))
