"""Event loop of the warm process: a leader thread that decides, supervised by the main thread.

The leader accepts connections, reads requests and decides, one request after the other: several threads of one
interpreter would only compete for it. Replies are deferred while more requests wait, so that one sync of the disk
serves several of them. Only the leader touches `_acceptor`, `_queue` and `_deferred_replies`.

The main thread (`serve`) lets another thread lead when a decision or the disk takes long. A thread that has lost the
lead finishes and answers its one request and touches nothing else. The main thread also answers requests whose
deadline has passed while a thread still works on them; `Connection.send_reply` sends only the first of two replies.
"""

import json
import selectors
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from verdikt.daemon import protocol
from verdikt.daemon.acceptor import MAX_BUFFERED_BYTES, MAX_OPEN_CONNECTIONS, Acceptor, Listener
from verdikt.daemon.connection import Connection
from verdikt.daemon.deferred_reply import DeferredReply
from verdikt.daemon.journal import Journal
from verdikt.daemon.leader import LEADER_TURN_SECONDS, LeaderLock
from verdikt.daemon.request import DaemonReply, HookRequest
from verdikt.daemon.stats import DaemonStats
from verdikt.daemon.waiting_room import WaitingRoom
from verdikt.daemon.wakeup import WakeupPipe
from verdikt.errors import DaemonError

# A decision that takes longer will not end: the process stops, so that a new one can take over.
HUNG_SECONDS = 60.0

# How long decisions under way are waited for when the process stops.
SHUTDOWN_SECONDS = 10.0

# How many replies wait for the disk together; more would make the first of them wait too long.
MAX_DEFERRED_REPLIES = 8

TICK_SECONDS, IDLE_TICK_SECONDS = 1.0, 0.25

# Maintenance runs after this long without a request, and under load at most once per interval.
QUIET_SECONDS, MAINTENANCE_INTERVAL_SECONDS = 0.005, 0.05

# Reasons to stop of a process that is still needed, and must be replaced where it serves a port.
REASON_HUNG, REASON_THREAD_FAILED, REASON_OTHER_VERSION = (
    "a decision hangs",
    "a thread failed",
    "a client of another version",
)

# Requests for this host are `verdikt daemon status`.
STATUS_HOST = "@status"


