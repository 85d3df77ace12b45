"""Calls that were let through and have not ended, for SDKs in which other extensions act between decision and tool."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING

from verdikt.integrations.tool_kinds import is_same_call

if TYPE_CHECKING:
    from verdikt.integrations.ruling import Ruling
    from verdikt.integrations.tool_kinds import ToolKind

_MAX_CALLS = 4096
"""Number of running calls that are remembered; an older one is decided again."""


class AllowedCalls:
    """The rulings by which calls may run, until they end. Safe for many tasks and threads."""

    def __init__(self, kinds: Mapping[str, ToolKind]) -> None:
        """Remember calls whose tools have these kinds."""
        self._kinds = kinds
        self._rulings: OrderedDict[tuple[str, str], Ruling] = OrderedDict()
        self._unused: set[tuple[str, str]] = set()
        self._lock = Lock()

    def add(self, ruling: Ruling, *, is_used: bool = False) -> None:
        """Remember that a call may run, with exactly these arguments; `is_used` when it is about to run now."""
        if not ruling.may_run:
            raise ValueError("only a call that may run is remembered")
        key = _get_key(ruling.action.session_id, ruling.action.call_id)
        with self._lock:
            self._rulings[key] = ruling
            if is_used:
                self._unused.discard(key)
            else:
                self._unused.add(key)
            while len(self._rulings) > _MAX_CALLS:
                self._unused.discard(self._rulings.popitem(last=False)[0])

    def use(self, session_id: object, call_id: object, tool: str, arguments: object) -> Ruling | None:
        """Return the ruling by which this very call may run now; None when it was not let through, or has run.

        Same id, same tool, same arguments; good for one run. The ruling stays until the call ends.
        """
        key = _get_key(session_id, call_id)
        with self._lock:
            ruling = self._rulings.get(key) if key in self._unused else None
            if ruling is None or not is_same_call(self._kinds, ruling.action, tool, arguments):
                return None
            self._unused.discard(key)
        return ruling

    def get(self, session_id: object, call_id: object) -> Ruling | None:
        """Return the ruling about the call with this id, whatever its tool and its arguments were."""
        with self._lock:
            return self._rulings.get(_get_key(session_id, call_id))

    def pop(self, session_id: object, call_id: object) -> Ruling | None:
        """Return the ruling by which a call has run, and forget it; None when none let it through."""
        key = _get_key(session_id, call_id)
        with self._lock:
            self._unused.discard(key)
            return self._rulings.pop(key, None)


def _get_key(session_id: object, call_id: object) -> tuple[str, str]:
    return str(session_id or "default"), str(call_id or "")  # as in an action
