"""A guard as a node of the graph, and the one place where a guard's failure stops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verdikt.errors import PolicyError
from verdikt.graph.context import TraceEntry
from verdikt.graph.guard import takes_context
from verdikt.layers import GovernanceLayer
from verdikt.model.verdict import Verdict, VerdictKind

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.graph.guard import Guard, PolicyNode
    from verdikt.model.action import Action

FAILURE_FIX = "report this to whoever keeps the policy; the action can be tried again once it works"
"""What to do about a failure that the agent cannot mend itself."""

_MAX_ERROR_LENGTH = 300
"""Characters of an exception's text that a reason may hold."""


@dataclass(frozen=True, slots=True)
class GuardNode:
    """A guard in the graph. However its `check` fails, the leaf gives a verdict: a block, or below OBSERVE a pass."""

    guard: Guard
    name: str
    layer: GovernanceLayer
    check: Callable[..., Verdict]
    contextual: bool

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """The guard's verdict, kept in `ctx.verdicts` and `ctx.trace`."""
        try:
            verdict = self.check(action, ctx) if self.contextual else self.check(action)
            if not isinstance(verdict, Verdict):
                verdict = self._make_failure(f"expected a Verdict, found `{type(verdict).__name__}`")
        except (Exception, SystemExit) as error:  # a guard that exits must not end the process with status 0
            verdict = self._make_failure(describe_error(error))
        ctx.verdicts.append(verdict)
        ctx.trace.append(TraceEntry(self.name, verdict, depth))
        return verdict

    def _make_failure(self, text: str) -> Verdict:
        reason = f"guard `{self.name}` failed: {text}"
        if self.layer is GovernanceLayer.OBSERVE:
            return Verdict(kind=VerdictKind.PASS, guard=self.name, reason=reason, error=True)
        return Verdict.block(guard=self.name, reason=reason, fix=FAILURE_FIX, error=True)


def to_node(child: PolicyNode | Guard) -> PolicyNode:
    """The child as a node: a guard gets its leaf, where the number of arguments of its `check` is told once."""
    if isinstance(child, type):
        raise PolicyError(f"expected a guard, found the class `{child.__name__}`: write `{child.__name__}()`")
    if isinstance(child, GuardNode):
        return child
    if callable(getattr(child, "evaluate", None)) and not callable(getattr(child, "check", None)):
        return child  # type: ignore[return-value]
    check = getattr(child, "check", None)
    if not callable(check):
        raise PolicyError(f"expected a guard or a combinator, found `{type(child).__name__}`, which has no `check`")
    name = getattr(child, "name", None)
    if not isinstance(name, str) or not name:
        raise PolicyError(f"expected a guard with a `name`, found `{type(child).__name__}` without one")
    layer = GovernanceLayer(getattr(child, "governance_layer", GovernanceLayer.INTENT))
    return GuardNode(child, name, layer, check, takes_context(check))  # type: ignore[arg-type]


def describe_error(error: BaseException) -> str:
    """An exception for a reason: its kind and its text, on one line and not too long, even if it cannot print itself."""
    kind = type(error).__name__
    try:
        text = " ".join(str(error).split())
    except Exception:
        return kind
    if len(text) > _MAX_ERROR_LENGTH:
        text = text[:_MAX_ERROR_LENGTH] + "…"
    return f"{kind}: {text}" if text else kind
