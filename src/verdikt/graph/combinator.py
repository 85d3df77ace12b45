"""The six combinators. Each is a node made of nodes, and its verdict follows from theirs.

Over the lattice pass < warn < ask < block, `All` is the strictest of its children, `Any` the most lenient, and
`Threshold(n, …)` the n-th most lenient, so that `All` is n-of-n and `Any` is 1-of-n.

A failed OBSERVE guard is ignored where a pass means "no objection" (`All`), and counts as a block where a pass would
be a permission (`Any`, `Threshold`, `Not`, the fallback of `Escalate`): a crash never becomes permission.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verdikt.errors import PolicyError
from verdikt.graph.context import TraceEntry
from verdikt.graph.failure import FAILURE_FIX, describe_error
from verdikt.graph.guard import Guard, PolicyNode, takes_context
from verdikt.graph.guard_node import to_node
from verdikt.graph.verdict_order import carry_marks, get_strictness, is_failed_observer, strictest_verdict
from verdikt.model.verdict import Verdict, VerdictKind

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.model.action import Action

Child = PolicyNode | Guard
Condition = Callable[..., object]


@dataclass(frozen=True, slots=True, init=False)
class All:
    """Every child must pass: the verdict of the strictest child, and of equally strict ones the first."""

    children: tuple[PolicyNode, ...]
    short_circuit: bool
    name: str

    def __init__(self, *children: Child, short_circuit: bool = False, name: str = "all") -> None:
        # With no children it would pass everything.
        _assign_fields(self, children=_to_nodes("all", children), short_circuit=short_circuit, name=name)

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """Evaluate every child, or up to the first block when `short_circuit`."""
        trace_start = len(ctx.trace)
        verdicts: list[Verdict] = []
        stops_early = self.short_circuit and not ctx.thorough
        for child in self.children:
            verdict = child.evaluate(action, ctx, depth + 1)
            verdicts.append(verdict)
            if stops_early and verdict.kind is VerdictKind.BLOCK:
                break
        return _record_trace(ctx, trace_start, self.name, strictest_verdict(verdicts), depth)


@dataclass(frozen=True, slots=True, init=False)
class Any:
    """One passing child suffices: the verdict of the most lenient child, and of equally lenient ones the first."""

    children: tuple[PolicyNode, ...]
    short_circuit: bool
    name: str

    def __init__(self, *children: Child, short_circuit: bool = False, name: str = "any") -> None:
        # With no children nothing could ever pass, which is never intended.
        _assign_fields(self, children=_to_nodes("any", children), short_circuit=short_circuit, name=name)

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """Evaluate every child, or up to the first pass when `short_circuit`."""
        return _evaluate_quorum(self, 1, action, ctx, depth)


@dataclass(frozen=True, slots=True, init=False)
class Threshold:
    """At least `n` children must pass: the verdict of the n-th most lenient."""

    n: int
    children: tuple[PolicyNode, ...]
    short_circuit: bool
    name: str

    def __init__(self, n: int, *children: Child, short_circuit: bool = False, name: str = "threshold") -> None:
        nodes = _to_nodes("threshold", children)
        # 0 of m would pass everything, more than m nothing.
        # `True` is an int in Python and a mistake in a policy.
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= len(nodes):
            raise PolicyError(f"`threshold` needs n from 1 to {len(nodes)}, the number of its children, found `{n}`")
        _assign_fields(self, n=n, children=nodes, short_circuit=short_circuit, name=name)

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """Evaluate every child, or up to the n-th pass when `short_circuit`."""
        return _evaluate_quorum(self, self.n, action, ctx, depth)


@dataclass(frozen=True, slots=True, init=False)
class Not:
    """Swaps pass and block; a warn, an ask and an error stay as they are."""

    child: PolicyNode
    name: str
    reason: str
    fix: str

    def __init__(self, child: Child, *, name: str = "not", reason: str = "", fix: str = "") -> None:
        _assign_fields(self, child=to_node(child), name=name, reason=reason, fix=fix)

    @property
    def children(self) -> tuple[PolicyNode, ...]:
        """The one child."""
        return (self.child,)

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """Return the opposite of the child's verdict."""
        trace_start = len(ctx.trace)
        verdict = _to_vote(self.child.evaluate(action, ctx, depth + 1))
        if verdict.kind is VerdictKind.PASS:
            verdict = Verdict.block(
                guard=self.name,
                reason=self.reason or f"`{verdict.guard}` passes this, and `{self.name}` blocks what it passes",
                fix=self.fix or f"choose an action that `{verdict.guard}` does not pass",
            )
        elif verdict.kind is VerdictKind.BLOCK and not verdict.error:
            # A block that stands for a crash stays a block: otherwise breaking a guard would grant permission.
            verdict = Verdict.pass_(guard=self.name, reason=f"`{verdict.guard}` blocks this: {verdict.reason}")
        return _record_trace(ctx, trace_start, self.name, verdict, depth)


