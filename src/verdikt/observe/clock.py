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


def format_local_time(seconds: float) -> str:
    """Return a moment as people at this machine read it: hour and minute, with the date when it is another day."""
    moment = time.localtime(seconds)
    is_today = moment[:3] == time.localtime()[:3]
    return time.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M", moment)
