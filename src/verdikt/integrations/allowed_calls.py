"""Calls that were let through and have not ended, for SDKs in which other extensions act between decision and tool."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.integrations.ruling import Ruling
    from verdikt.model.action import Action

_MAX_CALLS = 4096
"""Number of running calls that are remembered; an older one is decided again."""


class AllowedCalls:
    """The rulings by which calls may run, until they end. Safe for many tasks and threads."""

    def __init__(self) -> None:
        self._rulings: OrderedDict[tuple[str, str], Ruling] = OrderedDict()
        self._lock = Lock()

    def add(self, ruling: Ruling) -> None:
        """Remember that a call may run, with exactly these arguments."""
        if not ruling.may_run:
            raise ValueError("only a call that may run is remembered")
        with self._lock:
            self._rulings[_get_key(ruling.action)] = ruling
            while len(self._rulings) > _MAX_CALLS:
                self._rulings.popitem(last=False)

    def get(self, action: Action) -> Ruling | None:
        """Return the ruling about the call with this action's id, whatever its tool and its arguments were."""
        with self._lock:
            return self._rulings.get(_get_key(action))

    def covers(self, action: Action) -> bool:
        """Return whether this very call may run: same id, same tool, same arguments."""
        ruling = self.get(action)
        return ruling is not None and ruling.action == action

    def pop(self, action: Action) -> Ruling | None:
        """Return the ruling by which a call has run, and forget it; None when none let it through."""
        with self._lock:
            return self._rulings.pop(_get_key(action), None)


def _get_key(action: Action) -> tuple[str, str]:
    return action.session_id, action.call_id
