"""The server of the warm process, with real sockets and decisions that a test delays."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.cleanup import close_after_test
from tests.contract.warm import wait_until
from verdikt.daemon import acceptor, leader, protocol, server
from verdikt.daemon.connection import Connection
from verdikt.daemon.deferred_reply import DeferredReply
from verdikt.daemon.http_listener import HttpConnection, HttpListener
from verdikt.daemon.instance import DaemonInstance
from verdikt.daemon.journal import Journal
from verdikt.daemon.listener import UnixListener
from verdikt.daemon.request import DaemonReply, HookRequest, Peer
from verdikt.daemon.server import Server
from verdikt.ledger.files import FileStore
from verdikt.ledger.group_commit import GroupCommit
from verdikt.ledger.log_file import LogFile

ALLOWED = DaemonReply(protocol.KIND_ANSWER, 0, b"{}\n")


class RunningServer:
    """A server with one HTTP listener that serves in a thread of this process."""

    def __init__(
        self, run_directory: Path, decide: Callable[[HookRequest], DaemonReply], deadline_seconds: float
    ) -> None:
        run_directory.mkdir(mode=0o700, exist_ok=True)
        self.listener = HttpListener(0, run_directory, {}, deadline_seconds=deadline_seconds)
        self.journal = Journal(run_directory / "daemon.log")
        self.server = Server(
            [self.listener],
            lambda request: DeferredReply(decide(request)),
            self.journal,
            owns_socket=lambda: True,
            extra_stats=dict,
            idle_seconds=600.0,
        )
        self.thread = threading.Thread(target=self.server.serve, daemon=True)
        self.thread.start()

    def begin_request(
        self, body: bytes = b"{}", path: str = "/hook/claude/PreToolUse", *, length: int = -1, token: str = ""
    ) -> socket.socket:
        """Send a request, incomplete if `length` is more than the body has, and return its socket."""
        sock = socket.create_connection(("127.0.0.1", self.listener.port), timeout=20)
        head = [
            f"POST {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.listener.port}",
            f"Authorization: Bearer {token or self.listener.token}",
            f"Content-Length: {len(body) if length < 0 else length}",
        ]
        sock.sendall("\r\n".join([*head, "", ""]).encode() + body)
        return sock

    def post(self, body: bytes = b"{}", path: str = "/hook/claude/PreToolUse") -> tuple[int, Any]:
        """Send a request and return status and document of the response."""
        return read_response(self.begin_request(body, path))

    def close(self) -> None:
        """Stop the server and close everything it has opened."""
        self.server.request_stop("the test is over")
        self.thread.join(60)
        self.server.close()


class StartServer(Protocol):
    """The type of the fixture `start_server`."""

    def __call__(
        self, decide: Callable[[HookRequest], DaemonReply] = ..., deadline_seconds: float = ...
    ) -> RunningServer:
        """Start a server."""


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Start servers that allow everything by default, and close them when the test ends."""
    servers: list[RunningServer] = []

    def start(
        decide: Callable[[HookRequest], DaemonReply] = lambda _: ALLOWED, deadline_seconds: float = 60.0
    ) -> RunningServer:
        servers.append(RunningServer(tmp_path / "run", decide, deadline_seconds))
        return servers[-1]

    yield start
    for running in servers:
        running.close()


def read_response(sock: socket.socket) -> tuple[int, Any]:
    """Return status and document of a response."""
    data = b""
    with sock:
        while chunk := sock.recv(65536):
            data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@pytest.fixture
