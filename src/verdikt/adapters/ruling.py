"""What is to be said to a host, before it is put in that host's words."""

from __future__ import annotations

from verdikt.model.value import Value, replace
from verdikt.model.verdict import VerdictKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from verdikt.adapters.moment import Moment
    from verdikt.model.moment import Answer
    from verdikt.model.verdict import Verdict

MARK = "[verdikt]"
"""How every text of ours begins, so that one that a host hands back as a prompt is known as ours."""

LIMIT = 6000
"""Longest text for a model, in characters: below what any client spills into a file or cuts."""

_SILENT = "the policy does not allow this and gave no reason"


def plain(text: str) -> str:
    """The text without what a client's JSON reader could trip over: lone surrogates, control characters, endless length."""
    kept = "".join(
        character
        if character.isprintable() or character in "\n\t"
        else (" " if character.isspace() else "\N{REPLACEMENT CHARACTER}")
        for character in text[: LIMIT + 1]
    )
    return kept if len(kept) <= LIMIT else kept[: LIMIT - 1] + "…"


class Ruling(Value, kw_only=True):
    """Pass, warn, ask or block, with the texts that go with it. An ask or a block always has a reason.

    At stop a block means: go on working. `context` is for the model, whatever the ruling.
    """

    kind: VerdictKind = VerdictKind.PASS
    reason: str = ""
    context: str = ""
    approved: bool = False
    """Whether the policy names this as something the host need not ask about."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", plain(self.reason).strip())
        object.__setattr__(self, "context", plain(self.context).strip())
        if self.kind >= VerdictKind.ASK and not self.reason:
            object.__setattr__(self, "reason", f"{MARK} {_SILENT}")

    @property
    def blocked(self) -> bool:
        """Whether the host must refuse."""
        return self.kind is VerdictKind.BLOCK

    @classmethod
    def block(cls, reason: str) -> Ruling:
        """A refusal that says why."""
        return cls(kind=VerdictKind.BLOCK, reason=f"{MARK} {reason}")

    @classmethod
    def of_verdict(cls, verdict: Verdict, *, warnings: tuple[Verdict, ...] = (), approved: bool = False) -> Ruling:
        """A verdict in words for the model: who refuses, why, and what to do instead."""
        if verdict.kind is VerdictKind.PASS and not warnings and not approved:
            return _SILENCE
        heard = [verdict, *warnings] if verdict.kind is VerdictKind.WARN else warnings
        notes = [f"{warning.reason}\nInstead: {warning.fix}" if warning.fix else warning.reason for warning in heard]
        context = "\n".join(f"{MARK} {note}" for note in dict.fromkeys(notes) if note)
        if verdict.kind < VerdictKind.ASK:
            return cls(kind=verdict.kind, context=context, approved=approved)
        word = "blocked" if verdict.kind is VerdictKind.BLOCK else "wants a person to confirm this"
        reason = f"{MARK} {word} ({verdict.guard}): {verdict.reason}\nInstead: {verdict.fix}"
        return cls(kind=verdict.kind, reason=reason, context=context)

    @classmethod
    def of_answer(cls, answer: Answer) -> Ruling:
        """An answer in words for the model."""
        context = f"{MARK} {answer.context}" if answer.context else ""
        if answer.allowed and not context:
            return _SILENCE
        if answer.allowed:
            return cls(context=context)
        by = f" ({answer.guard})" if answer.guard else ""
        return cls(kind=VerdictKind.BLOCK, reason=f"{MARK}{by} {answer.reason or _SILENT}", context=context)

    def where(self, moment: Moment) -> Ruling:
        """The ruling as it can hold at this moment: an ask that nobody would see becomes a block that says so."""
        if self.kind is not VerdictKind.ASK or moment.asks:
            return self
        note = "Nobody can be asked in this session, so this counts as a block."
        return replace(self, kind=VerdictKind.BLOCK, reason=f"{self.reason}\n{note}")


_SILENCE = Ruling()
