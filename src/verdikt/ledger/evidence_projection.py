"""Where a session's turn began, what was asked for in it, and how often its claims were refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from verdikt.ledger.projection import Projection
from verdikt.model.entry import EntryKind

if TYPE_CHECKING:
    from verdikt.model.entry import Entry

MAX_COMMANDS = 32
"""Test commands whose number of tests is remembered."""


def _fold_evidence(state: dict[str, Any], entry: Entry) -> dict[str, Any]:
    body = entry.body
    if entry.kind is EntryKind.CONTRACT:
        return {**state, "contract": entry.seq, "open": True}
    if entry.kind is EntryKind.TOOL_CALL:
        best = _update_test_counts(state["best"], body.get("evidence"), is_success=body.get("exit_code") == 0)
        return state if best is state["best"] else {**state, "best": best}
    if body.get("by") != "evidence":
        return state
    if body.get("result") == "refused" and body.get("enforced"):
        counted = {"refusals": int(body.get("refusals", 0)), "progress": str(body.get("progress", ""))}
        return {**state, **counted, "refused": state["refused"] + 1}
    return {**state, "turn": entry.seq, "open": False, "refusals": 0, "progress": "", "refused": 0}


def _update_test_counts(best: dict[str, int], evidence: Any, *, is_success: bool) -> dict[str, int]:
    """The largest number of tests seen green, by command; the newest commands are kept."""
    tests = evidence.get("tests") if isinstance(evidence, Mapping) else None
    if not is_success or not isinstance(tests, Mapping) or tests.get("failed") or not tests.get("total"):
        return best
    for run in evidence.get("runs", ()):
        if run.get("kind") == "test" and run.get("speaks") and not run.get("dry"):
            key = " ".join(run.get("argv", ()))[:400]
            total = max(int(tests["total"]), best.get(key, 0))
            best = {**{name: count for name, count in best.items() if name != key}, key: total}
    return dict(list(best.items())[-MAX_COMMANDS:])


EVIDENCE = Projection(
    name="evidence",
    initial={"turn": 0, "contract": 0, "open": False, "refusals": 0, "refused": 0, "progress": "", "best": {}},
    fold=_fold_evidence,
    kinds=frozenset({EntryKind.CONTRACT, EntryKind.TOOL_CALL, EntryKind.COMPLETION}),
)
"""`turn` is the entry after which the present turn's entries stand; `contract` the newest contract's."""
