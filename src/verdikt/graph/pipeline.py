"""A sequence of guards, for policies that need no tree."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from verdikt.errors import PolicyError
from verdikt.graph.context import GovernanceContext, TraceEntry
from verdikt.graph.guard import Guard, PolicyNode
from verdikt.graph.guard_node import to_node
from verdikt.graph.verdict_order import strictest_verdict
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action
from verdikt.model.verdict import Verdict, VerdictKind


@dataclass(frozen=True, slots=True, init=False)
class Pipeline:
    """Guards in the order of their layers; the first block ends it, but OBSERVE guards see every action."""

    children: tuple[PolicyNode, ...]
    name: str

    def __init__(self, guards: Iterable[Guard | PolicyNode], *, name: str = "pipeline") -> None:
        nodes = sorted(map(to_node, guards), key=_get_layer)
        if not nodes:
            # With no guards it would pass everything.
            raise PolicyError("`pipeline` needs at least one guard")
        object.__setattr__(self, "children", tuple(nodes))
        object.__setattr__(self, "name", name)

    def evaluate(self, action: Action, ctx: GovernanceContext | None = None, depth: int = 0) -> Verdict:
        """Return the verdict on an action; the context is optional."""
        ctx = ctx or GovernanceContext(action)
        trace_start = len(ctx.trace)
        verdicts: list[Verdict] = []
        blocked = False
        for child in self.children:
            if blocked and not ctx.thorough and _get_layer(child) is not GovernanceLayer.OBSERVE:
                continue
            verdicts.append(child.evaluate(action, ctx, depth + 1))
            blocked = blocked or verdicts[-1].kind is VerdictKind.BLOCK
        verdict = strictest_verdict(verdicts)
        ctx.trace.insert(trace_start, TraceEntry(self.name, verdict, depth))
        return verdict


def _get_layer(child: Any) -> GovernanceLayer:
    """Return a guard's layer; a combinator has none and is sorted with INTENT."""
    layer: GovernanceLayer = getattr(child, "layer", GovernanceLayer.INTENT)
    return layer
