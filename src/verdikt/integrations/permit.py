"""A permit: the decision that an adapter leaves for the tool, so that the tool can tell whether it was decided.

Extensions of an SDK can run a tool past the adapter, or change its arguments behind it. A tool that finds no permit for
what it is about to do has to ask for a decision by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

from verdikt.integrations.tool_kinds import to_payload

if TYPE_CHECKING:
    from verdikt.integrations.ruling import Ruling


class Permit:
    """A decided call: good for one execution of this tool with these arguments."""

    def __init__(self, tool: str, arguments: object, ruling: Ruling, *, call_id: str = "") -> None:
        self.ruling = ruling
        self.notes: list[str] = []  # what the model should know of the result
        self._call = (tool, call_id, to_payload(arguments))
        self._is_used = False
        self._lock = Lock()

    def take(self, tool: str, arguments: object, *, call_id: str = "") -> bool:
        """Return whether an execution is the one that may run, for the first time."""
        is_same = self.ruling.may_run and self._is_call(tool, arguments, call_id)
        with self._lock:
            is_valid = is_same and not self._is_used
            self._is_used = self._is_used or is_valid
        return is_valid

    def is_spent(self, tool: str, arguments: object, *, call_id: str = "") -> bool:
        """Return whether the execution would be a second one of the call that this permit was for."""
        with self._lock:
            is_used = self._is_used
        return is_used and self._is_call(tool, arguments, call_id)

    def _is_call(self, tool: str, arguments: object, call_id: str) -> bool:
        try:
            return self._call == (tool, call_id, to_payload(arguments))
        except Exception:
            return False  # arguments that cannot be compared are not those that were decided


CURRENT_PERMIT: ContextVar[Permit | None] = ContextVar("verdikt_permit", default=None)
"""The permit of the call that is made in this task or thread."""


def take_permit(tool: str, arguments: object, *, call_id: str = "") -> Permit | None:
    """Return the permit for an execution, which is then used; None when it was not decided."""
    permit = CURRENT_PERMIT.get()
    return permit if permit is not None and permit.take(tool, arguments, call_id=call_id) else None


def is_permit_spent(tool: str, arguments: object, *, call_id: str = "") -> bool:
    """Return whether this very call has run here before, by the permit that it had."""
    permit = CURRENT_PERMIT.get()
    return permit is not None and permit.is_spent(tool, arguments, call_id=call_id)


@contextmanager
def use_permit(permit: Permit) -> Iterator[None]:
    """Let a tool execute the call of a permit in this block."""
    token = CURRENT_PERMIT.set(permit)
    try:
        yield
    finally:
        CURRENT_PERMIT.reset(token)


def is_inside_call(session_id: str) -> bool:
    """Return whether a governed tool of this session runs here: then a run is that of an agent which the tool uses.

    Its prompt is no request of a person, and its end is not the end of the work.
    """
    permit = CURRENT_PERMIT.get()
    return permit is not None and permit.ruling.action.session_id == session_id
