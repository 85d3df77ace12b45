"""Where the state of sessions is kept between evaluations."""

from __future__ import annotations

from contextlib import AbstractContextManager
from threading import RLock
from typing import Protocol, runtime_checkable

from verdikt.model.session_state import SessionState


@runtime_checkable
class SessionStore(Protocol):
    """The port through which session state comes in and goes back."""

    def open(self, session_id: str) -> AbstractContextManager[SessionState]:
        """The state of one session, held by nobody else until the block ends; kept if it ends without an error."""


class InMemorySessionStore:
    """Sessions of this process, gone when it ends; safe for many threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._locks: dict[str, RLock] = {}
        self._states: dict[str, SessionState] = {}

    def open(self, session_id: str) -> AbstractContextManager[SessionState]:
        """The state of one session, held by one thread at a time. What was handed out before does not change."""
        lock = self._locks.get(session_id)
        if lock is None:
            with self._lock:
                lock = self._locks.setdefault(session_id, RLock())
        return _LockedSession(session_id, lock, self._states)


class _LockedSession:
    """A session while somebody holds it: a class rather than a generator, because every decision opens one."""

    __slots__ = ("_lock", "_session_id", "_state", "_states")

    def __init__(self, session_id: str, lock: RLock, states: dict[str, SessionState]) -> None:
        self._session_id = session_id
        self._lock = lock
        self._states = states

    def __enter__(self) -> SessionState:
        self._lock.acquire()
        kept = self._states.get(self._session_id)
        self._state = SessionState(self._session_id) if kept is None else kept.copy()
        return self._state

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            self._states[self._session_id] = self._state
        self._lock.release()
