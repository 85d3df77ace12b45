"""Calls that were refused, whose refusal an SDK counts as a result: they are no calls that ran without a decision."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.integrations.ruling import Ruling

_MAX_CALLS = 1024
"""Number of refused calls that are remembered; the oldest are forgotten."""


class RefusedCalls:
    """The calls that were refused last. When governance fails, the log has no decision about them."""

    def __init__(self) -> None:
        self._calls: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lock = Lock()

    def note(self, ruling: Ruling) -> Ruling:
        """Remember the call if it may not run, and return the ruling."""
        if not ruling.may_run:
            with self._lock:
                self._calls[ruling.action.session_id, ruling.action.call_id] = None
                while len(self._calls) > _MAX_CALLS:
                    self._calls.popitem(last=False)
        return ruling

    def leave_out(self, session_id: str, executed: Mapping[str, str]) -> dict[str, str]:
        """Return the calls (call id → tool) that were not refused."""
        with self._lock:
            return {call_id: tool for call_id, tool in executed.items() if (session_id, call_id) not in self._calls}
