"""Calls that were allowed and whose outcome was never reported, and calls that ran without a decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from verdikt.model.entry import EntryKind

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.model.entry import Entry
    from verdikt.model.hook_message import Turn

# A gap entry names so many calls; a turn without any outcome would otherwise repeat all of it.
_MAX_CALLS = 20


def record_uncovered_calls(store: FileStore, turn: Turn) -> None:
    """Record a gap for calls of this turn without a reported outcome, and for calls that ran without a decision."""
    since = (store.read_projection("evidence", turn.session_id) or {}).get("turn", 0)
    read_turn = partial(store.read_entries, turn.session_id, since=since)
    if unreported := find_unreported_calls(read_turn()):
        store.append(turn.session_id, EntryKind.GAP, {"moment": "stop", "unreported": unreported})
    if turn.executed and (undecided := find_undecided_calls(read_turn(), turn.executed)):
        store.append(turn.session_id, EntryKind.GAP, {"moment": "stop", "undecided": undecided})


def find_unreported_calls(entries: Iterable[Entry]) -> list[dict[str, str]]:
    """Return the calls of these entries that passed and have neither an outcome nor an earlier gap, oldest first.

    The host may have asked a person who said no, so a call that was asked about is left out.
    """
    pending: dict[tuple[str, str], dict[str, str]] = {}
    for entry in entries:
        if entry.kind is EntryKind.DECISION:
            receipt = entry.body.get("receipt")
            if isinstance(receipt, Mapping) and receipt.get("verdict", {}).get("kind") in ("pass", "warn"):
                call = _describe_call(receipt.get("action", {}).get("tool"), entry.body.get("call_id"))
                pending[call["tool"], call["call_id"]] = call
        elif entry.kind is EntryKind.TOOL_CALL:
            call = _describe_call(entry.body.get("tool"), entry.body.get("call_id"))
            pending.pop((call["tool"], call["call_id"]), None)
        elif entry.kind is EntryKind.GAP:
            for call in entry.body.get("unreported") or ():
                pending.pop((call["tool"], call["call_id"]), None)
    return list(pending.values())[:_MAX_CALLS]


def find_undecided_calls(entries: Iterable[Entry], executed: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the executed calls (call id → tool) that these entries neither decide nor already name in a gap."""
    known: set[str] = set()
    for entry in entries:
        if entry.kind is EntryKind.DECISION:
            known.add(str(entry.body.get("call_id")))
        elif entry.kind is EntryKind.GAP:
            known |= {call["call_id"] for call in entry.body.get("undecided") or ()}
    calls = [_describe_call(tool, call_id) for call_id, tool in executed.items() if call_id not in known]
    return [call for call in calls if call["call_id"] not in known][:_MAX_CALLS]


def _describe_call(tool: Any, call_id: Any) -> dict[str, str]:
    return {"tool": str(tool or "")[:200], "call_id": str(call_id or "")[:200]}
