"""Counters and gauges in the text format of Prometheus."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping

COUNTERS: dict[str, str] = {
    "verdikt_entries_received_total": "Entries that machines sent to this process, repeated ones too.",
    "verdikt_jobs_total": "Jobs that this process did, by kind and result.",
    "verdikt_request_seconds_total": "Seconds that this process spent on requests, waiting included.",
    "verdikt_requests_total": "Requests that this process answered.",
}
"""Counter → what it counts."""

GAUGES: dict[str, str] = {
    "verdikt_jobs_due": "Jobs of the database that are due and that no worker has taken.",
    "verdikt_jobs_given_up": "Jobs of the database that failed too often to be tried again.",
}
"""Gauge → what it measures."""


class Metrics:
    """Named counters with labels; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: defaultdict[tuple[str, tuple[tuple[str, str], ...]], float] = defaultdict(float)

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to one of the `COUNTERS`."""
        assert name in COUNTERS, name
        with self._lock:
            self._counts[(name, tuple(sorted(labels.items())))] += amount

    def render(self, gauges: Mapping[str, float]) -> str:
        """Return all counters, sorted, and these values of `GAUGES`."""
        with self._lock:
            items = sorted(self._counts.items())
        lines, last = [], ""
        for (name, labels), value in items:
            if name != last:
                lines += [f"# HELP {name} {COUNTERS[name]}", f"# TYPE {name} counter"]
                last = name
            text = ",".join(f'{key}="{_escape(label)}"' for key, label in labels)
            lines.append(f"{name}{{{text}}} {_format(value)}" if text else f"{name} {_format(value)}")
        for name, value in sorted(gauges.items()):
            lines += [f"# HELP {name} {GAUGES[name]}", f"# TYPE {name} gauge", f"{name} {_format(value)}"]
        return "\n".join(lines) + "\n"


def _format(value: float) -> str:
    """Return every digit: a rate is the difference of two large numbers."""
    return str(int(value)) if value == int(value) else repr(value)


def _escape(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
