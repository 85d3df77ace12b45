"""A guard's verdict, the decision made from it, and the receipt that proves the decision."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from verdikt.errors import VerdiktError
from verdikt.model.canonical_json import CanonicalText, encode_canonical, parse_json, sha256_hex
from verdikt.model.effect import EffectClass, Effects, encode_effects
from verdikt.model.posture import READ_ONLY_POSTURES, Disposition, Posture

if TYPE_CHECKING:
    from verdikt.model.approval import ApprovalAnswer, ApprovalNeed
    from verdikt.model.spine import SpineReceipt
    from verdikt.model.standing_ask import StandingAsk

RECEIPT_VERSION = 1
"""Version of a receipt's fields."""

PENDING_RECEIPT_VERSION = 2
"""Version of a receipt made while a change of the policy is pending, which also names the accepted policy."""

RECEIPT_VERSIONS = (RECEIPT_VERSION, PENDING_RECEIPT_VERSION)
"""The versions that this release can replay; it refuses any other."""

POSTURE_GUARD = "posture"
"""Name of the guard in a verdict that the posture alone made stricter."""


class VerdictKind(enum.IntEnum):
    """Ordered by strictness, so the stricter of two is their `max`."""

    PASS = 0
    WARN = 1
    ASK = 2
    BLOCK = 3

    @property
    def word(self) -> str:
        """`pass`, `warn`, `ask` or `block`."""
        return self.name.lower()


