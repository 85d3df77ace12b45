"""What remains of a policy's objection after what people said about the call: grants, approvals, an earlier answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from verdikt.graph.evaluation_result import list_objections
from verdikt.graph.verdict_order import strictest_verdict
from verdikt.model.approval import describe_needs
from verdikt.model.grant import find_covering_grant
from verdikt.model.verdict import Verdict, VerdictKind

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.model.approval import ApprovalAnswer
    from verdikt.model.grant import Grant
    from verdikt.model.standing_ask import StandingAsk


class SettledVerdict(NamedTuple):
    """The verdict after the operator's grants, and that after every person's answer."""

    granted: Verdict
    answered: Verdict


def settle_verdict(
    ruled: Verdict,
    ctx: GovernanceContext,
    grants: tuple[Grant, ...],
    approval: ApprovalAnswer | None,
    standing: StandingAsk | None,
) -> SettledVerdict:
    """Return what remains of the policy's verdict. A red line, and a check that failed, remain as they are."""
    granted = _apply_grants(ruled, ctx, grants) if grants else ruled
    is_granted = granted.passed and not ruled.passed
    answered = _apply_approval(granted, approval) if granted.approvals or approval else granted
    if standing is not None:
        # After the approval: the person whom an SDK asked is not the group that the rule names.
        answered = _apply_standing_ask(answered, standing, is_granted=is_granted)
    return SettledVerdict(granted, answered)


def _apply_grants(ruling: Verdict, ctx: GovernanceContext, grants: tuple[Grant, ...]) -> Verdict:
    """Return what remains of the policy's verdict when objections that a grant covers are lifted."""
    if ctx.facts is None:
        return ruling
    # All objections, not only the deciding one: a grant for one guard must not silence the others.
    objections = [verdict for verdict in (ruling, *list_objections(ctx.trace)) if not verdict.passed]
    covers = [find_covering_grant(grants, verdict, ctx.action, ctx.facts.now, ctx.effects) for verdict in objections]
    uncovered = [verdict for verdict, grant in zip(objections, covers, strict=True) if grant is None]
    if uncovered or covers[0] is None:
        return strictest_verdict(uncovered)
    reason = f"{ruling.reason}; let through by the operator's grant `{covers[0].id}`: {covers[0].reason}"
    return Verdict.warn(guard=ruling.guard, reason=reason, fix=ruling.fix)


def _apply_approval(verdict: Verdict, answer: ApprovalAnswer | None) -> Verdict:
    """Return the verdict on a call that needs approvals, after what people answered away from the terminal.

    Without an answer, an ask that the prompt of a host cannot settle is a block: the person there is not enough. An
    answer counts for an ask without needs as well: where no person was at hand, a service has asked instead.
    """
    if verdict.kind is not VerdictKind.ASK or (not verdict.approvals and answer is None):
        return verdict
    if answer is not None and answer.approved:
        return Verdict.warn(
            guard=verdict.guard, reason=f"approved by {', '.join(answer.by)} ({answer.id}): {verdict.reason}"
        )
    if answer is not None:
        because = f": {answer.reason}" if answer.reason else ""
        return Verdict.block(
            guard=verdict.guard,
            reason=f"refused by {', '.join(answer.by)}{because} (approval {answer.id}); {verdict.reason}",
            fix="do not try it again; go on without it, or ask what to do instead",
        )
    if all(need.is_answered_at_terminal for need in verdict.approvals):
        return verdict
    return Verdict.block(
        guard=verdict.guard,
        reason=f"{verdict.reason}; this needs an approval by {describe_needs(verdict.approvals)}",
        fix=verdict.fix,
        approvals=verdict.approvals,
    )


def _apply_standing_ask(verdict: Verdict, ask: StandingAsk, *, is_granted: bool) -> Verdict:
    """Return the verdict on a call about which a person was asked before.

    A no stays a block, whatever the policy says now. A yes lifts an ask and nothing stricter. Without an answer, the
    call stays asked, unless an operator's grant covers it.
    """
    if ask.is_rejected and verdict.kind is not VerdictKind.BLOCK:
        return Verdict.block(
            guard=ask.guard,
            reason=f"a person said no: {ask.reason}",
            fix="do not try it again; go on without it, or ask what to do instead",
        )
    if ask.approved and verdict.kind is VerdictKind.ASK:
        person = f"`{ask.by}`" if ask.by else "a person"
        return Verdict.warn(guard=verdict.guard, reason=f"approved by {person}: {verdict.reason}")
    if ask.approved is None and verdict.passed and not is_granted:
        # The policy may have become looser meanwhile; the person has the question before them all the same.
        return Verdict.ask(guard=ask.guard, reason=ask.reason, fix=ask.fix)
    return verdict