class Server:
    """Serves until it is told to stop, is idle for long, or no longer owns its socket."""

    def __init__(
        self,
        listeners: Sequence[Listener],
        decide: Callable[[HookRequest], DeferredReply],
        journal: Journal,
        *,
        owns_socket: Callable[[], bool],
        extra_stats: Callable[[], dict[str, object]],
        idle_seconds: float,
        maintain: Callable[[], None] = lambda: None,
        on_listeners_closed: Callable[[str], None] = lambda _: None,
        max_open: int = MAX_OPEN_CONNECTIONS,
    ) -> None:
        """`maintain` is called between requests and must be short.

        `on_listeners_closed` is called with the reason to stop, as soon as another process could listen.
        """
        self._decide = decide
        self._journal = journal
        self._owns_socket = owns_socket
        self._extra_stats = extra_stats
        self._idle_seconds = idle_seconds
        self._maintain = maintain
        self._on_listeners_closed = on_listeners_closed
        self.stats = DaemonStats()
        self._stop_reason = ""
        self._last_request_at = time.monotonic()
        self._wakeup = WakeupPipe()
        self._wakeup_selector = selectors.DefaultSelector()
        self._wakeup_selector.register(self._wakeup, selectors.EVENT_READ)

        self._lock = threading.Lock()
        self._unanswered: dict[Connection, None] = {}
        """Connections with a complete request and no reply; guarded by the lock."""
        self._leader = LeaderLock(self._run_leader)
        self._acceptor = Acceptor(listeners, journal, self.stats, max_open)
        self._queue: list[Connection] = []
        """Connections whose request is to be decided."""
        self._deferred_replies: list[tuple[Connection, DeferredReply]] = []
        self._waiting_room = WaitingRoom(
            self._send_when_durable, lambda error: journal.write_line(f"failed: {type(error).__name__}")
        )
        # At first too: what started this process was decided without it, and may wait for what maintenance starts.
        self._needs_maintenance = True
        """Whether something was decided since the last maintenance."""
        self._last_maintenance_at = 0.0
        self._is_drained = False
        """Whether every request was answered after the listeners were closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def wakeup_fd(self) -> int:
        """The descriptor to which Python writes a byte for each signal, to wake the main thread."""
        return self._wakeup.write_fd

    def request_stop(self, reason: str) -> None:
        """Stop after every request has its reply. Callable from any thread and from a signal handler."""
        self._stop_reason = self._stop_reason or reason
        self._wakeup.notify()

    def close(self) -> None:
        """End the threads and close sockets and pipes; `serve` must have returned."""
        self._acceptor.wakeup.notify()
        if not self._leader.close(SHUTDOWN_SECONDS):
            # A thread that hangs in a decision would write to a descriptor that may belong to something else by then.
            return
        self._wakeup_selector.close()
        self._wakeup.close()
        self._acceptor.close()

    # The main thread.

    def serve(self) -> str:
        """Serve until the end and return the reason for it."""
        if not self._leader.add_follower():
            raise DaemonError("cannot start a thread: the system's limit is reached; end other processes and try again")
        checked_at = time.monotonic()
        while not self._stop_reason:
            self._wait_for_wakeup()
            now = time.monotonic()
            self._supervise_requests(now)
            if now - checked_at >= TICK_SECONDS:
                checked_at = now
                self._check_stop_conditions(now)
        self._drain_and_stop()
        return self._stop_reason

    def _wait_for_wakeup(self) -> None:
        is_busy = self._stop_reason or self._unanswered or time.monotonic() - self._last_request_at < TICK_SECONDS
        if self._wakeup_selector.select(LEADER_TURN_SECONDS if is_busy else IDLE_TICK_SECONDS):
            self._wakeup.drain()

    def _supervise_requests(self, now: float) -> None:
        """Replace a leader that waits for git, the disk or a lock; answer requests whose deadline has passed."""
        self._leader.replace_slow_leader(now)
        with self._lock:
            overdue = [
                connection
                for connection in self._unanswered
                if connection.reply_deadline is not None and now > connection.reply_deadline
            ]
        for connection in overdue:
            connection.reply_deadline = None  # the decision may take much longer; reply once
            if connection.send_reply(DaemonReply.refusal("the warm process did not decide in time")):
                self.stats.count_refusal()

    def _check_stop_conditions(self, now: float) -> None:
        with self._lock:
            oldest_request_at = min((connection.completed_at for connection in self._unanswered), default=now)
        if self._unanswered or self._acceptor:
            self._last_request_at = now
        if max(now - oldest_request_at, self._leader.get_longest_seconds(now)) > HUNG_SECONDS:
            self.request_stop(REASON_HUNG)
        elif now - self._last_request_at > self._idle_seconds:
            self.request_stop("nothing to do")
        elif not self._owns_socket():
            self.request_stop("the socket is not ours any more")

    def _drain_and_stop(self) -> None:
        """Wait until the leader has answered every request; answer in its place when that takes too long."""
        self._waiting_room.close()
        deadline, has_reported = time.monotonic() + SHUTDOWN_SECONDS, False
        while not self._is_drained and time.monotonic() < deadline:
            self._acceptor.wakeup.notify()
            self._wait_for_wakeup()
            self._supervise_requests(time.monotonic())
            if self._acceptor.is_closed and not has_reported:
                has_reported = True
                self._on_listeners_closed(self._stop_reason)
        if not self._acceptor.is_closed and self._leader.force():
            # The leader hangs and no thread could replace it, but the next process needs the lock and the port.
            self._enqueue_requests(self._acceptor.close_listeners())
        if not has_reported:
            self._on_listeners_closed(self._stop_reason)
        with self._lock:
            unanswered = list(self._unanswered)
        for connection in unanswered:
            connection.send_reply(DaemonReply.refusal("the warm process did not decide in time"))
        self._acceptor.send_retry_to_all()

    # The leader.

    def _run_leader(self) -> None:
        """Work until the lead is lost. No error may end the thread: the process would stop answering."""
        while self._leader.is_leader():
            try:
                self._run_turn()
            except Exception as error:
                self._handle_leader_failure(error)

    def _run_turn(self) -> None:
        if self._stop_reason:
            self._enqueue_requests(self._acceptor.close_listeners())
        self._acceptor.expire_connections()
        has_capacity = self._leader.has_capacity()
        if not self._queue or not has_capacity:
            self._enqueue_requests(self._acceptor.poll_requests(self._choose_wait_seconds()))
        while not has_capacity and sum(len(connection.data) for connection in self._queue) > MAX_BUFFERED_BYTES:
            self._send_when_durable(
                self._queue.pop(), DeferredReply(DaemonReply.refusal("too much is being asked at once"))
            )
        if self._queue and has_capacity and len(self._deferred_replies) < MAX_DEFERRED_REPLIES:
            self._process_request(self._queue.pop(0))
        elif self._deferred_replies:
            self._flush_deferred()
        elif self._needs_maintenance:
            self._run_maintenance()
        elif self._acceptor.is_closed and self._acceptor.is_drained() and not self._unanswered:
            self._is_drained = True
            self._wakeup.notify()

    def _choose_wait_seconds(self) -> float | None:
        """Return how long to wait for the next request; None for as long as it takes."""
        if self._deferred_replies:
            return 0
        if self._needs_maintenance:
            return QUIET_SECONDS if time.monotonic() - self._last_maintenance_at < MAINTENANCE_INTERVAL_SECONDS else 0
        if self._stop_reason or self._queue:
            return LEADER_TURN_SECONDS
        return TICK_SECONDS if self._acceptor else None

    def _enqueue_requests(self, connections: list[Connection]) -> None:
        if connections:
            with self._lock:
                self._unanswered.update(dict.fromkeys(connections))
            self._queue += connections
            self._last_request_at = time.monotonic()

    def _handle_leader_failure(self, error: Exception) -> None:
        """Stop after an unexpected error, so that a fresh process takes over; requests are served until then."""
        self._journal.write_line(f"failed to lead: {type(error).__name__}")
        self._leader.reclaim()
        self.request_stop(REASON_THREAD_FAILED)
        time.sleep(LEADER_TURN_SECONDS)  # the error may come back at once, and the loop must not spin

    # Work that may block: the leader yields the lead meanwhile.

    def _process_request(self, connection: Connection) -> None:
        """Decide a request. A thread that still leads afterwards defers the reply."""
        self._needs_maintenance = True
        self._leader.yield_()
        deferred = self._decide_request(connection)
        is_waiting = self._waiting_room.admit(connection, deferred)
        if self._leader.reclaim():
            if not is_waiting:
                self._deferred_replies.append((connection, deferred))
        else:
            if not is_waiting:
                self._send_when_durable(connection, deferred)
            # The new leader may already have done the maintenance, without this decision.
            self._needs_maintenance = True
            self._acceptor.wakeup.notify()

    def _decide_request(self, connection: Connection) -> DeferredReply:
        try:
            if connection.has_hung_up():  # without a reader, a decision would only be a stray entry in the log
                return DeferredReply(DaemonReply.refusal("the client went away"))
            request = connection.read_request()
            return self._build_status_reply() if request.host == STATUS_HOST else self._decide(request)
        except protocol.MalformedMessage as error:
            return DeferredReply(DaemonReply.refusal(str(error)))
        except Exception as error:
            self._journal.write_line(f"failed: {type(error).__name__}")
            return DeferredReply(DaemonReply.refusal(f"the warm process failed with {type(error).__name__}"))

    def _flush_deferred(self) -> None:
        """Send the deferred replies."""
        deferred_replies, self._deferred_replies = self._deferred_replies, []
        self._leader.yield_()
        for connection, deferred in deferred_replies:
            self._send_when_durable(connection, deferred)
        self._leader.reclaim()

    def _run_maintenance(self) -> None:
        self._needs_maintenance, self._last_maintenance_at = False, time.monotonic()
        self._leader.yield_()
        try:
            self._maintain()
        except Exception as error:
            self._journal.write_line(f"maintenance failed: {type(error).__name__}")
        self._leader.reclaim()

    def _send_when_durable(self, connection: Connection, deferred: DeferredReply) -> None:
        """Sync the log and reply. Errors are stopped here, because the replies after this one must still be sent."""
        try:
            reply = deferred.wait_until_durable()
            if reply.ends_process:
                self.request_stop(REASON_OTHER_VERSION)
            if reply.kind == protocol.KIND_REFUSED:
                self.stats.count_refusal()
            else:
                self.stats.count_reply(time.monotonic() - connection.completed_at)
            connection.send_reply(reply)
        except Exception as error:
            self._journal.write_line(f"failed to answer: {type(error).__name__}")
            connection.send_reply(DaemonReply.refusal(f"the warm process failed with {type(error).__name__}"))
            connection.close()
        finally:
            with self._lock:
                self._unanswered.pop(connection, None)

    def _build_status_reply(self) -> DeferredReply:
        report = self.stats.to_report(
            open=len(self._acceptor), pending=len(self._unanswered) - 1, **self._extra_stats()
        )
        return DeferredReply(DaemonReply(protocol.KIND_ANSWER, 0, json.dumps(report).encode() + b"\n"))
