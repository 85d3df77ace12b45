"""The warm process at work: one thread leads, the first one watches over it.

The thread that leads lets clients in, hears them out and decides, one after the other: threads of one interpreter that decide at
once only get in one another's way. Answers are held back until nobody else has asked, so that the disk is waited for once. It
alone touches `_lobby`, `_heard` and `_held`.

The thread that watches (`serve`) has another one lead when a decision takes long, or the disk does: whoever has lost the lead
ends what it is at and answers that, and touches nothing else. What must be answered in time is answered by the thread that
watches while another is still at it. `Connection.answer` sees to it that the first of them is heard and the other is not.
"""

import json
import selectors
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from verdikt.daemon import protocol
from verdikt.daemon.acceptor import MAX_BUFFERED_BYTES, MAX_OPEN_CONNECTIONS, Acceptor, Listener
from verdikt.daemon.connection import Connection
from verdikt.daemon.deferred_reply import DeferredReply
from verdikt.daemon.journal import Journal
from verdikt.daemon.leader import LEADER_TURN_SECONDS, LeaderLock
from verdikt.daemon.request import DaemonReply
from verdikt.daemon.stats import DaemonStats
from verdikt.daemon.wakeup import WakeupPipe
from verdikt.errors import DaemonError

if TYPE_CHECKING:
    from verdikt.daemon.request import HookRequest

HUNG_SECONDS = 60.0
"""A decision that takes longer will not end: the process makes room for a new one."""

SHUTDOWN_SECONDS = 10.0
"""How long decisions under way are waited for when the process ends."""

MAX_DEFERRED_REPLIES = 8
"""How many answers are held back to wait for the disk together."""

TICK_SECONDS, IDLE_TICK_SECONDS = 1.0, 0.25

QUIET_SECONDS, MAINTENANCE_INTERVAL_SECONDS = 0.005, 0.05
"""When nobody has asked for so long there is time for what can wait; under load now and then, at the next occasion."""

REASON_HUNG, REASON_THREAD_FAILED, REASON_OTHER_VERSION = (
    "a decision hangs",
    "a thread failed",
    "a client of another version",
)
"""Why a process ends that is still wanted."""

STATUS_HOST = "@status"
"""The host by whose name the command line asks how the process is."""


