"""Which of several threads leads: one at a time does what only one may do, and another takes over when that takes long."""

import threading
import time
from collections.abc import Callable

MAX_BLOCKED_THREADS = 40
"""How many may be at something that takes long; one more leads meanwhile."""

MAX_WAITING_THREADS = 2
"""How many threads wait for the lead; further ones end."""

LEADER_TURN_SECONDS = 0.02
"""How long a thread may be at one thing before another leads."""


class LeaderLock:
    """The lead passes on only while its holder lends it, so no two threads ever lead."""

    def __init__(self, run_leader: Callable[[], None], max_threads: int = MAX_BLOCKED_THREADS) -> None:
        """`work` leads, until the lead is not `mine` any more."""
        self._run_leader = run_leader
        self._max_threads = max_threads
        self._leadership = threading.Lock()
        self._lock = threading.Lock()  # of what follows
        self._leader_ident = self._thread_count = self._waiting_count = 0
        self._yielded_since: dict[int, float] = {}
        """Since when each thread is at something."""

    def add_follower(self) -> bool:
        """Has one more thread wait for the lead; whether there was room for one."""
        with self._lock:
            return self._spawn_follower()

    def is_leader(self) -> bool:
        """Whether this thread leads."""
        return self._leader_ident == threading.get_ident()

    def has_capacity(self) -> bool:
        """Whether the holder may begin something that can take long: should it, another can lead."""
        return self._waiting_count > 0 or self._thread_count <= self._max_threads

    def yield_(self) -> None:
        """From now on another thread may take the lead; until `take_back`, nothing of the holder's may be touched."""
        with self._lock:
            self._yielded_since[threading.get_ident()] = time.monotonic()

    def reclaim(self) -> bool:
        """Whether this thread still leads, now that it is done."""
        with self._lock:
            self._yielded_since.pop(threading.get_ident(), None)
            return self.is_leader()

    def replace_slow_leader(self, now: float) -> None:
        """Has another thread lead when the holder has lent it for long."""
        with self._lock:
            since = self._yielded_since.get(self._leader_ident, now)
            if now - since > LEADER_TURN_SECONDS and (self._waiting_count or self._spawn_follower()):
                self._leader_ident = 0
                self._leadership.release()

    def force(self) -> bool:
        """Takes the lead for good while its holder lends it; whether it did."""
        with self._lock:
            if self._leader_ident not in self._yielded_since:
                return False
            self._leader_ident = threading.get_ident()
            return True

    def get_longest_seconds(self, now: float) -> float:
        """For how many seconds a thread has been at something."""
        with self._lock:
            return now - min(self._yielded_since.values(), default=now)

    def _spawn_follower(self) -> bool:
        if self._thread_count > self._max_threads:
            return False
        try:
            threading.Thread(target=self._follow, daemon=True).start()
        except RuntimeError:
            return False  # a system may have no room for one
        self._thread_count += 1
        return True

    def _follow(self) -> None:
        while True:
            with self._lock:
                self._waiting_count += 1
            self._leadership.acquire()
            with self._lock:
                self._waiting_count -= 1
                self._leader_ident = threading.get_ident()
            self._run_leader()
            with self._lock:
                if self._waiting_count >= MAX_WAITING_THREADS:
                    self._thread_count -= 1
                    return