def fast_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the server check its conditions often and stop quickly."""
    monkeypatch.setattr(server, "TICK_SECONDS", 0.02)
    monkeypatch.setattr(acceptor, "SWEEP_SECONDS", 0.02)
    monkeypatch.setattr(server, "SHUTDOWN_SECONDS", 0.2)


@pytest.fixture
def release(start_server: StartServer) -> Iterator[threading.Event]:
    """Return an event that ends hanging decisions; it is set at the latest when the test ends.

    It uses `start_server` so that it is torn down before the servers, which wait for those decisions.
    """
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.usefixtures("fast_checks")
def test_request_is_answered_by_its_deadline_when_decisions_hang(
    start_server: StartServer, release: threading.Event
) -> None:
    """A hanging decision is answered with a block by its deadline, and other requests are decided meanwhile."""

    def decide(request: HookRequest) -> DaemonReply:
        if request.payload == b"hang":
            release.wait(60)
        return ALLOWED

    running = start_server(decide, deadline_seconds=0.3)
    hanging = [running.begin_request(b"hang") for _ in range(4)]
    responses = [read_response(sock) for sock in hanging]

    assert [status for status, _ in responses] == [200] * len(responses)
    assert {document["decision"] for _, document in responses} == {"block"}
    # On a very busy machine the deadline can pass before the request is read.
    reasons = ("did not decide in time", "expected the request sooner")
    assert any(reason in responses[0][1]["reason"] for reason in reasons)
    assert read_response(running.begin_request(b"hang", "/hook/claude/PostToolUse")) == (200, {})
    end = time.monotonic() + 20
    while running.post() != (200, {}):
        assert time.monotonic() < end


@pytest.mark.usefixtures("fast_checks")
def test_overdue_request_is_answered_once(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    """A request past its deadline is answered once, however often the main thread looks at it."""
    encoded_tokens, original = [], HttpConnection._encode_reply
    monkeypatch.setattr(
        HttpConnection,
        "_encode_reply",
        lambda self, reply: (encoded_tokens.append(self._token), original(self, reply))[1],
    )
    running = start_server(wait_for(release), deadline_seconds=0.3)
    assert running.post()[1]["decision"] == "block"
    for _ in range(3):
        running.server._supervise_requests(time.monotonic())

    assert encoded_tokens.count(running.listener.token) == 1
    release.set()


@pytest.mark.usefixtures("fast_checks")
def test_deferred_reply_is_sent_when_a_later_decision_hangs(
    start_server: StartServer, release: threading.Event
) -> None:
    """A deferred reply does not wait for a later decision that hangs, which is answered when it is done."""
    first = threading.Event()

    def decide(request: HookRequest) -> DaemonReply:
        if request.payload == b"first":
            first.wait(20)  # until the others are queued
        if request.payload == b"hang":
            release.wait(60)
        return ALLOWED

    running = start_server(decide)
    opening, *others = [running.begin_request(body) for body in (b"first", b"{}", b"hang", b"{}")]
    first.set()
    assert read_response(opening) == read_response(others[0]) == read_response(others[2]) == (200, {})
    release.set()
    assert read_response(others[1]) == (200, {})


def test_reply_is_sent_while_other_clients_keep_sending(start_server: StartServer) -> None:
    """A deferred reply waits for complete requests only, not for clients that keep sending."""
    running, over = start_server(), threading.Event()

    def keep_sending(sock: socket.socket) -> None:
        with sock:
            while not over.is_set():
                sock.sendall(b"x")

    senders = [
        threading.Thread(target=keep_sending, args=(running.begin_request(b"", length=20_000_000),)) for _ in range(3)
    ]
    for thread in senders:
        thread.start()
    try:
        assert [running.post() for _ in range(5)] == [(200, {})] * 5
    finally:
        over.set()
        for thread in senders:
            thread.join()


def test_reply_is_sent_only_after_its_log_entry_is_synced(tmp_path: Path, start_server: StartServer) -> None:
    """No reply is sent before its log entry is on the disk, and other requests are decided meanwhile."""
    store = close_after_test(FileStore(tmp_path / "data", group_commit=(group_commit := GroupCommit())))
    sync_started, go_on = threading.Semaphore(0), threading.Event()

    class SlowLog(LogFile):
        """A log on a disk that waits for the test."""

        def sync(self, position: int) -> None:
            sync_started.release()
            go_on.wait(20)
            super().sync(position)

    def decide(request: HookRequest) -> DeferredReply:
        session = request.payload.decode()
        group_commit.begin_batch()
        store.append(session, "gap", {})
        log_positions = group_commit.end_batch()
        log = SlowLog(store.reader.hot_file_path(session), durable=True)
        log.write_count = 1
        return DeferredReply(ALLOWED, [*log_positions, (log, 1)])

    running = start_server()
    running.server._decide = decide
    waiting = [running.begin_request(b"a")]
    assert sync_started.acquire(timeout=20)
    waiting += [running.begin_request(body) for body in (b"b", b"c")]
    assert sync_started.acquire(timeout=20)
    for sock in waiting:
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(1)
        sock.settimeout(20)
    go_on.set()

    assert [read_response(sock) for sock in waiting] == [(200, {})] * 3


def test_stop_does_not_wait_when_no_request_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopping does not wait for the shutdown timeout when no request is open."""
    monkeypatch.setattr(server, "SHUTDOWN_SECONDS", 600.0)
    instance, journal = DaemonInstance(tmp_path / "run"), Journal(tmp_path / "daemon.log")
    assert instance.acquire_lock()
    listeners = [HttpListener(0, tmp_path, {}), UnixListener(instance, lambda _: True, journal)]
    loop = Server(
        listeners,
        lambda _: DeferredReply(ALLOWED),
        journal,
        owns_socket=lambda: True,
        extra_stats=dict,
        idle_seconds=600.0,
    )
    thread = threading.Thread(target=loop.serve, daemon=True)
    thread.start()
    loop.request_stop("the test is over")
    thread.join(60)

    assert not thread.is_alive()
    loop.close()


