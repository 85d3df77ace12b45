"""The guard protocol: one primitive, `check(action[, ctx]) → Verdict`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from verdikt.layers import GovernanceLayer

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.model.action import Action
    from verdikt.model.verdict import Verdict


@runtime_checkable
class Guard(Protocol):
    """Any object with a `name` and a `check` of one or two arguments."""

    @property
    def name(self) -> str:
        """The guard's name in verdicts and traces."""

    @property
    def check(self) -> Callable[..., Verdict]:
        """Return the verdict; called as `check(action)` or `check(action, ctx)`."""


@runtime_checkable
class PolicyNode(Protocol):
    """Any node of the graph: a combinator, a rule set, or a guard in its `GuardNode`."""

    @property
    def name(self) -> str:
        """The node's name in traces."""

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """Return the node's verdict and append it to `ctx.trace`; leaves also append it to `ctx.verdicts`."""


class BaseGuard:
    """A guard by inheritance: a subclass defines `name` and `check(action, ctx)`."""

    name: Any = "guard"
    governance_layer: ClassVar[GovernanceLayer] = GovernanceLayer.INTENT
    uses_effects: bool = True
    """False promises that `check` reads neither effects nor facts, so that they need not be computed."""

    def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
        """Return the verdict on one action, without I/O or clock: facts about the world are in `ctx`."""
        raise TypeError(f"guard `{self.name}` defines no `check`")


def takes_context(check: Callable[..., object]) -> bool:
    """Return whether `check` takes the context as its second argument, by its signature and never by trying."""
    try:
        parameters = list(inspect.signature(check).parameters.values())
    except (TypeError, ValueError):
        # Some callables written in C have no signature; the documented form takes the context.
        return True
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) >= 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)
