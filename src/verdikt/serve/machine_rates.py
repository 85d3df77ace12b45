"""How much one machine may send: a replica's time belongs to all machines, also while one of them floods it."""

from __future__ import annotations

import math

ENTRIES_PER_SECOND = 500
BURST_ENTRIES = 20_000
REQUEST_ENTRIES = 20
"""A request counts as this many entries: checking its signature costs as much, whatever is in it."""
MAX_MACHINES = 100_000


class MachineRates:
    """What each machine has left, of one event loop; a machine that was quiet may send its burst at once."""

    def __init__(self) -> None:
        self._left: dict[int, tuple[float, float]] = {}

    def take(self, machine: int, entries: int, now: float) -> None:
        """Count entries that were accepted; they may be more than is left, which the next request waits for."""
        self._left[machine] = (self._read(machine, now) - entries, now)

    def find_wait(self, machine: int, now: float) -> int:
        """Return for how many seconds a machine has to wait; 0 when it may send now."""
        left = self._read(machine, now)
        return math.ceil(-left / ENTRIES_PER_SECOND) if left < 0 else 0

    def _read(self, machine: int, now: float) -> float:
        if len(self._left) > MAX_MACHINES:
            self._left.clear()
        left, at = self._left.get(machine, (float(BURST_ENTRIES), now))
        return min(left + max(now - at, 0.0) * ENTRIES_PER_SECOND, BURST_ENTRIES)
