"""An operator's order to let everything but red lines pass until a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.errors import LedgerError
from verdikt.model.verdict import Verdict

PAUSE_GUARD = "pause"
"""The guard that a decision names when a pause let the action pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """When a pause ends, its reason, and who ordered it."""

    until: int
    reason: str
    by: str = ""

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise LedgerError("expected a reason for the pause, found none; say why with --reason")

    def build_verdict(self) -> Verdict:
        """Return the verdict on an action that runs because of the pause."""
        return Verdict.warn(guard=PAUSE_GUARD, reason=f"paused by {self.by or 'the operator'}: {self.reason}")

    def to_record(self) -> dict[str, Any]:
        """Return the pause as plain data."""
        return {"until": self.until, "reason": self.reason, "by": self.by}


def parse_pause(fields: Mapping[str, Any]) -> Pause:
    """Return the pause in a log entry or a receipt."""
    return Pause(until=fields["until"], reason=str(fields.get("reason", "")) or "-", by=str(fields.get("by", "")))