class Server:
    """Serves until it is told to leave, has nothing to do for long, or finds another in its place."""

    def __init__(
        self,
        listeners: Sequence[Listener],
        decide: "Callable[[HookRequest], DeferredReply]",
        journal: Journal,
        *,
        owns_socket: Callable[[], bool],
        extra_stats: Callable[[], dict[str, object]],
        idle_seconds: float,
        maintain: Callable[[], None] = lambda: None,
        on_listeners_closed: Callable[[str], None] = lambda _: None,
        max_open: int = MAX_OPEN_CONNECTIONS,
    ) -> None:
        """`rest` is called when nobody asks, and must be short; `gone` when there is room for another process."""
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
        """Everybody who has asked and was not answered; under the lock."""
        self._leader = LeaderLock(self._run_leader)
        self._acceptor = Acceptor(listeners, journal, self.stats, max_open)
        self._queue: list[Connection] = []
        """Whose question is next."""
        self._deferred_replies: list[tuple[Connection, DeferredReply]] = []
        """Decided, and not answered yet."""
        self._needs_maintenance = False
        """Whether something was decided since there was time for what can wait."""
        self._last_maintenance_at = 0.0
        self._is_drained = False
        """Whether everybody was answered after the doors were shut."""

    @property
    def wakeup_fd(self) -> int:
        """Where a signal's byte wakes the thread that watches."""
        return self._wakeup.write_fd

    def request_stop(self, reason: str) -> None:
        """Lets everybody who asked have an answer, and then ends. Callable from any thread and from a signal handler."""
        self._stop_reason = self._stop_reason or reason
        self._wakeup.notify()

    # The thread that watches.

    def serve(self) -> str:
        """Serves; why it ended."""
        if not self._leader.add_follower():
            raise DaemonError("expected to start a thread, found no room for one: end something and try again")
        checked = time.monotonic()
        while not self._stop_reason:
            self._wait_for_wakeup()
            now = time.monotonic()
            self._supervise_requests(now)
            if now - checked >= TICK_SECONDS:
                checked = now
                self._check_stop_conditions(now)
        self._drain_and_stop()
        return self._stop_reason

    def _wait_for_wakeup(self) -> None:
        busy = self._stop_reason or self._unanswered or time.monotonic() - self._last_request_at < TICK_SECONDS
        if self._wakeup_selector.select(LEADER_TURN_SECONDS if busy else IDLE_TICK_SECONDS):
            self._wakeup.drain()

    def _supervise_requests(self, now: float) -> None:
        """Has another thread lead while one waits for git, for the disk or for a lock; answers those whose time is over."""
        self._leader.replace_slow_leader(now)
        with self._lock:
            late = [each for each in self._unanswered if each.reply_deadline is not None and now > each.reply_deadline]
        for connection in late:
            connection.reply_deadline = None  # it is told once, and may be waited for long
            if connection.send_reply(DaemonReply.refusal("the warm process did not decide in time")):
                self.stats.count_refusal()

    def _check_stop_conditions(self, now: float) -> None:
        with self._lock:
            oldest = min((each.completed_at for each in self._unanswered), default=now)
        if self._unanswered or self._acceptor:
            self._last_request_at = now
        if max(now - oldest, self._leader.get_longest_seconds(now)) > HUNG_SECONDS:
            self.request_stop(REASON_HUNG)
        elif now - self._last_request_at > self._idle_seconds:
            self.request_stop("nothing to do")
        elif not self._owns_socket():
            self.request_stop("the socket is not ours any more")

    def _drain_and_stop(self) -> None:
        """Whoever has asked is answered."""
        end, told = time.monotonic() + SHUTDOWN_SECONDS, False
        while not self._is_drained and time.monotonic() < end:
            self._acceptor.wakeup.notify()
            self._wait_for_wakeup()
            self._supervise_requests(time.monotonic())
            if self._acceptor.is_closed and not told:
                told = True
                self._on_listeners_closed(self._stop_reason)
        if not self._acceptor.is_closed and self._leader.force():
            # Whoever leads hangs and no other can: the place and the port are needed by whoever follows.
            self._enqueue_requests(self._acceptor.close_listeners())
        if not told:
            self._on_listeners_closed(self._stop_reason)
        with self._lock:
            left = list(self._unanswered)
        for connection in left:
            connection.send_reply(DaemonReply.refusal("the warm process did not decide in time"))
        self._acceptor.send_retry_to_all()

    # The thread that leads.

    def _run_leader(self) -> None:
        """Leads until it has lost the lead; whatever fails, somebody leads."""
        while self._leader.is_leader():
            try:
                self._run_turn()
            except Exception as error:
                self._handle_leader_failure(error)

    def _run_turn(self) -> None:
        if self._stop_reason:
            self._enqueue_requests(self._acceptor.close_listeners())
        self._acceptor.expire_connections()
        room = self._leader.has_capacity()
        if not self._queue or not room:
            self._enqueue_requests(self._acceptor.poll_requests(self._choose_wait_seconds()))
        while not room and sum(len(each.data) for each in self._queue) > MAX_BUFFERED_BYTES:
            self._send_when_durable(
                self._queue.pop(), DeferredReply(DaemonReply.refusal("too much is being asked at once"))
            )
        if self._queue and room and len(self._deferred_replies) < MAX_DEFERRED_REPLIES:
            self._process_request(self._queue.pop(0))
        elif self._deferred_replies:
            self._flush_deferred()
        elif self._needs_maintenance:
            self._run_maintenance()
        elif self._acceptor.is_closed and self._acceptor.is_drained() and not self._unanswered:
            self._is_drained = True
            self._wakeup.notify()

    def _choose_wait_seconds(self) -> float | None:
        """How long to wait for somebody to ask."""
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
        """Makes room for another process after what should not happen; meanwhile whoever asks is answered as well as can be."""
        self._journal.write_line(f"failed to lead: {type(error).__name__}")
        self._leader.reclaim()
        self.request_stop(REASON_THREAD_FAILED)
        time.sleep(LEADER_TURN_SECONDS)  # it may fail again and again

    # What takes its time: meanwhile the lead may pass on.

    def _process_request(self, connection: Connection) -> None:
        """Decides; the answer is held back as long as this thread leads."""
        self._needs_maintenance = True
        self._leader.yield_()
        pending = self._decide_request(connection)
        if self._leader.reclaim():
            self._deferred_replies.append((connection, pending))
        else:
            self._send_when_durable(connection, pending)
            self._needs_maintenance = True
            self._acceptor.wakeup.notify()  # there is something to do at rest that the one who leads does not know of

    def _decide_request(self, connection: Connection) -> DeferredReply:
        try:
            if connection.has_hung_up():  # nobody waits for an answer, so nothing must be decided
                return DeferredReply(DaemonReply.refusal("the client went away"))
            question = connection.read_request()
            return self._build_status_reply() if question.host == STATUS_HOST else self._decide(question)
        except protocol.MalformedMessage as error:
            return DeferredReply(DaemonReply.refusal(str(error)))
        except Exception as error:
            self._journal.write_line(f"failed: {type(error).__name__}")
            return DeferredReply(DaemonReply.refusal(f"the warm process failed with {type(error).__name__}"))

    def _flush_deferred(self) -> None:
        """Gives the answers that were held back."""
        held, self._deferred_replies = self._deferred_replies, []
        self._leader.yield_()
        for connection, pending in held:
            self._send_when_durable(connection, pending)
        self._leader.reclaim()

    def _run_maintenance(self) -> None:
        self._needs_maintenance, self._last_maintenance_at = False, time.monotonic()
        self._leader.yield_()
        try:
            self._maintain()
        except Exception as error:
            self._journal.write_line(f"failed at rest: {type(error).__name__}")
        self._leader.reclaim()

    def _send_when_durable(self, connection: Connection, deferred: DeferredReply) -> None:
        """Answers, once that may be; a thread goes on, whatever an answer was that could not be given."""
        try:
            said = deferred.wait_until_durable()
            if said.ends_process:
                self.request_stop(REASON_OTHER_VERSION)
            if said.kind == protocol.KIND_REFUSED:
                self.stats.count_refusal()
            else:
                self.stats.count_reply(time.monotonic() - connection.completed_at)
            connection.send_reply(said)
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
