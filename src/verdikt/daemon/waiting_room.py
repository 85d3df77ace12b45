"""Calls that wait for people: decided once as not allowed yet, and again when the answer is there.

One thread looks after all of them, so that no thread that decides ever waits for a person. It runs only while a call
waits. Whatever goes wrong, a call is answered as it was decided before it came here, which is a refusal.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from verdikt.daemon import protocol
from verdikt.daemon.connection import Connection
from verdikt.daemon.deferred_reply import AwaitedReply, DeferredReply
from verdikt.daemon.request import DaemonReply

LOOK_SECONDS = 0.25
"""How often a waiting call is looked after; a person does not notice it."""

MAX_WAITING_CALLS = 64
"""Further calls are answered at once. Each holds a connection, and an agent makes few calls at a time."""


@dataclass(slots=True, eq=False)
class _WaitingCall:
    connection: Connection
    refusal: DaemonReply
    """The decision as it was before any answer; its log entries are on the disk."""
    awaited: AwaitedReply
    since: float = field(default_factory=time.monotonic)


class WaitingRoom:
    """Holds calls until their approval request was answered, their time is over, or the client has gone."""

    def __init__(
        self, send: Callable[[Connection, DeferredReply], None], on_error: Callable[[Exception], None]
    ) -> None:
        """`send` syncs and sends a reply; it must not raise."""
        self._send = send
        self._on_error = on_error
        self._lock = threading.Lock()  # guards the attributes below
        self._calls: list[_WaitingCall] = []
        self._is_running = self._is_closed = False
        self._wakeup = threading.Event()

    def admit(self, connection: Connection, deferred: DeferredReply) -> bool:
        """Take a call in and tell its client to wait; return False when it has to be answered now."""
        awaited = deferred.awaited
        if awaited is None or not self._can_admit(awaited):
            return False
        # A call waits only when its refusal is safe on the disk.
        reply = deferred.wait_until_durable()
        if reply.kind != protocol.KIND_ANSWER or not connection.send_wait_notice():
            return False
        with self._lock:
            self._calls.append(_WaitingCall(connection, reply, awaited))
            needs_thread, self._is_running = not self._is_running, True
        if needs_thread:
            try:
                threading.Thread(target=self._run, name="waiting-room", daemon=True).start()
            except RuntimeError:  # the system's limit of threads is reached
                self._answer_all()
        return True

    def _can_admit(self, awaited: AwaitedReply) -> bool:
        with self._lock:
            if self._is_closed or len(self._calls) >= MAX_WAITING_CALLS:
                return False
        try:
            # The answer may be there already: then the first look decides again.
            return awaited.can_be_answered(0.0) or awaited.is_answered()
        except Exception as error:
            self._on_error(error)
            return False

    def close(self) -> None:
        """Answer every call as it was decided; called when the process is about to end, once or several times."""
        with self._lock:
            self._is_closed = True
        self._wakeup.set()

    def _run(self) -> None:
        while True:
            self._wakeup.wait(LOOK_SECONDS)
            with self._lock:
                is_closed, calls = self._is_closed, list(self._calls)
            if is_closed:
                self._answer_all()
                return
            ended = [call for call in calls if self._look_after(call)]
            with self._lock:
                self._calls = [call for call in self._calls if call not in ended]
                if not self._calls:
                    self._is_running = False
                    return

    def _answer_all(self) -> None:
        with self._lock:
            calls, self._calls, self._is_running = self._calls, [], False
        for call in calls:
            self._answer(call, DeferredReply(call.refusal))

    def _look_after(self, call: _WaitingCall) -> bool:
        """Return whether a call waits no longer; then it was answered, unless its client has gone."""
        waited_seconds = time.monotonic() - call.since
        if call.connection.has_hung_up():
            # Deciding again could use up the answer for a call that is never made.
            self._answer(call, DeferredReply(DaemonReply.refusal("the client went away")))
            return True
        try:
            if waited_seconds < call.awaited.patience_seconds and call.awaited.can_be_answered(waited_seconds):
                return False
            # Also when the time is over: the answer may have come since the last look.
            deferred = call.awaited.decide_again() if call.awaited.is_answered() else DeferredReply(call.refusal)
        except Exception as error:
            self._on_error(error)
            deferred = DeferredReply(call.refusal)
        self._answer(call, deferred)
        return True

    def _answer(self, call: _WaitingCall, deferred: DeferredReply) -> None:
        # The statistics are about decisions, and a hung process is told by how long one takes.
        call.connection.completed_at = time.monotonic()
        self._send(call.connection, deferred)
