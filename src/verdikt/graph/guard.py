"""The guard protocol: one primitive, `check(action[, ctx]) → Verdict`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from verdikt.layers import GovernanceLayer

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.model.action import Action
    from verdikt.model.verdict import Verdict


@runtime_checkable
class Guard(Protocol):
    """Anything with a `name` and a `check` of one or two arguments."""

    @property
    def name(self) -> str:
        """What verdicts and traces call it."""

    @property
    def check(self) -> Callable[..., Verdict]:
        """`check(action)` or `check(action, ctx)`."""


@runtime_checkable
class PolicyNode(Protocol):
    """Any node of the graph: a combinator, or a guard in its leaf."""

    @property
    def name(self) -> str:
        """What the trace calls it."""

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """The node's verdict; leaves also add it to `ctx.verdicts`, every node to `ctx.trace`."""


class BaseGuard:
    """A guard by inheritance: a subclass gives `name` and `check(action, ctx)`."""

    name: Any = "guard"
    governance_layer: ClassVar[GovernanceLayer] = GovernanceLayer.INTENT
    uses_effects: bool = True
    """False promises that `check` looks at neither effects nor facts, so that nobody need tell them."""

    def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
        """The verdict on one action; no I/O, no clock: what is known of the world is in `ctx`."""
        raise TypeError(f"guard `{self.name}` defines no `check`")


def takes_context(check: Callable[..., object]) -> bool:
    """Whether `check` wants the context as its second argument, told from its signature and never by trying."""
    import inspect  # loads a lot, and only a guard that is made need be asked

    try:
        parameters = list(inspect.signature(check).parameters.values())
    except (TypeError, ValueError):
        return True
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) >= 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)
