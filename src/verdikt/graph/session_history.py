"""What a session remembers of its actions, from one evaluation to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdikt.model.session_state import MAX_HISTORY
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.model.action import Action
    from verdikt.model.session_state import SessionState
    from verdikt.model.verdict import Verdict

RISK_DECAY_FACTOR = 0.8
"""What is left of a session's risk at its next action: legitimate probing must not end in a standstill."""

_VERDICT_WORDS = tuple(kind.word for kind in VerdictKind)


def make_history_entry(action: Action) -> dict[str, Any]:
    """What a session remembers of an action: no command and no content, which may hold secrets."""
    tool, call = str(action.tool)[:200], str(action.call_id)[:200]
    return {"kind": str(action.kind), "tool": tool, "path": action.path[:400], "call_id": call}


def record_verdict(session: SessionState, ctx: GovernanceContext, verdict: Verdict) -> None:
    """Counts the verdict in the session. `success` is None until the outcome is known."""
    session.risk = ctx.risk_score
    if verdict.kind is VerdictKind.BLOCK:
        session.block_count += 1
        session.consecutive_blocks += 1
    else:
        session.consecutive_blocks = 0
    entry = make_history_entry(ctx.action)
    entry["verdict"], entry["guard"], entry["success"] = _VERDICT_WORDS[verdict.kind], verdict.guard, None
    session.history.append(entry)
    if len(session.history) > MAX_HISTORY:
        del session.history[:-MAX_HISTORY]


def find_pending_entry(history: list[dict[str, Any]], action: Action) -> int | None:
    """Where the newest remembered evaluation of this action stands whose outcome is not known yet."""
    entry = make_history_entry(action)
    for at in range(len(history) - 1, -1, -1):
        there = history[at]
        if there["success"] is None and all(there[key] == value for key, value in entry.items()):
            return at
    return None
