"""What a session has done so far."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

MAX_HISTORY = 32
"""Actions that a session remembers, so that a decision costs the same after a hundred thousand of them."""


@dataclass(slots=True)
class SessionState:
    """What a session has done so far. `history` holds the newest actions only, oldest first."""

    session_id: str = "default"
    action_count: int = 0
    block_count: int = 0
    consecutive_blocks: int = 0
    risk: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)
    slots: dict[str, Any] = field(default_factory=dict)
    """Guards' own counters, kept with the session: plain data only."""

    @classmethod
    def from_log(cls, session_id: str, fields: Mapping[str, Any]) -> SessionState:
        """The state that the log keeps of a session, as one's own."""
        return cls(session_id, **fields).copy()

    def copy(self) -> SessionState:
        """The same state, of which a change does not show here. Entries of `history` are replaced, never changed."""
        slots = self.slots
        if slots:
            slots = deepcopy(slots)
        return SessionState(
            self.session_id,
            self.action_count,
            self.block_count,
            self.consecutive_blocks,
            self.risk,
            self.history.copy(),
            slots if slots else {},
        )
