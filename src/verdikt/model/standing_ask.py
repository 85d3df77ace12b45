"""A question to a person that stands: what was asked about one call, and what the person answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.errors import CanonicalError
from verdikt.model.canonical_json import hash_canonical, stringify_big_integers
from verdikt.model.verdict import Verdict, VerdictKind


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingAsk:
    """An ask that was recorded for a call. `approved` is None until a person has answered."""

    receipt: str  # the SHA-256 of the receipt that asked
    guard: str
    reason: str
    fix: str
    approved: bool | None = None
    by: str = ""
    channel: str = ""

    @property
    def is_rejected(self) -> bool:
        """Whether a person said no."""
        return self.approved is False

    def to_record(self) -> dict[str, Any]:
        """Return the ask as plain data, for a receipt."""
        return {
            "receipt": self.receipt,
            "guard": self.guard,
            "reason": self.reason,
            "fix": self.fix,
            "approved": self.approved,
            "by": self.by,
            "channel": self.channel,
        }


def parse_standing_ask(fields: Mapping[str, Any]) -> StandingAsk:
    """Return the ask that `to_record` wrote."""
    return StandingAsk(**fields)


def hash_call(tool: str, payload: Any) -> str:
    """Return a digest of a tool and its redacted input, or an empty string when they cannot be recorded."""
    try:
        return hash_canonical([tool, payload])[:32]
    except CanonicalError:
        pass
    try:
        # As in a receipt, which has integers beyond 53 bits as text.
        return hash_canonical([tool, stringify_big_integers(payload)])[:32]
    except CanonicalError:
        return ""


def apply_standing_ask(verdict: Verdict, ask: StandingAsk, *, is_granted: bool) -> Verdict:
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
