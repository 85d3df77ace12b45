"""Who looked at sessions of other teams lately: each look is an entry of the service's own record, once an hour."""

from __future__ import annotations

import threading

REPEAT_SECONDS = 3600
MAX_REMEMBERED = 10_000


class SessionReads:
    """Remembers what was recorded, so that a page that refreshes itself leaves one entry; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[tuple[int, int], float] = {}

    def is_new(self, person: int, chain: int, now: float) -> bool:
        """Return whether this person's look at a chain is to be recorded, and remember it."""
        with self._lock:
            earlier = self._times.get((person, chain))
            if earlier is not None and 0 <= now - earlier < REPEAT_SECONDS:
                return False
            if len(self._times) >= MAX_REMEMBERED:
                # What is forgotten is recorded again.
                self._times.clear()
            self._times[(person, chain)] = now
            return True
