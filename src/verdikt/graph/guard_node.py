"""A guard as a node of the graph: one that fails is a block here, as a rule that fails is in `rule.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verdikt.errors import PolicyError
from verdikt.graph.context import TraceEntry
from verdikt.graph.failure import FAILURE_FIX, describe_error
from verdikt.graph.guard import takes_context
from verdikt.layers import GovernanceLayer
from verdikt.model.verdict import Verdict, VerdictKind

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.graph.guard import Guard, PolicyNode
    from verdikt.model.action import Action


@dataclass(frozen=True, slots=True)
class GuardNode:
    """A guard in the graph. If its `check` fails, the verdict is a block, or a pass for an OBSERVE guard."""

    guard: Guard
    name: str
    layer: GovernanceLayer
    check: Callable[..., Verdict]
    contextual: bool

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """Return the guard's verdict and record it in `ctx.verdicts` and `ctx.trace`."""
        try:
            verdict = self.check(action, ctx) if self.contextual else self.check(action)
            if not isinstance(verdict, Verdict):
                verdict = self._make_failure(f"expected a Verdict, found `{type(verdict).__name__}`")
        except (Exception, SystemExit) as error:
            # A guard that calls `sys.exit` must not end the hook with status 0, which a host reads as permission.
            verdict = self._make_failure(describe_error(error))
        ctx.verdicts.append(verdict)
        ctx.trace.append(TraceEntry(self.name, verdict, depth))
        return verdict

    def _make_failure(self, text: str) -> Verdict:
        reason = f"guard `{self.name}` failed: {text}"
        # An observer that crashes must not stop the work; its error mark tells the combinators.
        if self.layer is GovernanceLayer.OBSERVE:
            return Verdict(kind=VerdictKind.PASS, guard=self.name, reason=reason, error=True)
        return Verdict.block(guard=self.name, reason=reason, fix=FAILURE_FIX, error=True)


def to_node(child: PolicyNode | Guard) -> PolicyNode:
    """Return the child as a node. A guard's signature is inspected here, once."""
    # A class has a `check` too, and calling it would raise at every action instead of here.
    if isinstance(child, type):
        raise PolicyError(f"expected a guard, found the class `{child.__name__}`: write `{child.__name__}()`")
    if isinstance(child, GuardNode):
        return child
    if callable(getattr(child, "evaluate", None)) and not callable(getattr(child, "check", None)):
        return child  # type: ignore[return-value]  # a combinator, built in or the user's own
    check = getattr(child, "check", None)
    if not callable(check):
        raise PolicyError(f"expected a guard or a combinator, found `{type(child).__name__}`, which has no `check`")
    name = getattr(child, "name", None)
    if not isinstance(name, str) or not name:
        raise PolicyError(f"expected a guard with a `name`, found `{type(child).__name__}` without one")
    layer = GovernanceLayer(getattr(child, "governance_layer", GovernanceLayer.INTENT))
    return GuardNode(child, name, layer, check, takes_context(check))  # type: ignore[arg-type]