def test_queued_connection_is_answered_when_the_server_stops(start_server: StartServer) -> None:
    """A connection in the listener's queue is answered at the stop: after a reset, a client would run the tool."""
    running = start_server()
    original, queued = running.server._acceptor.close_listeners, []

    def close_with_full_queue() -> list[Connection]:
        if not running.server._acceptor.is_closed:
            queued.extend(running.begin_request() for _ in range(20))
        return original()

    running.server._acceptor.close_listeners = close_with_full_queue  # type: ignore[method-assign]
    running.server.request_stop("the test is over")
    wait_until("they have connected", lambda: len(queued) == 20)

    assert [read_response(sock) for sock in queued] == [(200, {})] * 20
    running.thread.join(60)


def wait_for_turns(running: RunningServer, count: int) -> None:
    """Wait until the leader has taken that many turns."""
    turns, original = [], running.server._acceptor.expire_connections

    def expire_connections() -> None:
        turns.append(None)
        original()

    running.server._acceptor.expire_connections = expire_connections  # type: ignore[method-assign]
    wait_until("there were turns", lambda: len(turns) > count)
    running.server._acceptor.expire_connections = original  # type: ignore[method-assign]


@pytest.mark.parametrize("is_complete", [True, False])
def test_server_stops_after_every_request_is_answered(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch, release: threading.Event, *, is_complete: bool
) -> None:
    """The server waits for open requests and for unfinished ones, and its successor can start meanwhile."""
    monkeypatch.setattr(server, "SHUTDOWN_SECONDS", 600.0)
    monkeypatch.setattr(acceptor, "SWEEP_SECONDS", 600.0)
    running, stop_reasons = start_server(wait_for(release)), []
    running.server._on_listeners_closed = stop_reasons.append
    waiting = running.begin_request(length=2 if is_complete else 4)
    busy = running.server._leader._yielded_since if is_complete else running.server._acceptor._connections
    wait_until("it is there", lambda: busy)
    running.server.request_stop("the test is over")
    wait_until("the listeners are closed", lambda: stop_reasons)
    wait_for_turns(running, 3)
    assert running.thread.is_alive()
    if not is_complete:
        waiting.sendall(b"{}")
    release.set()

    assert read_response(waiting) == (200, {})
    running.thread.join(60)
    assert (running.thread.is_alive(), stop_reasons) == (False, ["the test is over"])


