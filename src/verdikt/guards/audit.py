"""A guard that records every action for a later audit."""

from collections import deque
from collections.abc import Callable
from typing import Annotated, Any

from verdikt.graph.context import AUDIT, GovernanceContext
from verdikt.graph.guard import BaseGuard
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action
from verdikt.model.verdict import Verdict, VerdictKind

Sink = Callable[[dict[str, Any]], None]


class AuditGuard(BaseGuard):
    """Records every action with the verdicts of the guards before it, and passes. Stores no command or content.

    Under hooks the records are in the log, as `audit` of each decision.
    """

    name = "audit"
    governance_layer = GovernanceLayer.OBSERVE

    def __init__(
        self,
        *,
        keep: Annotated[int, "newest records kept in memory"] = 1000,
        sink: Annotated[Sink | None, "function that is given every record"] = None,
    ) -> None:
        self.records: deque[dict[str, Any]] = deque(maxlen=keep)
        self._sink = sink

    def check(self, action: Action, ctx: GovernanceContext | None = None) -> Verdict:
        """Record the action and return a pass."""
        ctx = ctx or GovernanceContext(action)
        strictest = max((verdict.kind for verdict in ctx.verdicts), default=VerdictKind.PASS)
        record = {
            "session_id": action.session_id,
            "number": ctx.session.action_count,
            "now": ctx.now,
            "kind": str(action.kind),
            "tool": action.tool,
            # Bounded: the records stay in memory, and the agent chooses the path.
            "path": action.path[:400],
            "effects": [str(cls) for cls in ctx.effects.classes],
            "risk": ctx.risk_score,
            "strictest": strictest.word,
            "guards": [verdict.guard for verdict in ctx.verdicts if verdict.kind is strictest],
        }
        self.records.append(record)
        # A hook's process ends with the decision, and its memory too: the flow writes these into the log.
        ctx.annotations.setdefault(AUDIT, []).append(record)
        if self._sink is not None:
            self._sink(record)
        return Verdict.pass_(guard=self.name)
