"""Tool policies: what must have happened before a tool may be used. The protocol, and the policy as a guard."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

from verdikt.graph.context import GovernanceContext
from verdikt.graph.guard import BaseGuard
from verdikt.guidance.audience import Audience
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action, Outcome
from verdikt.model.effect import Effects
from verdikt.model.facts import Facts
from verdikt.model.session_state import MEMORY_SCOPES, Memory, to_shared_key
from verdikt.model.verdict import Verdict

DEFAULT_REASON = "Denied by policy."


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """Whether a call may go on, and if not, why."""

    allowed: bool
    reason: str | None = None

    @classmethod
    def allow(cls) -> "PolicyDecision":
        """Return a decision that allows the call."""
        return cls(True)

    @classmethod
    def deny(cls, reason: str) -> "PolicyDecision":
        """Return a decision that denies the call."""
        return cls(False, reason)


@dataclass(frozen=True, slots=True)
class PolicyState:
    """What a policy knows of a session: the tools that succeeded, and the (tool, key) pairs that did."""

    policy_name: str
    invoked_tools: frozenset[str] = frozenset()
    invoked_keys: frozenset[tuple[str, str]] = frozenset()


@dataclass(kw_only=True)
class PolicyContext:
    """What a policy may look at: the session's memory, the filesystem (None: there is none), effects and time.

    Effects are classified, and the time is read, only when a policy asks for them.
    """

    memory: Memory = field(default_factory=Memory)
    filesystem: Facts | None = None
    action: Action | None = None
    timestamp: float | None = None
    classify: Callable[[], Effects] = Effects

    @cached_property
    def effects(self) -> Effects:
        """Return the effects of the call."""
        return self.classify()

    @property
    def now(self) -> float:
        """Return the seconds since the epoch."""
        if self.timestamp is not None:
            return self.timestamp
        return self.filesystem.now if self.filesystem is not None else 0.0


@runtime_checkable
class ToolPolicy(Protocol):
    """A dependency between tool calls."""

    @property
    def name(self) -> str:
        """Return the name used in denials."""
        ...

    def check(self, tool: str, params: Mapping[str, Any], *, context: PolicyContext) -> PolicyDecision:
        """Return whether this call may be made now."""
        ...

    def on_result(self, tool: str, params: Mapping[str, Any], result: Outcome, *, context: PolicyContext) -> None:
        """Record a call that succeeded; what must be remembered goes into `context.memory`."""
        ...


class ToolPolicyGuard(BaseGuard):
    """A tool policy as a guard, usable anywhere in the graph. A denial blocks, and so does a policy that fails."""

    governance_layer: ClassVar[GovernanceLayer] = GovernanceLayer.RESOURCE

    def __init__(self, policy: ToolPolicy, scope: Audience | None = None, *, lasting: str = MEMORY_SCOPES[0]) -> None:
        self.policy = policy
        self.scope = scope or Audience()
        self.lasting = lasting
        """How long the policy remembers: for a session, in the project, or for the user."""
        self.name = policy.name

    def check(self, action: Action, ctx: GovernanceContext) -> Verdict:
        """Return the policy's decision as a verdict."""
        if not self.applies_to(action):
            return Verdict.pass_(guard=self.name)
        context = PolicyContext(
            memory=Memory(_FactsMapping(ctx.facts, self.lasting)),
            filesystem=ctx.facts,
            action=action,
            classify=lambda: ctx.effects,
        )
        decision = self.policy.check(action.tool, get_parameters(action), context=context)
        # `is True`: a user's policy that returns anything else must not pass by accident.
        if decision.allowed is True:
            return Verdict.pass_(guard=self.name)
        fix = getattr(self.policy, "fix", "") or "do first what the policy asks for, then try again"
        return Verdict.block(guard=self.name, reason=decision.reason or DEFAULT_REASON, fix=fix)

    def applies_to(self, action: Action) -> bool:
        """Return whether the policy applies to this call's agent, prompt and tool."""
        return self.scope.covers(agent=action.agent, prompt=action.task_type, tool=action.tool)


def get_parameters(action: Action) -> dict[str, Any]:
    """Return a call's arguments; empty when they are not a mapping."""
    # A host may send any JSON as arguments.
    return dict(action.payload) if isinstance(action.payload, Mapping) else {}


class _FactsMapping(Mapping[str, Any]):
    """A session's memory, in which each key that is read is recorded with the decision."""

    def __init__(self, facts: Facts | None, lasting: str) -> None:
        self._facts = facts
        self._lasting = lasting

    def __getitem__(self, key: str) -> Any:
        key = key if self._lasting == MEMORY_SCOPES[0] else to_shared_key(self._lasting, key)
        value = None if self._facts is None else self._facts.memory_value(key)
        if value is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