def test_deferred_replies_are_bounded(start_server: StartServer) -> None:
    """At most MAX_DEFERRED_REPLIES replies wait together, because the first of them waits for the last."""
    go_on, sizes = threading.Event(), []
    running = start_server(wait_for(go_on))
    original = running.server._flush_deferred

    def flush_deferred() -> None:
        sizes.append(len(running.server._deferred_replies))
        original()

    running.server._flush_deferred = flush_deferred  # type: ignore[method-assign]
    waiting = [running.begin_request() for _ in range(3 * server.MAX_DEFERRED_REPLIES)]
    go_on.set()

    assert [read_response(sock) for sock in waiting] == [(200, {})] * len(waiting)
    assert max(sizes) <= server.MAX_DEFERRED_REPLIES


@dataclass(frozen=True, slots=True)
class ServerState:
    """For how long a request, a thread and the server have been waiting, and the expected reason to stop."""

    request_age: float | None = None
    blocked_seconds: float | None = None
    has_connection: bool = False
    idle: float = 0.0
    owns_socket: bool = True
    stop_reason: str = ""


@pytest.mark.parametrize(
    "state",
    [
        ServerState(),
        ServerState(idle=601.0, stop_reason="nothing to do"),
        ServerState(idle=601.0, request_age=1.0),
        ServerState(idle=601.0, has_connection=True),
        ServerState(request_age=server.HUNG_SECONDS + 1, stop_reason=server.REASON_HUNG),
        ServerState(blocked_seconds=server.HUNG_SECONDS + 1, stop_reason=server.REASON_HUNG),
        ServerState(request_age=1.0, blocked_seconds=1.0),
        ServerState(owns_socket=False, stop_reason="the socket is not ours any more"),
    ],
)
def test_stop_reason_matches_the_state_of_the_server(tmp_path: Path, state: ServerState) -> None:
    """The server stops when a decision hangs, it is idle, or its socket was replaced, and for nothing else."""
    now = time.monotonic()
    loop = Server(
        [],
        lambda _: DeferredReply(ALLOWED),
        Journal(tmp_path / "daemon.log"),
        owns_socket=lambda: state.owns_socket,
        extra_stats=dict,
        idle_seconds=600.0,
    )
    connection = Connection(socket.socket(), Peer(0, 0), now)
    loop._last_request_at = now - state.idle
    if state.request_age is not None:
        connection.completed_at = now - state.request_age
        loop._unanswered[connection] = None
    if state.blocked_seconds is not None:
        loop._leader._yielded_since[0] = now - state.blocked_seconds
    if state.has_connection:
        loop._acceptor._connections[connection] = None
    loop._check_stop_conditions(now)
    loop._acceptor._connections.clear()
    connection.close()
    loop.close()

    assert loop._stop_reason == state.stop_reason


def test_request_resets_the_idle_time(start_server: StartServer) -> None:
    """A request resets the time after which an idle server stops."""
    running = start_server()
    running.server._last_request_at = before = -1.0
    assert running.post() == (200, {})
    assert running.server._last_request_at > before


@pytest.mark.usefixtures("fast_checks")
def test_hanging_request_is_blocked_when_the_server_stops(start_server: StartServer, release: threading.Event) -> None:
    """A request whose decision hangs is answered with a block when the server stops."""
    running = start_server(wait_for(release))
    waiting = running.begin_request()
    end = time.monotonic() + 20
    while not running.server._leader._yielded_since:
        assert time.monotonic() < end
        time.sleep(0.01)
    running.server.request_stop("the test is over")

    status, document = read_response(waiting)
    assert (status, document["decision"]) == (200, "block")


def test_reply_that_cannot_be_encoded_is_a_block(start_server: StartServer) -> None:
    """A reply that cannot be encoded is logged, blocks, and does not end the thread."""
    replies = iter([DaemonReply(protocol.KIND_ANSWER, 2, b"no json")] * 4)
    running = start_server(lambda _: next(replies, ALLOWED))

    for _ in range(4):
        status, document = running.post()
        assert (status, document["decision"]) == (200, "block")
    assert running.post() == (200, {})
    assert any("failed to answer" in line for line in running.journal.read_tail(10))


