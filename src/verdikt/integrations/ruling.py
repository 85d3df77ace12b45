"""A ruling: what an adapter does with a tool call, with a text for the model that is never empty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from verdikt.errors import BlockedError
from verdikt.model.verdict import Decision, Receipt, Verdict, VerdictKind

if TYPE_CHECKING:
    from verdikt.model.action import Action

ASK_TYPE = "verdikt.ask"
"""The `type` of a question to a person, for programs that show several kinds of questions."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What an adapter does with a call: run it, put the question to a person, or show `text` to the model instead."""

    action: Action
    verdict: Verdict
    decision_receipt: Receipt | None = None
    warnings: tuple[str, ...] = ()
    is_approved: bool = False  # a person was asked about this very call, and said yes
    was_asked: bool = False  # a person was asked about this very call before, whatever came of it

    @property
    def may_run(self) -> bool:
        """Whether the tool may run now."""
        return self.verdict.kind <= VerdictKind.WARN

    @property
    def needs_answer(self) -> bool:
        """Whether a person has to answer first."""
        return self.verdict.kind is VerdictKind.ASK

    @property
    def receipt(self) -> str:
        """The digest of the decision's receipt; computed when it is asked for, because most calls pass without it."""
        return self.decision_receipt.sha256 if self.decision_receipt is not None else ""

    @property
    def text(self) -> str:
        """The refusal in words for the model; never empty."""
        return render_refusal(self.verdict)

    def build_error(self) -> BlockedError:
        """Return the refusal as an exception, for places where a text would be taken for a result."""
        verdict = self.verdict
        return BlockedError(self.text, guard=verdict.guard, reason=verdict.reason, fix=verdict.fix)

    def join_notes(self, *texts: str) -> str:
        """Return what the policy has to say about a result: the warnings of the decision, and these texts."""
        return "\n".join(filter(None, (*self.warnings, *texts)))

    @property
    def question(self) -> dict[str, Any]:
        """The question to a person as plain data, for the SDK's own pause; secrets are in it as the model gave them."""
        return {
            "type": ASK_TYPE,
            "tool_call_id": self.action.call_id,
            "session_id": self.action.session_id,
            "tool": self.action.tool,
            "args": dict(self.action.payload),
            "guard": self.verdict.guard,
            "reason": self.verdict.reason,
            "fix": self.verdict.fix,
            "receipt": self.receipt,
        }


def render_refusal(verdict: Verdict) -> str:
    """Return the text that the model sees instead of a result, the same in every SDK."""
    reason, fix = verdict.reason.rstrip(". ") or "no reason was given", verdict.fix or "ask the person what to do"
    return f"Blocked by policy ({verdict.guard}): {reason}. Instead: {fix}"


def build_ruling(action: Action, decision: object, *, can_ask: bool) -> Ruling:
    """Return the ruling of a decision; without `can_ask` an ask is a block. Anything but a whole `Decision` raises."""
    if not isinstance(decision, Decision):
        raise TypeError(f"expected a Decision, found {type(decision).__name__}")
    verdict = decision.verdict
    if not all(isinstance(text, str) for text in (verdict.guard, verdict.reason, verdict.fix)):
        raise TypeError("expected a verdict with texts, found something else in their place")
    warnings = tuple(warning.reason for warning in decision.warnings if warning.reason)
    standing = decision.standing
    ruling = Ruling(
        action,
        verdict,
        decision.receipt,
        warnings,
        is_approved=standing is not None and standing.approved is True,
        was_asked=standing is not None,
    )
    return ruling if can_ask else close_question(ruling)


def close_approval(ruling: Ruling) -> Ruling:
    """Return the ruling of a call that has run by a person's yes, and would run once more, as a block."""
    if not ruling.is_approved:
        return ruling
    reason = f"{ruling.verdict.reason}; that was for one run, and a person would have to say yes to another"
    fix = ruling.verdict.fix or "make a new call"
    return replace(ruling, verdict=Verdict.block(guard=ruling.verdict.guard, reason=reason, fix=fix))


def close_question(ruling: Ruling) -> Ruling:
    """Return the ruling with an ask that can reach no person as a block."""
    if not ruling.needs_answer:
        return ruling
    verdict = ruling.verdict
    reason = f"{verdict.reason}; a person would have to say yes, and has not"
    return replace(ruling, verdict=Verdict.block(guard=verdict.guard, reason=reason, fix=verdict.fix))
