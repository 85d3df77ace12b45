"""Measure how the cost of a function grows with its input."""

import time
from collections.abc import Callable

FACTOR = 8
LINEAR_GROWTH = 24.0
"""Between 8, which linear cost gives for an input 8 times as long, and 64, which quadratic cost gives."""

_FLOOR_SECONDS = 0.001
_ROUNDS = 3


def measure_growth(function: Callable[[str], object], build_text: Callable[[int], str], count: int) -> float:
    """Return how many times the CPU time of a text of `count` parts is that of a text with an eighth of them.

    `re` counts no steps, so work is measured in CPU time, as a ratio within one process, by the least of a few rounds.
    """
    short, long = build_text(count // FACTOR), build_text(count)
    # Below the floor the clock is too coarse for a ratio, and the cost too small to matter.
    return measure_cpu(function, long) / max(measure_cpu(function, short), _FLOOR_SECONDS)


def measure_cpu(function: Callable[[str], object], text: str) -> float:
    """Return the CPU time that a text costs, by the least of a few rounds."""
    seconds = []
    for _ in range(_ROUNDS):
        started_at = time.process_time()
        function(text)
        seconds.append(time.process_time() - started_at)
    return min(seconds)
