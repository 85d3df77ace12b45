"""The final word on one action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verdikt.errors import VerdiktError
from verdikt.model.effect import EffectClass, Effects
from verdikt.model.posture import READ_ONLY_POSTURES, Posture
from verdikt.model.receipt import RECEIPT_VERSION, VERDICT_DISPOSITIONS, Receipt, encode_effects, verdict_to_record
from verdikt.model.verdict import Verdict, VerdictKind

if TYPE_CHECKING:
    from verdikt.model.posture import Disposition

POSTURE_GUARD = "posture"
"""The guard's name when the posture, and nothing else, stands in the way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What happens to an action, why, and the receipt that proves it.

    `verdict` is final: it is never an ask when nobody is there to answer. `would_be` is what the policy would have said
    live, in a posture where only reads happen. `approved` means that the policy wants the host not to prompt either.
    """

    verdict: Verdict
    effects: Effects
    dominant: EffectClass | None
    posture: Posture
    posture_after: Posture
    receipt: Receipt
    warnings: tuple[Verdict, ...] = ()
    approved: bool = False
    would_be: Verdict | None = None

    @property
    def guard(self) -> str:
        """The guard that decided."""
        return self.verdict.guard

    @property
    def passed(self) -> bool:
        """Whether the action may go on without anybody being asked."""
        return self.verdict.passed

    @property
    def disposition(self) -> Disposition:
        """Allow, deny or escalate."""
        return VERDICT_DISPOSITIONS[self.verdict.kind]


def build_decision_record(
    *,
    verdict: Verdict,
    effects: Effects,
    classes: tuple[EffectClass, ...],
    dominant: EffectClass | None,
    posture: Posture,
    posture_after: Posture,
    warnings: tuple[Verdict, ...],
    approved: bool,
    would_be: Verdict | None,
) -> dict[str, Any]:
    """What a decision says, as its receipt holds it: data that can be written."""
    return {
        "posture": {"before": posture._value_, "after": posture_after._value_},
        "effects": encode_effects(effects),
        "classes": [cls._value_ for cls in classes],
        "dominant": dominant and dominant._value_,
        "verdict": verdict_to_record(verdict),
        "guard": verdict.guard,
        "warnings": [verdict_to_record(warning) for warning in warnings],
        "approved": approved,
        "would_be": would_be and verdict_to_record(would_be),
    }


def apply_posture(verdict: Verdict, posture: Posture, dominant: EffectClass | None) -> Verdict:
    """What a posture makes of the policy's verdict; it can only become stricter. No effect at all counts as a read."""
    if verdict.kind is VerdictKind.BLOCK:
        return verdict
    if posture in READ_ONLY_POSTURES and dominant not in (None, EffectClass.READ):
        return _block_in_read_only(verdict, posture, dominant)
    if posture is Posture.AUTONOMOUS and verdict.kind is VerdictKind.ASK:
        return Verdict.block(
            guard=verdict.guard,
            reason=f"{verdict.reason}; a person would have to say yes, and nobody is there to answer",
            fix=verdict.fix,
        )
    return verdict


_LIVE_PHRASES = {
    VerdictKind.PASS: "live it would have run",
    VerdictKind.WARN: "live it would have run with a warning",
    VerdictKind.ASK: "live a person would have been asked first",
}

_POSTURE_PHRASES = {
    Posture.DRY_RUN: "this is a dry run",
    Posture.LOCKED: "the session is locked",
}


def _block_in_read_only(verdict: Verdict, posture: Posture, dominant: EffectClass | None) -> Verdict:
    reason = f"{_POSTURE_PHRASES[posture]}: only reads happen, and the effect here is `{dominant}`; {_LIVE_PHRASES[verdict.kind]}"
    if verdict.reason:
        reason += f" ({verdict.reason})"
    fix = "go on with reads, or let the operator run `verdikt posture set interactive`"
    return Verdict.block(guard=POSTURE_GUARD, reason=reason, fix=fix)


def decision_from_error(error: Exception, posture: Posture = Posture.INTERACTIVE) -> Decision:
    """The block that stands for a decision that could not be made."""
    words = str(error) if isinstance(error, VerdiktError) else type(error).__name__
    verdict = Verdict.block(
        guard="verdikt",
        reason=f"no decision could be made: {words}",
        fix="stop here and ask the person to run `verdikt doctor`",
        error=True,
    )
    return Decision(
        verdict=verdict,
        effects=Effects(),
        dominant=None,
        posture=posture,
        posture_after=posture,
        receipt=Receipt.from_body({"v": RECEIPT_VERSION, "failed": words.encode("utf-8", "replace").decode()}),
    )
