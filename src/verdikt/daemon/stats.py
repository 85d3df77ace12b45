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

SAMPLE_COUNT = 4096
"""How many of the latest calls the times are told from."""


class DaemonStats:
    """Counts of one process. Times are those between a complete question and its answer."""

    def __init__(self) -> None:
        self._started_at = time.monotonic()
        self._lock = threading.Lock()
        self._durations: deque[float] = deque(maxlen=SAMPLE_COUNT)
        self.call_count = 0
        self.refusal_count = 0

    def count_reply(self, seconds: float) -> None:
        """One more answer."""
        with self._lock:
            self.call_count += 1
            self._durations.append(seconds)

    def count_refusal(self) -> None:
        """One more client that was sent away."""
        with self._lock:
            self.refusal_count += 1

    def to_report(self, **extra: Any) -> dict[str, Any]:
        """All of it, as plain data."""
        with self._lock:
            times = sorted(self._durations)
        return {
            "pid": os.getpid(),
            "version": __version__,
            "uptime_seconds": round(time.monotonic() - self._started_at, 3),
            "calls": self.call_count,
            "refused": self.refusal_count,
            "p50_ms": _percentile_ms(times, 0.50),
            "p99_ms": _percentile_ms(times, 0.99),
            "memory_kb": measure_memory_kb(),
            **extra,
        }


def measure_memory_kb() -> int:
    """What the process keeps in memory now; at most ever, where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() // 1024
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most // 1024 if sys.platform == "darwin" else most


def _percentile_ms(durations: list[float], fraction: float) -> float:
    return round(durations[min(len(durations) - 1, int(len(durations) * fraction))] * 1000, 3) if durations else 0.0
