"""A decision in words for the agent, before a host's adapter encodes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.hosts.hook_event import HookEvent
    from verdikt.model.hook_message import Answer
    from verdikt.model.verdict import Verdict

TEXT_MARK = "[verdikt]"
"""The beginning of every text for an agent; it identifies our own text when a host sends it back as a prompt."""

MAX_TEXT_LENGTH = 6000
"""Longest text for a model, in characters. Clients write longer ones into a file, or cut them."""

_HOW_TO_ALLOW = {
    VerdictKind.ASK: "To be asked no more about this: verdikt allow last --for session (or always), in a terminal",
    VerdictKind.BLOCK: "To let this through: verdikt allow last --for once (or session, always), in a terminal",
}

_NO_REASON = "the policy does not allow this and gave no reason"


def sanitize_text(text: str) -> str:
    """Return the text without lone surrogates and control characters, cut to the longest length."""
    # A client whose JSON parser rejects the document runs the tool.
    sanitized = "".join(
        character
        if character.isprintable() or character in "\n\t"
        else (" " if character.isspace() else "\N{REPLACEMENT CHARACTER}")
        for character in text[: MAX_TEXT_LENGTH + 1]
    )
    return sanitized if len(sanitized) <= MAX_TEXT_LENGTH else sanitized[: MAX_TEXT_LENGTH - 1] + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDecision:
    """Pass, warn, ask or block, with the texts that go with it. An ask or a block always has a reason.

    At a stop a block means: go on working. `context` is text for the model, whatever the decision.
    """

    kind: VerdictKind = VerdictKind.PASS
    reason: str = ""
    context: str = ""
    approved: bool = False
    """Whether the policy says that the host need not ask a person about this."""
    notice: str = ""
    """Text for the person, on hosts that show it."""
    how_to_allow: str = ""
    """The command that would let this through, for the person alone: an agent would only try to run it."""
    awaited_approval: str = ""
    """The approval request whose answer would decide this call."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", sanitize_text(self.reason).strip())
        object.__setattr__(self, "context", sanitize_text(self.context).strip())
        object.__setattr__(self, "notice", sanitize_text(self.notice).strip())
        # Codex runs the tool after a deny without a reason.
        if self.kind >= VerdictKind.ASK and not self.reason:
            object.__setattr__(self, "reason", f"{TEXT_MARK} {_NO_REASON}")

    @property
    def is_blocked(self) -> bool:
        """Whether the host must refuse."""
        return self.kind is VerdictKind.BLOCK

    @property
    def person_text(self) -> str:
        """The reason with the command that would allow it, for hosts that show a text to the person alone."""
        return "\n".join(part for part in (self.reason, self.how_to_allow) if part)

    @property
    def full_text(self) -> str:
        """Reason and context together, for hosts that have one field for both."""
        return "\n".join(part for part in (self.reason, self.context) if part)

    @classmethod
    def block(cls, reason: str) -> HostDecision:
        """Return a block with this reason."""
        return cls(kind=VerdictKind.BLOCK, reason=f"{TEXT_MARK} {reason}")

    @classmethod
    def from_verdict(
        cls,
        verdict: Verdict,
        *,
        warnings: tuple[Verdict, ...] = (),
        approved: bool = False,
        awaited_approval: str = "",
    ) -> HostDecision:
        """Return a verdict in words for the model: which guard refuses, why, and what to do instead."""
        if verdict.kind is VerdictKind.PASS and not warnings and not approved:
            return _EMPTY_DECISION
        all_warnings = [verdict, *warnings] if verdict.kind is VerdictKind.WARN else warnings
        notes = [
            f"{warning.reason}\nInstead: {warning.fix}" if warning.fix else warning.reason for warning in all_warnings
        ]
        context = "\n".join(f"{TEXT_MARK} {note}" for note in dict.fromkeys(notes) if note)
        if verdict.kind < VerdictKind.ASK:
            return cls(kind=verdict.kind, context=context, approved=approved)
        word = "blocked" if verdict.kind is VerdictKind.BLOCK else "wants a person to confirm this"
        reason = f"{TEXT_MARK} {word} ({verdict.guard}): {verdict.reason}\nInstead: {verdict.fix}"
        return cls(
            kind=verdict.kind,
            reason=reason,
            context=context,
            how_to_allow=_explain_allowing(verdict),
            awaited_approval=awaited_approval,
        )

    @classmethod
    def from_answer(cls, answer: Answer) -> HostDecision:
        """Return an answer in words for the model."""
        # A notice comes only with a stop that is allowed, where hosts show a context to the person, not to the model.
        text = "\n".join(filter(None, (answer.context, answer.notice)))
        context = f"{TEXT_MARK} {text}" if text else ""
        if answer.allowed and not context:
            return _EMPTY_DECISION
        notice = f"{TEXT_MARK} {answer.notice}" if answer.notice else ""
        if answer.allowed:
            return cls(context=context, notice=notice)
        by = f" ({answer.guard})" if answer.guard else ""
        return cls(
            kind=VerdictKind.BLOCK,
            reason=f"{TEXT_MARK}{by} {answer.reason or _NO_REASON}",
            context=context,
            notice=notice,
        )

    def resolve_ask(self, hook_event: HookEvent) -> HostDecision:
        """Return the decision with an ask that would reach no person turned into a block that says so."""
        if self.kind is not VerdictKind.ASK or hook_event.can_ask:
            return self
        return self.refuse_ask("in this session")

    def refuse_ask(self, where: str) -> HostDecision:
        """Return the block for an ask that no prompt can show; where people are asked elsewhere, it says so."""
        elsewhere = "Until it is answered, this counts as a block."
        note = elsewhere if self.awaited_approval else f"No person can be asked {where}, so this counts as a block."
        how_to_allow = _HOW_TO_ALLOW[VerdictKind.BLOCK] if self.how_to_allow else ""
        return replace(self, kind=VerdictKind.BLOCK, reason=f"{self.reason}\n{note}", how_to_allow=how_to_allow)


_EMPTY_DECISION = HostDecision()


def _explain_allowing(verdict: Verdict) -> str:
    """Return how the person could let a refused call through; empty where nothing does."""
    if verdict.red_line or verdict.error:
        return ""
    # An exception of the person at the terminal does not answer for others, or for a security key.
    if any(not need.is_answered_at_terminal for need in verdict.approvals):
        return "To let this through: those whom the policy names approve it in the browser, on the page Approvals"
    return _HOW_TO_ALLOW[verdict.kind]
