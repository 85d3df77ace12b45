"""Where the state of sessions is kept between evaluations."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import RLock
from typing import Protocol, runtime_checkable

from verdikt.model.session import SessionState


@runtime_checkable
class SessionStore(Protocol):
    """The port through which session state comes in and goes back."""

    def open(self, session_id: str) -> AbstractContextManager[SessionState]:
        """The state of one session, held by nobody else until the block ends; kept if it ends without an error."""
        ...


class InMemorySessionStore:
    """Sessions of this process, gone when it ends; safe for many threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._locks: dict[str, RLock] = {}
        self._states: dict[str, SessionState] = {}

    @contextmanager
    def open(self, session_id: str) -> Iterator[SessionState]:
        """The state of one session, held by one thread at a time. What was handed out before does not change."""
        lock = self._locks.get(session_id)
        if lock is None:
            with self._lock:
                lock = self._locks.setdefault(session_id, RLock())
        with lock:
            kept = self._states.get(session_id)
            state = SessionState(session_id) if kept is None else kept.copy()
            yield state
            self._states[session_id] = state
