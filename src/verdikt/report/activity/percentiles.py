"""Percentiles over any number of durations in little memory."""

from collections import Counter


class Percentiles:
    """Counts values rounded to two significant digits, so that a long log needs at most a few hundred counters."""

    def __init__(self) -> None:
        self._counts: Counter[float] = Counter()

    def add(self, value: float) -> None:
        """Count a value that is not negative."""
        self._counts[float(f"{value:.1e}")] += 1

    @property
    def total(self) -> int:
        """How many values were counted."""
        return self._counts.total()

    def find_percentile(self, fraction: float) -> float:
        """Return the value below which a fraction of all values lies; 0 without values."""
        remaining = fraction * self.total
        for value in sorted(self._counts):
            remaining -= self._counts[value]
            if remaining <= 0:
                return value
        return 0.0