@dataclass(frozen=True, slots=True, init=False)
class When:
    """`then` if the condition holds, else `otherwise`; without one it passes. A condition that raises blocks."""

    condition: Condition
    then: PolicyNode
    otherwise: PolicyNode | None
    name: str
    contextual: bool

    def __init__(
        self, condition: Condition, then: Child, otherwise: Child | None = None, *, name: str = "when"
    ) -> None:
        if not callable(condition):
            raise PolicyError(f"`when` needs a condition that can be called, found `{type(condition).__name__}`")
        other = None if otherwise is None else to_node(otherwise)
        contextual = takes_context(condition)
        _assign_fields(self, condition=condition, then=to_node(then), otherwise=other, name=name, contextual=contextual)

    @property
    def children(self) -> tuple[PolicyNode, ...]:
        """The branches."""
        return (self.then,) if self.otherwise is None else (self.then, self.otherwise)

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """Return the verdict of the branch that applies."""
        trace_start = len(ctx.trace)
        try:
            holds = bool(self.condition(action, ctx) if self.contextual else self.condition(action))
        except (Exception, SystemExit) as error:
            # A condition is the user's own code; one that calls `sys.exit` must not end the hook with status 0.
            reason = f"the condition of `{self.name}` failed: {describe_error(error)}"
            return _record_trace(
                ctx,
                trace_start,
                self.name,
                Verdict.block(guard=self.name, reason=reason, fix=FAILURE_FIX, error=True),
                depth,
            )
        branch = self.then if holds else self.otherwise
        if branch is None:
            verdict = Verdict.pass_(guard=self.name, reason="not applicable")
        else:
            verdict = branch.evaluate(action, ctx, depth + 1)
        return _record_trace(ctx, trace_start, self.name, verdict, depth)


@dataclass(frozen=True, slots=True, init=False)
class Escalate:
    """The fallback decides when the primary blocks, unless the block is a red line or stands for a failure."""

    primary: PolicyNode
    fallback: PolicyNode
    name: str

    def __init__(self, primary: Child, fallback: Child, *, name: str = "escalate") -> None:
        _assign_fields(self, primary=to_node(primary), fallback=to_node(fallback), name=name)

    @property
    def children(self) -> tuple[PolicyNode, ...]:
        """Primary and fallback."""
        return (self.primary, self.fallback)

    def evaluate(self, action: Action, ctx: GovernanceContext, depth: int = 0) -> Verdict:
        """Return the primary's verdict, or the fallback's."""
        trace_start = len(ctx.trace)
        # Every child of the primary is evaluated: one that `short_circuit` skips may hold a red line.
        thorough, ctx.thorough = ctx.thorough, True
        verdict = self.primary.evaluate(action, ctx, depth + 1)
        ctx.thorough = thorough
        # A check that failed has not objected: what it would have said is unknown, so nothing is escalated.
        if verdict.kind is VerdictKind.BLOCK and not verdict.red_line and not verdict.error:
            fallback = self.fallback.evaluate(action, ctx, depth + 1)
            verdict = verdict if is_failed_observer(fallback) else carry_marks(fallback, [fallback, verdict])
        return _record_trace(ctx, trace_start, self.name, verdict, depth)


def _assign_fields(value: object, **fields: object) -> None:
    """Set the fields of a frozen value whose constructor takes its children as separate arguments."""
    for name, field in fields.items():
        object.__setattr__(value, name, field)


def _to_nodes(combinator: str, children: tuple[Child, ...]) -> tuple[PolicyNode, ...]:
    if not children:
        raise PolicyError(f"`{combinator}` needs at least one child")
    return tuple(map(to_node, children))


def _record_trace(ctx: GovernanceContext, trace_start: int, name: str, verdict: Verdict, depth: int) -> Verdict:
    """Insert a node into the trace above its children, which were traced first."""
    ctx.trace.insert(trace_start, TraceEntry(name, verdict, depth))
    return verdict


def _to_vote(verdict: Verdict) -> Verdict:
    """Return the verdict for a combinator in which a pass is a permission."""
    if is_failed_observer(verdict):
        return Verdict.block(guard=verdict.guard, reason=verdict.reason, fix=FAILURE_FIX, error=True)
    return verdict


def _evaluate_quorum(
    combinator: Any | Threshold, n: int, action: Action, ctx: GovernanceContext, depth: int
) -> Verdict:
    """Return the n-th most lenient verdict; if it is no pass, with the reasons of all equally strict ones."""
    trace_start = len(ctx.trace)
    verdicts: list[Verdict] = []
    passes = 0
    for child in combinator.children:
        verdict = _to_vote(child.evaluate(action, ctx, depth + 1))
        verdicts.append(verdict)
        passes += verdict.kind is VerdictKind.PASS
        if combinator.short_circuit and passes == n:
            break
    # The sort is stable, so of equally lenient children the first one decides.
    chosen = sorted(verdicts, key=get_strictness)[n - 1]
    if not chosen.passed:
        equally_strict = [verdict for verdict in verdicts if verdict.kind is chosen.kind]
        first = equally_strict[0]
        reasons = "; ".join(dict.fromkeys(verdict.reason for verdict in equally_strict))
        chosen = first if reasons == first.reason else replace(first, reason=reasons)
    return _record_trace(ctx, trace_start, combinator.name, carry_marks(chosen, verdicts), depth)
