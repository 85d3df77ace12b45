"""Counters, response times and memory of the warm process, for `verdikt daemon status`."""

import os
import resource
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from verdikt import __version__

# Percentiles are computed from this many of the latest calls.
SAMPLE_COUNT = 4096


class DaemonStats:
    """Counters of one process. A response time runs from the complete request to its reply."""

    def __init__(self) -> None:
        self._started_at = time.monotonic()
        self._lock = threading.Lock()
        self._durations: deque[float] = deque(maxlen=SAMPLE_COUNT)
        self.call_count = 0
        self.refusal_count = 0

    def count_reply(self, duration_seconds: float) -> None:
        """Count one reply and its response time."""
        with self._lock:
            self.call_count += 1
            self._durations.append(duration_seconds)

    def count_refusal(self) -> None:
        """Count one client that was refused."""
        with self._lock:
            self.refusal_count += 1

    def to_report(self, **extra: Any) -> dict[str, Any]:
        """Return all counters as plain data, with `extra` added."""
        with self._lock:
            durations = sorted(self._durations)
        return {
            "pid": os.getpid(),
            "version": __version__,
            "uptime_seconds": round(time.monotonic() - self._started_at, 3),
            "calls": self.call_count,
            "refused": self.refusal_count,
            "p50_ms": _percentile_ms(durations, 0.50),
            "p99_ms": _percentile_ms(durations, 0.99),
            "memory_kb": measure_memory_kb(),
            **extra,
        }


def measure_memory_kb() -> int:
    """Return the resident memory of this process; the peak, where the system has no current figure."""
    try:
        page_count = int(Path("/proc/self/statm").read_text().split()[1])
        return page_count * resource.getpagesize() // 1024
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # macOS reports bytes, the other systems kilobytes.
        return peak // 1024 if sys.platform == "darwin" else peak


def _percentile_ms(durations: list[float], fraction: float) -> float:
    return round(durations[min(len(durations) - 1, int(len(durations) * fraction))] * 1000, 3) if durations else 0.0
