"""The state of one evaluation, which the nodes of the graph share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from verdikt.model.effect import Effects
from verdikt.model.posture import Posture
from verdikt.model.session_state import SessionState

if TYPE_CHECKING:
    from verdikt.model.action import Action
    from verdikt.model.facts import Facts
    from verdikt.model.verdict import Verdict


AUDIT = "audit"
"""The annotation under which `audit` guards leave their records for the log."""


class TraceEntry(NamedTuple):
    """One node of the graph and its verdict, in evaluation order; `depth` is its distance from the root."""

    node: str
    verdict: Verdict
    depth: int = 0


@dataclass(slots=True)
class GovernanceContext:
    """The state of one evaluation: earlier guards write annotations and risk, later guards read them."""

    action: Action
    session: SessionState = field(default_factory=SessionState)
    effects: Effects = field(default_factory=Effects)
    facts: Facts | None = None
    posture: Posture = Posture.INTERACTIVE
    now: float = 0.0
    verdicts: list[Verdict] = field(default_factory=list)
    annotations: dict[str, Any] = field(default_factory=dict)
    risk_score: float = 0.0
    trace: list[TraceEntry] = field(default_factory=list)
    classified: bool = False
    """Whether the effects are known. If not, empty effects mean that nothing is known, not that nothing happens."""
    thorough: bool = False
    """Whether `short_circuit` is ignored, because a child that is skipped may hold a red line.

    `Escalate` sets it, and `decide` when there are grants.
    """

    def add_risk(self, amount: float) -> None:
        """Raise the risk of this evaluation; it stays within [0, 1]."""
        # Written with `not`, because NaN compares false with everything.
        if not amount >= 0:
            raise ValueError(f"expected a risk of 0 or more, found {amount}")
        self.risk_score = min(1.0, self.risk_score + amount)
