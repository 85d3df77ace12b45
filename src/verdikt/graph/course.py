"""What a session remembers of its actions, from one evaluation to the next."""

from __future__ import annotations

from verdikt.model.session import HISTORY
from verdikt.model.verdict import VerdictKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from verdikt.graph.context import GovernanceContext
    from verdikt.model.action import Action
    from verdikt.model.session import SessionState
    from verdikt.model.verdict import Verdict

RISK_KEPT = 0.8
"""What is left of a session's risk at its next action: legitimate probing must not end in a standstill."""

_WORDS = tuple(kind.word for kind in VerdictKind)


def entry_of(action: Action) -> dict[str, Any]:
    """What a session remembers of an action: no command and no content, which may hold secrets."""
    tool, call = str(action.tool)[:200], str(action.call_id)[:200]
    return {"kind": str(action.kind), "tool": tool, "path": action.path[:400], "call_id": call}


def remember(session: SessionState, ctx: GovernanceContext, verdict: Verdict) -> None:
    """Counts the verdict in the session. `success` is None until the outcome is known."""
    session.risk = ctx.risk_score
    if verdict.kind is VerdictKind.BLOCK:
        session.block_count += 1
        session.consecutive_blocks += 1
    else:
        session.consecutive_blocks = 0
    entry = entry_of(ctx.action)
    entry["verdict"], entry["guard"], entry["success"] = _WORDS[verdict.kind], verdict.guard, None
    session.history.append(entry)
    if len(session.history) > HISTORY:
        del session.history[:-HISTORY]


def latest(history: list[dict[str, Any]], action: Action) -> int | None:
    """Where the newest remembered evaluation of this action stands whose outcome is not known yet."""
    entry = entry_of(action)
    for at in range(len(history) - 1, -1, -1):
        there = history[at]
        if there["success"] is None and all(there[key] == value for key, value in entry.items()):
            return at
    return None
