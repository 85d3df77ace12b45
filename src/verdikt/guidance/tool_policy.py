"""Tool policies: what must have happened before a tool may be used. The protocol, and the policy as a guard."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from verdikt.graph.context import GovernanceContext
from verdikt.graph.guard import BaseGuard
from verdikt.guidance.memory import Memory
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action, Outcome
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts
from verdikt.model.verdict import Verdict

DENIED = "Denied by policy."


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """Whether a call may go on, and if not, why."""

    allowed: bool
    reason: str | None = None

    @classmethod
    def allow(cls) -> "PolicyDecision":
        """It may."""
        return cls(True)

    @classmethod
    def deny(cls, reason: str) -> "PolicyDecision":
        """It may not."""
        return cls(False, reason)


@dataclass(frozen=True, slots=True)
class PolicyState:
    """What a policy knows of a session: the tools that succeeded, and the (tool, key) pairs that did."""

    policy_name: str
    invoked_tools: frozenset[str] = frozenset()
    invoked_keys: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyContext:
    """What a policy may look at: the session's memory, the filesystem (None where there is none), effects and the time."""

    memory: Memory = field(default_factory=Memory)
    filesystem: Facts | None = None
    effects: Effects = field(default_factory=Effects)
    action: Action | None = None
    now: float = 0.0


@runtime_checkable
class ToolPolicy(Protocol):
    """A dependency between tool calls."""

    @property
    def name(self) -> str:
        """What denials call it."""
        ...

    def check(self, tool: str, params: Mapping[str, Any], *, context: PolicyContext) -> PolicyDecision:
        """Whether this call may be made now."""
        ...

    def on_result(self, tool: str, params: Mapping[str, Any], result: Outcome, *, context: PolicyContext) -> None:
        """Takes note of a call that succeeded; what must be remembered goes into `context.memory`."""
        ...


class ToolPolicyGuard(BaseGuard):
    """A tool policy as a guard, so that it can stand anywhere in the graph. Denied is blocked; without facts it is denied too."""

    governance_layer: ClassVar[GovernanceLayer] = GovernanceLayer.RESOURCE

    def __init__(self, policy: ToolPolicy) -> None:
        self.policy = policy
        self.name = policy.name

    def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
        """The policy's decision as a verdict."""
        kept = ctx.facts.kept if ctx.facts is not None else lambda key: None
        context = PolicyContext(
            memory=Memory(_Asking(kept)), filesystem=ctx.facts, effects=ctx.effects, action=action, now=ctx.now
        )
        params = action.payload if isinstance(action.payload, Mapping) else {}
        decision = self.policy.check(action.tool, params, context=context)
        if decision.allowed:
            return Verdict.pass_(guard=self.name)
        fix = getattr(self.policy, "fix", "") or "do first what the policy asks for, then try again"
        return Verdict.block(guard=self.name, reason=decision.reason or DENIED, fix=fix)


class _Asking(Mapping[str, Any]):
    """A session's keys, each asked for once and recorded with the decision."""

    def __init__(self, kept: Any) -> None:
        self._kept = kept

    def __getitem__(self, key: str) -> Any:
        return self._kept(key)

    def get(self, key: str, default: Any = None) -> Any:
        """What is kept under a key."""
        value = self._kept(key)
        return default if value is None else value

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0
