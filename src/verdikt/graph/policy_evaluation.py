"""What a policy says about one action, and what the accepted and the changed policy say together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from verdikt.model.verdict import VerdictKind, merge_needs

if TYPE_CHECKING:
    from verdikt.graph.context import GovernanceContext
    from verdikt.model.effect import EffectClass
    from verdikt.model.grant import Grant
    from verdikt.model.verdict import Verdict

_BY_ACCEPTED = "the accepted policy says so; the changed one waits for a person to run `verdikt policy accept`"
_BY_CHANGED = "the changed policy says so, which no person has accepted yet"
_BY_BOTH = "so say the accepted policy and the changed one, which waits for `verdikt policy accept`"


class PolicyEvaluation(NamedTuple):
    """What a policy says about an action: `ruled` by itself, `granted` after grants, `verdict` after the posture."""

    ctx: GovernanceContext
    classes: tuple[EffectClass, ...]
    ruled: Verdict
    granted: Verdict
    verdict: Verdict
    warnings: tuple[Verdict, ...]
    approved: bool
    grants: tuple[Grant, ...]  # those that were weighed
    answers: dict[str, Any]  # the fields of the session that guards read
    slots: dict[str, Any]
    risk: float


def combine_evaluations(evaluations: list[PolicyEvaluation], slots: dict[str, Any]) -> PolicyEvaluation:
    """Return the stricter of what the accepted and the changed policy say, with a reason that says whose it is."""
    # Of equals the first one, which is the accepted policy's; but what people could approve is less than a block.
    chosen = max(
        evaluations,
        key=lambda evaluation: (evaluation.verdict.kind, evaluation.verdict.red_line, not evaluation.verdict.approvals),
    )
    verdict = _name_deciding_policy(chosen, evaluations)
    if verdict.approvals or verdict.kind is VerdictKind.ASK:
        # What either policy wants to be approved has to be: a change that asks another group counts at once.
        verdict = replace(verdict, approvals=merge_needs([evaluation.verdict.approvals for evaluation in evaluations]))
    answers: dict[str, Any] = {}
    merged_slots = dict(slots)
    for evaluation in evaluations:
        answers |= evaluation.answers
        merged_slots |= {key: value for key, value in evaluation.slots.items() if value != slots.get(key)}
    return chosen._replace(
        verdict=verdict,
        warnings=tuple(dict.fromkeys(warning for evaluation in evaluations for warning in evaluation.warnings)),
        approved=all(evaluation.approved for evaluation in evaluations),
        grants=max((evaluation.grants for evaluation in evaluations), key=len),
        answers=answers,
        slots=merged_slots,
        risk=max(evaluation.risk for evaluation in evaluations),
    )


def _name_deciding_policy(chosen: PolicyEvaluation, evaluations: list[PolicyEvaluation]) -> Verdict:
    """Return the verdict that decides between two policies, with a reason that says whose it is."""
    verdict = chosen.verdict
    is_common = all(evaluation.verdict.kind is verdict.kind for evaluation in evaluations)
    if verdict.kind is VerdictKind.PASS or (is_common and verdict.passed):
        return verdict
    note = _BY_BOTH if is_common else _BY_ACCEPTED if chosen is evaluations[0] else _BY_CHANGED
    return replace(verdict, reason=f"{verdict.reason} ({note})")
