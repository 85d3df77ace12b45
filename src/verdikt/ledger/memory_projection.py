"""What guidance needs to know of a session, folded from its entries: what was kept, and how many calls were made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from verdikt.ledger.projection import Projection
from verdikt.model.entry import EntryKind
from verdikt.model.session_state import fold_changes

if TYPE_CHECKING:
    from verdikt.model.entry import Entry

_MAX_NAMES = 64
"""Agents and prompts whose calls are counted by themselves; further ones are counted together."""

_TASK_KINDS = ("agent", "submit_task")


def _fold_memory(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    kept = entry.body.get("kept")
    return fold_changes(state, kept) if isinstance(kept, Mapping) and kept else state


def _fold_calls(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """How many calls were made in all and by whom, how many of them gave work to others, and what the last refusal advised."""
    receipt = entry.body.get("receipt")
    if not isinstance(receipt, Mapping):
        return state
    action, verdict = receipt.get("action") or {}, receipt.get("verdict") or {}
    by = dict(state["by"])
    names = {str(action.get(field) or "")[:80] for field in ("agent", "task_type")} - {""}
    for name in sorted(names):
        counted = name if name in by or len(by) < _MAX_NAMES else ""
        by[counted] = by.get(counted, 0) + 1
    blocked = verdict.get("kind") == "block"
    return {
        "since": state["since"] or entry.timestamp_seconds,
        "count": state["count"] + 1,
        "tasks": state["tasks"] + (action.get("kind") in _TASK_KINDS and not blocked),
        "by": by,
        "fix": str(verdict.get("fix") or "")[:400] if blocked else state["fix"],
    }


MEMORY = Projection(
    name="memory",
    initial={"kept": {}, "marks": ""},
    fold=_fold_memory,
    kinds=frozenset({EntryKind.DECISION, EntryKind.TOOL_CALL, EntryKind.FEEDBACK, EntryKind.COMPLETION}),
    version=2,
)
CALLS = Projection(
    name="calls",
    initial={"since": 0, "count": 0, "tasks": 0, "by": {}, "fix": ""},
    fold=_fold_calls,
    kinds=frozenset({EntryKind.DECISION}),
)