VERDICT_DISPOSITIONS = {
    VerdictKind.PASS: Disposition.ALLOW,
    VerdictKind.WARN: Disposition.ALLOW,
    VerdictKind.ASK: Disposition.ESCALATE,
    VerdictKind.BLOCK: Disposition.DENY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Pass, warn, ask or block, by a guard. An ask or a block always has a reason and a fix.

    `red_line` marks a block that no grant and no `Escalate` can get past. `error` marks a verdict that stands for a
    guard that failed, which `Not` must not turn into a pass.
    """

    kind: VerdictKind
    guard: str
    reason: str = ""
    fix: str = ""
    red_line: bool = False
    error: bool = False
    approvals: tuple[ApprovalNeed, ...] = ()
    """Who has to approve what is asked here, where that is more than a person's confirmation."""

    def __post_init__(self) -> None:
        # An agent that is stopped without a reason or an alternative tries the same thing again.
        if self.kind >= VerdictKind.ASK and not (self.reason and self.fix):
            raise ValueError(f"expected a reason and a fix from guard `{self.guard}`, found an empty one")

    @property
    def passed(self) -> bool:
        """Whether the action may proceed without a confirmation."""
        return self.kind <= VerdictKind.WARN

    @classmethod
    def pass_(cls, *, guard: str, reason: str = "") -> Verdict:
        """Build a verdict without an objection."""
        return cls(kind=VerdictKind.PASS, guard=guard, reason=reason)

    @classmethod
    def warn(cls, *, guard: str, reason: str, fix: str = "") -> Verdict:
        """Build a verdict that lets the action proceed and carries a message."""
        return cls(kind=VerdictKind.WARN, guard=guard, reason=reason, fix=fix)

    @classmethod
    def ask(cls, *, guard: str, reason: str, fix: str) -> Verdict:
        """Build a verdict that needs a person's confirmation first."""
        return cls(kind=VerdictKind.ASK, guard=guard, reason=reason, fix=fix)

    @classmethod
    def block(
        cls,
        *,
        guard: str,
        reason: str,
        fix: str,
        red_line: bool = False,
        error: bool = False,
        approvals: tuple[ApprovalNeed, ...] = (),
    ) -> Verdict:
        """Build a verdict that stops the action."""
        return cls(
            kind=VerdictKind.BLOCK,
            guard=guard,
            reason=reason,
            fix=fix,
            red_line=red_line,
            error=error,
            approvals=approvals,
        )


def verdict_to_record(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain data; `red_line` and `error` are present only when true."""
    record: dict[str, Any] = {
        "kind": verdict.kind.word,
        "guard": verdict.guard,
        "reason": verdict.reason,
        "fix": verdict.fix,
    }
    if verdict.red_line:
        record["red_line"] = True
    if verdict.error:
        record["error"] = True
    if verdict.approvals:
        record["approvals"] = [need.to_record() for need in verdict.approvals]
    return record


@dataclass(frozen=True, slots=True)
class Receipt:
    """Canonical bytes with no clock and no randomness: the same inputs give the same bytes and the same digest.

    It holds nothing but its bytes, so nothing in it can be changed.
    """

    bytes: bytes

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Receipt:
        """Build the receipt of this content."""
        return cls(encode_canonical(body))

    @property
    def sha256(self) -> str:
        """Lower-case hex SHA-256 of the bytes."""
        return sha256_hex(self.bytes)

    @property
    def canonical_text(self) -> CanonicalText:
        """The receipt for embedding in other canonical JSON without encoding it again."""
        return CanonicalText(self.bytes)

    def dump(self) -> dict[str, Any]:
        """Return the receipt's content as fresh plain data."""
        body: dict[str, Any] = parse_json(self.bytes)
        return body

    def spine(self) -> SpineReceipt:
        """Return the eight-field form. An action without effects counts as a read."""
        from verdikt.model.spine import SpineReceipt, render_rationale  # only a check by a manifest asks for this form

        body = self.dump()
        action, verdict = body["action"], body["verdict"]
        effects = tuple(EffectClass(name) for name in body["classes"]) or (EffectClass.READ,)
        payload = action["payload"]
        return SpineReceipt(
            tool=action["tool"],
            arguments=payload if isinstance(payload, dict) else {"input": payload},
            effects=effects,
            most_restrictive=effects[0],
            rationale=render_rationale(action["tool"], effects, effects[0]),
            posture=Posture(body["posture"]["before"]),
            disposition=VERDICT_DISPOSITIONS[VerdictKind[verdict["kind"].upper()]],
            require_confirmation=(body["ruled"] or verdict)["kind"] == "ask",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What happens to an action, why, and the receipt that proves it.

    `verdict` is final for the log: it is never an ask in a posture where no person can answer. In a read-only posture,
    `would_be` is the verdict that the policy would have given live. `approved` means that the host need not prompt
    either. `posture_after` equals `posture`: a decision does not change the posture in which it was made.
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
    trace: Sequence[tuple[str, Verdict, int]] = ()
    """The path through the policy graph: name, verdict and depth of each node, each above its children."""
    standing: StandingAsk | None = None
    """What a person was asked about the same call before, and answered."""
    approval: ApprovalAnswer | None = None
    """What people answered away from the terminal, where this decision went by it."""
    audit: Sequence[Mapping[str, Any]] = ()
    """What `audit` guards recorded; the log keeps it beside the receipt."""
    awaited_approval: str = ""
    """The approval request that people can answer now, and with which the same call would be decided again."""

    def to_log_body(self, call_id: str, memory_changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of the decision's entry in the log; `memory_changes` are what the session remembers of it."""
        body = {"receipt": self.receipt.canonical_text, "receipt_sha256": self.receipt.sha256, "call_id": call_id}
        body |= {"kept": memory_changes} if memory_changes else {}
        return body | ({"audit": list(self.audit)} if self.audit else {})

    @property
    def guard(self) -> str:
        """The guard that decided."""
        return self.verdict.guard

    @property
    def passed(self) -> bool:
        """Whether the action may proceed without a confirmation."""
        return self.verdict.passed

    @property
    def disposition(self) -> Disposition:
        """Allow, deny or escalate."""
        return VERDICT_DISPOSITIONS[self.verdict.kind]


def build_receipt_fields(
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
    """Return the part of a receipt that holds the decision, ready for canonical encoding."""
    # `_value_` is what `value` returns, without the call of a property that is written in Python.
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


def add_warning(decision: Decision, reason: str) -> Decision:
    """Return the decision with a warning that is no part of the policy's, and therefore not in the receipt."""
    return replace(decision, warnings=(*decision.warnings, Verdict.warn(guard="wiring", reason=reason)))


def decision_from_error(error: Exception, posture: Posture = Posture.INTERACTIVE) -> Decision:
    """Return the block that stands for a decision that could not be made."""
    # The text of a foreign exception may quote a secret, so only its type is shown.
    message = str(error) if isinstance(error, VerdiktError) else type(error).__name__
    verdict = Verdict.block(
        guard="verdikt",
        reason=f"no decision could be made: {message}",
        fix="stop here and ask the person to run `verdikt doctor`",
        error=True,
    )
    return Decision(
        verdict=verdict,
        effects=Effects(),
        dominant=None,
        posture=posture,
        posture_after=posture,
        receipt=Receipt.from_body({"v": RECEIPT_VERSION, "failed": message.encode("utf-8", "replace").decode()}),
    )


# The posture's part in a decision


_STRICTNESS = {posture: rank for rank, posture in enumerate(Posture)}


def merge_needs(groups: Sequence[tuple[ApprovalNeed, ...]]) -> tuple[ApprovalNeed, ...]:
    """Return every need once: when several rules ask, all of them have to be satisfied."""
    return tuple(dict.fromkeys(need for needs in groups for need in needs))


def strictest_posture(*postures: Posture) -> Posture:
    """Return the strictest of these: locked, then dry_run, then autonomous, then interactive."""
    return max(postures, key=_STRICTNESS.__getitem__, default=Posture.INTERACTIVE)


def apply_posture(verdict: Verdict, posture: Posture, dominant: EffectClass | None) -> Verdict:
    """Return the policy's verdict or, where the posture demands it, a stricter one. No effect counts as a read."""
    if verdict.kind is VerdictKind.BLOCK:
        return verdict
    if posture in READ_ONLY_POSTURES and dominant not in (None, EffectClass.READ):
        return _block_in_read_only(verdict, posture, dominant)
    if posture is Posture.AUTONOMOUS and verdict.kind is VerdictKind.ASK:
        return Verdict.block(
            guard=verdict.guard,
            reason=f"{verdict.reason}; a person would have to say yes, and none is there to answer",
            fix=verdict.fix,
            approvals=verdict.approvals,
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
    reason = f"{_POSTURE_PHRASES[posture]}: only reads happen, and the effect here is `{dominant}`"
    reason += f"; {_LIVE_PHRASES[verdict.kind]}"
    if verdict.reason:
        reason += f" ({verdict.reason})"
    fix = "go on with reads, or let the operator run `verdikt posture set interactive`"
    return Verdict.block(guard=POSTURE_GUARD, reason=reason, fix=fix)
