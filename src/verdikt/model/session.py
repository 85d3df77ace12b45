"""What a session has done so far."""

from __future__ import annotations

from verdikt.model.value import Record, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

HISTORY = 32
"""Actions that a session remembers, so that a decision costs the same after a hundred thousand of them."""


class SessionState(Record):
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
    def of(cls, session_id: str, kept: Mapping[str, Any]) -> SessionState:
        """The state that the log keeps of a session, as one's own."""
        return cls(session_id, **kept).copy()

    def copy(self) -> SessionState:
        """The same state, of which a change does not show here. Entries of `history` are replaced, never changed."""
        slots = self.slots
        if slots:
            from copy import deepcopy  # loads more than most calls need

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
