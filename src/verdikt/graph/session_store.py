"""Stores of session state between evaluations."""

from __future__ import annotations

from contextlib import AbstractContextManager
from threading import RLock
from typing import Protocol, runtime_checkable

from verdikt.model.session_state import SessionState


@runtime_checkable
class SessionStore(Protocol):
    """The port through which session state is loaded and saved."""

    def open(self, session_id: str) -> AbstractContextManager[SessionState]:
        """Return the state of one session as a context manager: locked inside, saved if it ends without an error."""


class InMemorySessionStore:
    """Sessions of this process; safe for many threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._locks: dict[str, RLock] = {}
        self._states: dict[str, SessionState] = {}

    def open(self, session_id: str) -> AbstractContextManager[SessionState]:
        """Return a copy of one session's state as a context manager, for one thread at a time."""
        # One lock per session, so that sessions do not wait for each other; the common one only guards their creation.
        lock = self._locks.get(session_id)
        if lock is None:
            with self._lock:
                lock = self._locks.setdefault(session_id, RLock())
        return _LockedSession(session_id, lock, self._states)


# A class rather than a generator function: every decision opens a session, and `contextmanager` doubles the cost.
class _LockedSession:
    """The context manager of one session."""

    __slots__ = ("_lock", "_session_id", "_state", "_states")

    def __init__(self, session_id: str, lock: RLock, states: dict[str, SessionState]) -> None:
        self._session_id = session_id
        self._lock = lock
        self._states = states

    def __enter__(self) -> SessionState:
        self._lock.acquire()
        state = self._states.get(self._session_id)
        self._state = SessionState(self._session_id) if state is None else state.copy()
        return self._state

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        # After an error the session keeps the state it had before.
        if kind is None:
            self._states[self._session_id] = self._state
        self._lock.release()
