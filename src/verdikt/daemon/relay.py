"""Taking turns: threads of one interpreter that decide at once only get in one another's way."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SLOW_SECONDS = 0.0005
"""A disk that takes longer than this is worth letting another thread decide meanwhile."""


class Relay:
    """One thread's at a time, until it passes it on: because it waits for the disk, or because it is taking too long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guard = threading.Lock()
        self._owner = 0
        self._slow = True

    def take(self) -> None:
        """Returns when it is this thread's turn."""
        if self._owner != threading.get_ident():
            self._lock.acquire()
            self._owner = threading.get_ident()

    def pass_on(self, owner: int = 0) -> None:
        """Lets the next go on, if it is the turn of this thread or of the one that is named."""
        with self._guard:
            if self._owner == (owner or threading.get_ident()):
                self._owner = 0
                self._lock.release()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Inside, this thread waits for the disk; the next goes on, where that was slow the last time."""
        if self._slow:
            self.pass_on()
        start = time.perf_counter()
        yield
        self._slow = time.perf_counter() - start > SLOW_SECONDS
