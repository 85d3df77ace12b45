"""What flows through the graph while one action is evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verdikt.model.effect import Effects
from verdikt.model.posture import Posture
from verdikt.model.session_state import SessionState

if TYPE_CHECKING:
    from verdikt.model.action import Action
    from verdikt.model.facts import Facts
    from verdikt.model.verdict import Verdict


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """One node of the graph and what it said, in evaluation order; `depth` is how far below the root it stands."""

    node: str
    verdict: Verdict
    depth: int = 0


@dataclass(slots=True)
class GovernanceContext:
    """State of one evaluation: earlier guards write annotations and risk, later guards read them."""

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
    """Whether somebody told the effects; when not, no effects means nothing is known, rather than that nothing happens."""
    thorough: bool = False
    """Under `Escalate` no child is left out to save time, because a red line may stand behind it."""

    def add_risk(self, amount: float) -> None:
        """Raises the risk of this evaluation; it stays within [0, 1]."""
        if not amount >= 0:  # nor is what is no number
            raise ValueError(f"expected a risk of 0 or more, found {amount}")
        self.risk_score = min(1.0, self.risk_score + amount)
