"""How the warm process is doing."""

import os
import resource
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from verdikt import __version__

REMEMBERED = 4096
"""How many of the latest calls the times are told from."""


class Pulse:
    """Counts of one process. Times are those between a complete question and its answer."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._seconds: deque[float] = deque(maxlen=REMEMBERED)
        self.calls = 0
        self.refused = 0

    def count(self, seconds: float) -> None:
        """One more answer."""
        with self._lock:
            self.calls += 1
            self._seconds.append(seconds)

    def refuse(self) -> None:
        """One more client that was sent away."""
        with self._lock:
            self.refused += 1

    def report(self, **more: Any) -> dict[str, Any]:
        """All of it, as plain data."""
        with self._lock:
            times = sorted(self._seconds)
        return {
            "pid": os.getpid(),
            "version": __version__,
            "uptime_seconds": round(time.monotonic() - self._started, 3),
            "calls": self.calls,
            "refused": self.refused,
            "p50_ms": _at(times, 0.50),
            "p99_ms": _at(times, 0.99),
            "memory_kb": memory_kb(),
            **more,
        }


def memory_kb() -> int:
    """What the process keeps in memory now; at most ever, where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() // 1024
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most // 1024 if sys.platform == "darwin" else most


def _at(times: list[float], part: float) -> float:
    return round(times[min(len(times) - 1, int(len(times) * part))] * 1000, 3) if times else 0.0
