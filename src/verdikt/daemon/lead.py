"""Which of several threads leads: one at a time does what only one may do, and another takes over when that takes long."""

import threading
import time
from collections.abc import Callable

MOST_THREADS = 40
"""How many may be at something that takes long; one more leads meanwhile."""

SPARE_THREADS = 2
"""How many threads wait for the lead; further ones end."""

TURN_SECONDS = 0.02
"""How long a thread may be at one thing before another leads."""


class Lead:
    """The lead passes on only while its holder lends it, so no two threads ever lead."""

    def __init__(self, work: Callable[[], None], most: int = MOST_THREADS) -> None:
        """`work` leads, until the lead is not `mine` any more."""
        self._work = work
        self._most = most
        self._free = threading.Lock()
        self._lock = threading.Lock()  # of what follows
        self._holder = self._threads = self._waiting = 0
        self._lent: dict[int, float] = {}
        """Since when each thread is at something."""

    def start(self) -> bool:
        """Has one more thread wait for the lead; whether there was room for one."""
        with self._lock:
            return self._start()

    def mine(self) -> bool:
        """Whether this thread leads."""
        return self._holder == threading.get_ident()

    def room(self) -> bool:
        """Whether the holder may begin something that can take long: should it, another can lead."""
        return self._waiting > 0 or self._threads <= self._most

    def lend(self) -> None:
        """From now on another thread may take the lead; until `take_back`, nothing of the holder's may be touched."""
        with self._lock:
            self._lent[threading.get_ident()] = time.monotonic()

    def take_back(self) -> bool:
        """Whether this thread still leads, now that it is done."""
        with self._lock:
            self._lent.pop(threading.get_ident(), None)
            return self.mine()

    def watch(self, now: float) -> None:
        """Has another thread lead when the holder has lent it for long."""
        with self._lock:
            since = self._lent.get(self._holder, now)
            if now - since > TURN_SECONDS and (self._waiting or self._start()):
                self._holder = 0
                self._free.release()

    def seize(self) -> bool:
        """Takes the lead for good while its holder lends it; whether it did."""
        with self._lock:
            if self._holder not in self._lent:
                return False
            self._holder = threading.get_ident()
            return True

    def longest(self, now: float) -> float:
        """For how many seconds a thread has been at something."""
        with self._lock:
            return now - min(self._lent.values(), default=now)

    def _start(self) -> bool:
        if self._threads > self._most:
            return False
        try:
            threading.Thread(target=self._run, daemon=True).start()
        except RuntimeError:
            return False  # a system may have no room for one
        self._threads += 1
        return True

    def _run(self) -> None:
        while True:
            with self._lock:
                self._waiting += 1
            self._free.acquire()
            with self._lock:
                self._waiting -= 1
                self._holder = threading.get_ident()
            self._work()
            with self._lock:
                if self._waiting >= SPARE_THREADS:
                    self._threads -= 1
                    return