@pytest.mark.usefixtures("fast_checks")
def test_unfinished_request_is_refused_without_other_traffic(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unfinished request is refused after its timeout although no other event wakes the leader."""
    monkeypatch.setattr(acceptor, "REQUEST_TIMEOUT_SECONDS", 0.1)
    running = start_server()

    assert "expected the request within" in read_response(running.begin_request(length=5))[1]["reason"]


def test_truncated_request_is_blocked(start_server: StartServer) -> None:
    """A client that shuts down its sending side early still receives a block."""
    running = start_server()
    truncated = running.begin_request(length=5)
    truncated.shutdown(socket.SHUT_WR)

    status, document = read_response(truncated)
    assert (status, document["decision"]) == (200, "block")
    wait_until("it is closed", lambda: not len(running.server._acceptor))


def test_body_is_discarded_when_the_token_is_wrong(start_server: StartServer) -> None:
    """Without the right token no byte of the body is kept, and the client can still read its block."""
    running = start_server()
    unauthorized = running.begin_request(b"x" * 100_000, length=200_000, token="another")
    end = time.monotonic() + 20
    while not [each for each in running.server._acceptor._connections if each.is_lingering]:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert sum(len(each.data) for each in running.server._acceptor._connections) == 0
    for _ in range(20):
        unauthorized.sendall(b"x" * 5_000)
        time.sleep(0.001)

    status, document = read_response(unauthorized)
    assert (status, document["decision"]) == (200, "block")
    assert running.server._acceptor._buffered_bytes == 0


@pytest.mark.parametrize(
    "path", ["claude/PreToolUse/", "claude", "unknown/PreToolUse", "claude/", "/", "claude/Pre/Tool"]
)
def test_unknown_hook_path_is_a_block(start_server: StartServer, path: str) -> None:
    """Every POST below /hook/ gets a 200 with a document, because clients run the tool on a 404."""
    running = start_server(lambda _: DaemonReply.refusal("cannot be decided"))

    status, document = running.post(path=f"/hook/{path}")

    assert (status, document["decision"]) == (200, "block")
    assert running.post(path="/other")[0] == 404


def test_second_reply_is_not_sent() -> None:
    """Only the first reply of a connection is sent."""
    ours, theirs = socket.socketpair()
    connection = Connection(ours, Peer(0, 0), 0.0)

    assert connection.send_reply(DaemonReply.refusal("first"))
    assert not connection.send_reply(ALLOWED)
    assert b"first" in theirs.recv(1000)
    assert theirs.recv(1000) == b""
    theirs.close()


def wait_for(event: threading.Event) -> Callable[[HookRequest], DaemonReply]:
    """Return a decision that waits for the event and then allows."""

    def decide(_: HookRequest) -> DaemonReply:
        event.wait(60)
        return ALLOWED

    return decide


@pytest.mark.usefixtures("fast_checks")
def test_listeners_are_closed_when_the_leader_hangs_at_the_stop(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    """The main thread closes the listeners, which the successor needs, and every client gets a block."""
    running, descriptors = start_server(wait_for(release)), []
    running.server._on_listeners_closed = lambda _: descriptors.append(running.listener.sock.fileno())
    wait_until("a thread leads", lambda: running.server._leader._leader_ident)
    monkeypatch.setattr(leader.LeaderLock, "_spawn_follower", lambda _: False)
    waiting = [running.begin_request(length=5)]
    wait_until("it is registered", lambda: len(running.server._acceptor))
    waiting.append(running.begin_request())
    wait_until("it is being decided", lambda: running.server._leader._yielded_since)
    waiting += [running.begin_request() for _ in range(3)]
    running.server.request_stop("the test is over")

    for sock in waiting:
        status, document = read_response(sock)
        assert (status, document["decision"]) == (200, "block")
    running.thread.join(60)
    assert descriptors == [-1]


@pytest.mark.usefixtures("fast_checks")
def test_thread_without_the_lead_touches_no_connections(start_server: StartServer, release: threading.Event) -> None:
    """A thread that has lost the lead does not touch the connections, which belong to the new leader."""
    running = start_server(wait_for(release))
    loop, intruders = running.server, []
    original, holder = loop._acceptor.expire_connections, loop._leader

    def expire_connections() -> None:
        if not holder.is_leader():
            intruders.append(threading.get_ident())
        original()

    loop._acceptor.expire_connections = expire_connections  # type: ignore[method-assign]
    waiting = running.begin_request(b"", length=2)
    wait_until("it is registered", lambda: len(loop._acceptor))
    waiting.sendall(b"{}")
    first = wait_until("one decides", lambda: next(iter(loop._unanswered and [*holder._yielded_since]), None))
    wait_until("another leads", lambda: holder._leader_ident not in (0, first))
    release.set()
    assert read_response(waiting) == (200, {})
    wait_until("the first waits for the lead", lambda: first not in holder._yielded_since and holder._waiting_count)
    assert intruders == []


@pytest.mark.usefixtures("fast_checks")
def test_maintenance_runs_after_a_slow_decision(start_server: StartServer, release: threading.Event) -> None:
    """Maintenance runs after a slow decision, although the current leader has decided nothing since."""
    running, unanswered_counts = start_server(wait_for(release)), []
    loop = running.server
    loop._maintain = lambda: unanswered_counts.append(len(loop._unanswered))
    waiting = running.begin_request()
    wait_until("another leads and does maintenance", lambda: unanswered_counts)
    count_before = len(unanswered_counts)
    release.set()
    assert read_response(waiting) == (200, {})
    wait_until("maintenance runs again", lambda: len(unanswered_counts) > count_before)


def test_requests_are_answered_when_no_thread_can_be_started(
    tmp_path: Path, start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread answers every request when the system's limit of threads is reached."""
    go_on, refused_threads = threading.Event(), []
    running, store = start_server(wait_for(go_on)), close_after_test(FileStore(tmp_path / "data"))
    loop = running.server
    decide = loop._decide

    def decide_and_log(request: HookRequest) -> DeferredReply:
        store.append(session := request.payload.decode(), "gap", {})
        return replace(decide(request), log_positions=((store._open_log(session), 1),))

    def start(thread: threading.Thread) -> None:
        refused_threads.append(thread)
        raise RuntimeError("can't start new thread")

    wait_until("a thread leads", lambda: loop._leader._leader_ident)
    loop._decide = decide_and_log
    monkeypatch.setattr(threading.Thread, "start", start)
    waiting = [running.begin_request(b"a")]
    wait_until("another was wanted", lambda: len(refused_threads) > 1)
    waiting += [running.begin_request(body) for body in (b"b", b"c", b"d")]
    go_on.set()

    assert [read_response(sock) for sock in waiting] == [(200, {})] * 4
    wait_until("no thread is blocked", lambda: not loop._leader._yielded_since)
    assert (running.thread.is_alive(), loop._leader._thread_count, loop._stop_reason) == (True, 1, "")


@pytest.mark.parametrize(
    "where",
    [
        "_acceptor.expire_connections",
        "_acceptor._receive_data",
        "_acceptor._unregister_connection",
        "_flush_deferred",
        "_process_request",
        "_run_maintenance",
        "_leader.reclaim",
    ],
)
@pytest.mark.usefixtures("fast_checks")
def test_server_answers_and_stops_after_an_unexpected_error(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """After an unexpected error the client is answered, the error is logged, and the server stops."""
    running = start_server()
    part, _, name = where.rpartition(".")
    owner = getattr(running.server, part) if part else running.server
    original, failures = getattr(owner, name), iter([ArithmeticError()])

    def fail_once(*arguments: Any) -> Any:
        if where != "_acceptor.expire_connections" or len(running.server._acceptor):
            for error in failures:
                raise error
        return original(*arguments)

    monkeypatch.setattr(owner, name, fail_once)
    _, document = read_response(running.begin_request(length=5 if where == "_acceptor.expire_connections" else -1))
    assert document == {} or document["decision"] == "block"
    running.thread.join(60)

    assert not running.thread.is_alive()
    assert running.server._stop_reason == server.REASON_THREAD_FAILED
    assert any("failed to lead" in line for line in running.journal.read_tail(10))


def test_request_answered_before_its_decision_is_skipped(start_server: StartServer) -> None:
    """A request that the main thread has already answered is not an error for the leader."""
    running = start_server()
    original = running.server._process_request

    def process_late(connection: Connection) -> None:
        connection.send_reply(DaemonReply.refusal("did not decide in time"))
        original(connection)

    running.server._process_request = process_late  # type: ignore[method-assign]
    assert running.post()[1]["decision"] == "block"
    running.server._process_request = original  # type: ignore[method-assign]
    assert running.post() == (200, {})
    assert (running.server._stop_reason, running.journal.read_tail(10)) == ("", [])


@pytest.mark.usefixtures("fast_checks")
def test_requests_are_blocked_in_time_when_all_threads_hang(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    """Requests that no thread can decide are accepted and blocked by their deadline."""
    monkeypatch.setattr(leader.LeaderLock.__init__, "__defaults__", (1,))
    running = start_server(lambda request: wait_for(release)(request) if request.payload == b"hang" else ALLOWED, 1.0)
    assert running.post() == (200, {})
    hanging = running.begin_request(b"hang")
    wait_until("it is being decided", lambda: running.server._unanswered)
    others = [running.begin_request() for _ in range(3)]

    for sock in (hanging, *others):
        status, document = read_response(sock)
        assert (status, document["decision"]) == (200, "block")
    release.set()
    wait_until("a thread is free again", lambda: running.post() == (200, {}))


@pytest.mark.usefixtures("fast_checks")
def test_waiting_requests_are_bounded_when_all_threads_hang(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    """A request beyond the memory limit is refused at once; earlier ones are decided when a thread is free."""
    monkeypatch.setattr(leader.LeaderLock.__init__, "__defaults__", (1,))
    monkeypatch.setattr(server, "MAX_BUFFERED_BYTES", 20_000)
    running = start_server(lambda request: wait_for(release)(request) if request.payload == b"hang" else ALLOWED)
    hanging = running.begin_request(b"hang")
    wait_until(
        "all threads are blocked", lambda: running.server._unanswered and not running.server._leader.has_capacity()
    )
    patient = running.begin_request(b"x" * 10_000)
    wait_until("it is read_response", lambda: running.server._queue)

    assert "too much is being asked" in running.post(b"x" * 12_000)[1]["reason"]
    release.set()
    assert read_response(hanging) == read_response(patient) == (200, {})


def test_slow_maintenance_does_not_delay_requests(start_server: StartServer, release: threading.Event) -> None:
    """Requests are answered while maintenance takes long."""
    running, maintenance_runs = start_server(), []
    running.server._maintain = lambda: (maintenance_runs.append(None), release.wait(60))[0]
    assert running.post() == (200, {})
    wait_until("maintenance runs", lambda: maintenance_runs)
    assert running.post() == (200, {})


def test_maintenance_runs_before_any_request(tmp_path: Path) -> None:
    """The call that started the process was decided without it; what it asks people about must go out all the same."""
    maintained = threading.Event()
    with Server(
        [],
        lambda _: DeferredReply(ALLOWED),
        Journal(tmp_path / "log"),
        owns_socket=lambda: True,
        extra_stats=dict,
        idle_seconds=600.0,
        maintain=maintained.set,
    ) as loop:
        thread = threading.Thread(target=loop.serve)
        thread.start()
        has_run = maintained.wait(60)
        loop.request_stop("the test ends")
        thread.join()

    assert has_run


def test_failed_leader_keeps_the_lead(tmp_path: Path) -> None:
    """A leader that failed has reclaimed the lead, so that no second thread leads."""
    loop = Server(
        [],
        lambda _: DeferredReply(ALLOWED),
        Journal(tmp_path / "log"),
        owns_socket=lambda: True,
        extra_stats=dict,
        idle_seconds=1.0,
    )
    loop._leader.yield_()
    loop._handle_leader_failure(ArithmeticError())

    assert (loop._leader._yielded_since, loop._stop_reason) == ({}, server.REASON_THREAD_FAILED)
    loop.close()
