"""The only place that reads the time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """The port through which time comes in."""

    def now(self) -> float:
        """Return the seconds since the epoch."""

    def sleep(self, seconds: float) -> None:
        """Wait that many seconds."""


class SystemClock:
    """The machine's clock."""

    # The C functions themselves, without a Python frame: every decision reads the time several times.
    now = staticmethod(time.time)
    sleep = staticmethod(time.sleep)
