"""Work of a conversation that may wait until it pauses: the records of what came of calls."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

PAUSE_SECONDS = 0.002
"""How long the next call has to come, before which the work is done by whoever has that call."""

IDLE_SECONDS = 0.05
MAX_WAITING = 1000


class DeferredWork:
    """Does work in order: before the next call is decided, or else in a thread of its own.

    Not beside a decision: two threads that hand Python's lock to each other at every look at the disk take longer than
    one after the other, and what came of a call is in the log before the next call of it is decided.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], object]] = deque()
        self._is_running = threading.Lock()
        self._is_due = threading.Event()
        self._has_ended = threading.Event()

    def add(self, work: Callable[[], object]) -> None:
        """Add work; one that adds more than can wait does it."""
        self._waiting.append(work)
        self._is_due.set()
        if len(self._waiting) > MAX_WAITING:
            self.run_all()

    def run_all(self) -> None:
        """Do all that waits; return once it is done, also what another thread is doing."""
        with self._is_running:
            while self._waiting:
                self._waiting.popleft()()

    def run_until_end(self, on_idle: Callable[[], object]) -> None:
        """Do what nothing else does, until `end`; call `on_idle` once it is done and no more comes."""
        while not self._has_ended.is_set():
            self._is_due.wait()
            self._is_due.clear()
            self._has_ended.wait(PAUSE_SECONDS)
            self.run_all()
            # Only when calls pause: the decision on the next call syncs the same file anyway.
            if not self._is_due.wait(IDLE_SECONDS):
                on_idle()
        self.run_all()
        on_idle()

    def end(self) -> None:
        """Let `run_until_end` do what is left and return."""
        self._has_ended.set()
        self._is_due.set()
