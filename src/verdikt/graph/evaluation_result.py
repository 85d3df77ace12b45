"""The result of one evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext, TraceEntry
    from verdikt.model.verdict import Verdict


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """The verdict of the whole graph with its context and trace. True only if the action may proceed."""

    verdict: Verdict
    context: GovernanceContext

    def __bool__(self) -> bool:
        return self.verdict.passed

    @property
    def passed(self) -> bool:
        """Whether the action may proceed without a confirmation."""
        return self.verdict.passed

    @property
    def reason(self) -> str:
        """The reason of the guard that decided."""
        return self.verdict.reason

    @property
    def fix(self) -> str:
        """What to do instead, from the guard that decided."""
        return self.verdict.fix

    @property
    def fixes(self) -> tuple[str, ...]:
        """What to do instead, from every guard that objected, the deciding one first."""
        objections = sorted(self.objections, key=lambda verdict: -verdict.kind)
        return tuple(dict.fromkeys(v.fix for v in (self.verdict, *objections) if v.fix))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The reasons of warnings, and of OBSERVE guards that failed."""
        return tuple(v.reason for v in self.context.verdicts if v.kind is VerdictKind.WARN or (v.passed and v.error))

    @property
    def trace(self) -> list[TraceEntry]:
        """Every node that was evaluated, each above its children."""
        return self.context.trace

    @property
    def objections(self) -> list[Verdict]:
        """The verdicts that were not overruled."""
        return list_objections(self.trace)


def list_objections(trace: list[TraceEntry]) -> list[Verdict]:
    """Return the verdicts that were not overruled: at each node, those of children no stricter than the node itself."""
    objections: list[Verdict] = []
    # The kind of each node above the current one, or None below a node that was overruled.
    path: list[VerdictKind | None] = []
    for entry in trace:
        del path[entry.depth :]
        above = path[-1] if path else VerdictKind.BLOCK
        overruled = above is None or entry.verdict.kind > above
        path.append(None if overruled else entry.verdict.kind)
        if not overruled:
            objections.append(entry.verdict)
    return objections
