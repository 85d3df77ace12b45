"""What a session has done so far, folded from its decisions and their outcomes; and the posture it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdikt.ledger.projection import Projection
from verdikt.model.action import extract_path
from verdikt.model.entry import EntryKind
from verdikt.model.session_state import MAX_HISTORY

if TYPE_CHECKING:
    from verdikt.model.entry import Entry


def _fold_session(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Counters, risk, guards' slots and the newest actions of a session, from its decisions and their outcomes."""
    if entry.kind is EntryKind.TOOL_CALL:
        return {**state, "history": _set_outcome(state["history"], entry.body)}
    receipt = entry.body.get("receipt", {})
    if "verdict" not in receipt or "after" not in receipt:
        # An entry that another program wrote: its chain may hold, but it tells nothing about the session.
        return {**state, "action_count": state["action_count"] + 1}
    verdict, after = receipt["verdict"], receipt["after"]
    blocked = verdict["kind"] == "block"
    action = receipt["action"]
    newest = {
        "kind": action["kind"],
        "tool": str(action["tool"])[:200],
        "path": extract_path(action["payload"])[:400],
        "call_id": str(entry.body.get("call_id", ""))[:200],
        "verdict": verdict["kind"],
        "guard": verdict["guard"],
        "success": None,
    }
    return {
        "action_count": state["action_count"] + 1,
        "block_count": state["block_count"] + blocked,
        "consecutive_blocks": state["consecutive_blocks"] + 1 if blocked else 0,
        "risk": after["risk"],
        "history": [*state["history"], newest][-MAX_HISTORY:],
        "slots": after.get("slots", state["slots"]),
    }


def _set_outcome(history: list[dict[str, Any]], call: Any) -> list[dict[str, Any]]:
    """The history with this call's outcome at the newest action that it can belong to."""
    for at in range(len(history) - 1, -1, -1):
        there = history[at]
        if there["success"] is None and there["tool"] == call.get("tool") and there["call_id"] == call.get("call_id"):
            return [*history[:at], {**there, "success": bool(call.get("success"))}, *history[at + 1 :]]
    return history


def _fold_posture(state: str, entry: Entry) -> str:
    return str(entry.body.get("after", state))


SESSION = Projection(
    name="session",
    initial={
        "action_count": 0,
        "block_count": 0,
        "consecutive_blocks": 0,
        "risk": 0.0,
        "history": [],
        "slots": {},
    },
    fold=_fold_session,
    kinds=frozenset({EntryKind.DECISION, EntryKind.TOOL_CALL}),
)
POSTURE = Projection(name="posture", initial="", fold=_fold_posture, kinds=frozenset({EntryKind.POSTURE}))
