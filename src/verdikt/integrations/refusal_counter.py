"""How often the end of a session's turn was refused, so that no agent is sent back to work for ever."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

_MAX_SESSIONS = 1024
"""Number of sessions whose refusals are counted; the oldest are forgotten."""


class RefusalCounter:
    """The refusals of the current turn, by session. Safe for many tasks and threads."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._lock = Lock()

    def get_count(self, session_id: str) -> int:
        """Return how often the turn was refused."""
        with self._lock:
            return self._counts.get(session_id, 0)

    def add(self, session_id: str) -> None:
        """Count a refusal."""
        with self._lock:
            self._counts[session_id] = self._counts.get(session_id, 0) + 1
            self._counts.move_to_end(session_id)
            while len(self._counts) > _MAX_SESSIONS:
                self._counts.popitem(last=False)

    def reset(self, session_id: str) -> None:
        """Begin again, with the next turn."""
        with self._lock:
            self._counts.pop(session_id, None)
