"""Counters in the text format of Prometheus."""

from __future__ import annotations

import threading
from collections import defaultdict


class Metrics:
    """Named counters with labels; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: defaultdict[tuple[str, tuple[tuple[str, str], ...]], float] = defaultdict(float)

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[(name, tuple(sorted(labels.items())))] += amount

    def render(self) -> str:
        """Return all counters, sorted."""
        with self._lock:
            items = sorted(self._counts.items())
        lines, last = [], ""
        for (name, labels), value in items:
            if name != last:
                lines.append(f"# TYPE {name} counter")
                last = name
            text = ",".join(f'{key}="{_escape(label)}"' for key, label in labels)
            lines.append(f"{name}{{{text}}} {value:g}" if text else f"{name} {value:g}")
        return "\n".join(lines) + "\n"


def _escape(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
