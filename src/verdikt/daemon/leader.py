"""Leader/follower threads: one thread does the work, and another takes over while the leader is blocked."""

import threading
import time
from collections.abc import Callable

# Maximum number of blocked worker threads; one more can lead.
MAX_BLOCKED_THREADS = 40

# More followers than this would only use memory, so a thread that has lost the lead ends when there are enough.
MAX_WAITING_THREADS = 2

# How long the leader may be busy with one request before a follower takes over.
LEADER_TURN_SECONDS = 0.02


class LeaderLock:
    """Passes the lead between threads, and only while the leader has yielded it: two threads never lead at once."""

    def __init__(self, run_leader: Callable[[], None], max_threads: int = MAX_BLOCKED_THREADS) -> None:
        """`run_leader` is called by each thread that becomes the leader, and returns when `is_leader` is false."""
        self._run_leader = run_leader
        self._max_threads = max_threads
        self._leadership = threading.Lock()
        self._lock = threading.Lock()  # guards the attributes below
        self._threads: list[threading.Thread] = []
        self._leader_ident = self._thread_count = self._waiting_count = 0
        self._is_closed = False
        self._yielded_since: dict[int, float] = {}
        """When each thread that has yielded did so."""

    def add_follower(self) -> bool:
        """Start a thread that waits for the lead and return whether that was possible."""
        with self._lock:
            return self._spawn_follower()

    def is_leader(self) -> bool:
        """Return whether the calling thread leads."""
        return self._leader_ident == threading.get_ident()

    def has_capacity(self) -> bool:
        """Return whether another thread could take over if the leader became blocked now."""
        return self._waiting_count > 0 or self._thread_count <= self._max_threads

    def yield_(self) -> None:
        """Allow another thread to take the lead; the caller must not touch the leader's state until `reclaim`."""
        with self._lock:
            self._yielded_since[threading.get_ident()] = time.monotonic()

    def reclaim(self) -> bool:
        """End the yielding of the calling thread and return whether it still leads."""
        with self._lock:
            self._yielded_since.pop(threading.get_ident(), None)
            return self.is_leader()

    def replace_slow_leader(self, now: float) -> None:
        """Pass the lead to a follower when the leader has yielded it for longer than `LEADER_TURN_SECONDS`."""
        with self._lock:
            since = self._yielded_since.get(self._leader_ident, now)
            if now - since > LEADER_TURN_SECONDS and (self._waiting_count or self._spawn_follower()):
                self._leader_ident = 0
                self._leadership.release()

    def force(self) -> bool:
        """Take the lead for good, if the leader has yielded it, and return whether that worked."""
        with self._lock:
            if self._leader_ident not in self._yielded_since:
                return False
            self._leader_ident = threading.get_ident()
            return True

    def get_longest_seconds(self, now: float) -> float:
        """Return for how long the slowest thread has been blocked."""
        with self._lock:
            return now - min(self._yielded_since.values(), default=now)

    def close(self, timeout_seconds: float) -> bool:
        """End the followers at once and the leader after its turn; return whether all of them ended in time."""
        with self._lock:
            self._is_closed = True
            # Wakes one follower; each wakes the next. Without a leader, a follower has the lock already
            # or finds it free.
            if self._leader_ident:
                self._leader_ident = 0
                self._leadership.release()
        deadline = time.monotonic() + timeout_seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _spawn_follower(self) -> bool:
        if self._thread_count > self._max_threads:
            return False
        thread = threading.Thread(target=self._follow, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return False  # the system's limit of threads is reached
        self._threads = [*(each for each in self._threads if each.is_alive()), thread]
        self._thread_count += 1
        return True

    def _follow(self) -> None:
        while True:
            with self._lock:
                self._waiting_count += 1
            self._leadership.acquire()
            with self._lock:
                self._waiting_count -= 1
                if self._is_closed:
                    self._leadership.release()
                    self._thread_count -= 1
                    return
                self._leader_ident = threading.get_ident()
            self._run_leader()
            with self._lock:
                if self._is_closed or self._waiting_count >= MAX_WAITING_THREADS:
                    self._thread_count -= 1
                    return
