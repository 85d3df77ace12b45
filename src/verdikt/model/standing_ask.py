"""An ask that stands: what was asked about one call, and what the person answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class StandingAsk(NamedTuple):
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
