"""The loop of the warm process, with real sockets and decisions that a test holds up."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.cleanup import close_after_test
from tests.contract.warm import eventually
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


class Running:
    """A server with one HTTP door in a thread of this process."""

    def __init__(self, run: Path, answer: Callable[[HookRequest], DaemonReply], seconds: float = 60.0) -> None:
        run.mkdir(mode=0o700, exist_ok=True)
        self.door = HttpListener(0, run, {}, deadline_seconds=seconds)
        self.journal = Journal(run / "daemon.log")
        self.server = Server(
            [self.door],
            lambda question: DeferredReply(answer(question)),
            self.journal,
            owns_socket=lambda: True,
            extra_stats=dict,
            idle_seconds=600.0,
        )
        self.thread = threading.Thread(target=self.server.serve, daemon=True)
        self.thread.start()
        close_after_test(self)

    def close(self) -> None:
        """Stop the server, wait for its thread and release what it holds."""
        self.server.request_stop("the test is over")
        self.thread.join(60)
        self.server.close()

    def begin(
        self, body: bytes = b"{}", path: str = "/hook/claude/PreToolUse", *, length: int = -1, token: str = ""
    ) -> socket.socket:
        """A request that is under way."""
        sock = socket.create_connection(("127.0.0.1", self.door.port), timeout=20)
        head = [
            f"POST {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.door.port}",
            f"Authorization: Bearer {token or self.door.token}",
            f"Content-Length: {len(body) if length < 0 else length}",
        ]
        sock.sendall("\r\n".join([*head, "", ""]).encode() + body)
        return sock

    def post(self, body: bytes = b"{}", path: str = "/hook/claude/PreToolUse") -> tuple[int, Any]:
        """Status and document of the response."""
        return heard(self.begin(body, path))


def heard(sock: socket.socket) -> tuple[int, Any]:
    """Status and document of a response."""
    data = b""
    with sock:
        while piece := sock.recv(65536):
            data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that looks around often."""
    monkeypatch.setattr(server, "TICK_SECONDS", 0.02)
    monkeypatch.setattr(acceptor, "SWEEP_SECONDS", 0.02)
    monkeypatch.setattr(server, "SHUTDOWN_SECONDS", 0.2)


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets go of whatever hangs, at the latest when the test ends."""
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.usefixtures("quick")
def test_a_request_is_answered_in_time_whatever_hangs(tmp_path: Path, release: threading.Event) -> None:
    """With a block where the agent is about to act; and others are decided although every thread hangs."""

    def answer(question: HookRequest) -> DaemonReply:
        if question.payload == b"hang":
            release.wait(60)
        return ALLOWED

    running = Running(tmp_path / "run", answer, seconds=0.3)
    waiting = [running.begin(b"hang") for _ in range(4)]
    said = [heard(sock) for sock in waiting]

    assert [status for status, _ in said] == [200] * len(said)
    assert {document["decision"] for _, document in said} == {"block"}
    # Or, where it took that long to hear it, that it was not asked in time.
    assert any(why in said[0][1]["reason"] for why in ("did not decide in time", "expected the question sooner"))
    assert heard(running.begin(b"hang", "/hook/claude/PostToolUse")) == (200, {})
    end = time.monotonic() + 20
    while running.post() != (200, {}):
        assert time.monotonic() < end
    running.server.request_stop("the test is over")


@pytest.mark.usefixtures("quick")
def test_whose_time_is_over_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    """Many who wait for one that hangs cost the thread that watches nothing."""
    told, original = [], HttpConnection._encode_reply
    monkeypatch.setattr(
        HttpConnection, "_encode_reply", lambda self, said: (told.append(self._token), original(self, said))[1]
    )
    running = Running(tmp_path / "run", held_up(release), seconds=0.3)
    assert running.post()[1]["decision"] == "block"
    for _ in range(3):
        running.server._supervise_requests(time.monotonic())

    assert told.count(running.door.token) == 1
    release.set()
    running.server.request_stop("the test is over")


@pytest.mark.usefixtures("quick")
def test_who_was_decided_before_one_that_hangs_is_answered(tmp_path: Path, release: threading.Event) -> None:
    """Whatever was held back for them to wait together; and the one that hung is answered when it is done."""
    first = threading.Event()

    def answer(question: HookRequest) -> DaemonReply:
        if question.payload == b"first":
            first.wait(20)  # until the others have asked as well
        if question.payload == b"hang":
            release.wait(60)
        return ALLOWED

    running = Running(tmp_path / "run", answer)
    opening, *others = [running.begin(body) for body in (b"first", b"{}", b"hang", b"{}")]
    first.set()
    assert heard(opening) == heard(others[0]) == heard(others[2]) == (200, {})
    release.set()
    assert heard(others[1]) == (200, {})
    running.server.request_stop("the test is over")


def test_clients_who_never_stop_sending_hold_no_answer_up(tmp_path: Path) -> None:
    """Answers wait for others who ask, and not for those who only talk."""
    running, over = Running(tmp_path / "run", lambda _: ALLOWED), threading.Event()

    def talk(sock: socket.socket) -> None:
        with sock:
            while not over.is_set():
                sock.sendall(b"x")

    talking = [threading.Thread(target=talk, args=(running.begin(b"", length=20_000_000),)) for _ in range(3)]
    for thread in talking:
        thread.start()
    try:
        assert [running.post() for _ in range(5)] == [(200, {})] * 5
    finally:
        over.set()
        for thread in talking:
            thread.join()
    running.server.request_stop("the test is over")


def test_no_answer_is_given_before_its_entry_is_on_the_disk(tmp_path: Path) -> None:
    """And others are decided meanwhile."""
    store = close_after_test(FileStore(tmp_path / "data", group_commit=(later := GroupCommit())))
    under_way, go_on = threading.Semaphore(0), threading.Event()

    class SlowLog(LogFile):
        """A log on a disk that the test stops."""

        def sync(self, wanted: int) -> None:
            under_way.release()
            go_on.wait(20)
            super().sync(wanted)

    def decide(question: HookRequest) -> DeferredReply:
        session = question.payload.decode()
        later.begin_batch()
        store.append(session, "gap", {})
        written = later.end_batch()
        log = SlowLog(store.reader.hot_file_path(session), durable=True)
        log.write_count = 1
        return DeferredReply(ALLOWED, [*written, (log, 1)])

    running = Running(tmp_path / "run", lambda _: ALLOWED)
    running.server._decide = decide
    waiting = [running.begin(b"a")]
    assert under_way.acquire(timeout=20)
    waiting += [running.begin(body) for body in (b"b", b"c")]
    assert under_way.acquire(timeout=20)
    for sock in waiting:
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(1)
        sock.settimeout(20)
    go_on.set()

    assert [heard(sock) for sock in waiting] == [(200, {})] * 3
    running.server.request_stop("the test is over")


def test_it_goes_as_soon_as_nobody_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time for decisions under way is not waited out when there are none."""
    monkeypatch.setattr(server, "SHUTDOWN_SECONDS", 600.0)
    residence, journal = DaemonInstance(tmp_path / "run"), Journal(tmp_path / "daemon.log")
    assert residence.acquire_lock()
    doors = [HttpListener(0, tmp_path, {}), UnixListener(residence, lambda _: True, journal)]
    loop = close_after_test(
        Server(
            doors,
            lambda _: DeferredReply(ALLOWED),
            journal,
            owns_socket=lambda: True,
            extra_stats=dict,
            idle_seconds=600.0,
        )
    )
    thread = threading.Thread(target=loop.serve, daemon=True)
    thread.start()
    loop.request_stop("the test is over")
    thread.join(60)

    assert not thread.is_alive()


def test_whoever_knocked_before_the_process_goes_is_let_in(tmp_path: Path) -> None:
    """To be reset would be silence, and the tool would run."""
    running = Running(tmp_path / "run", lambda _: ALLOWED)
    shut, rest = running.server._acceptor.close_listeners, []

    def shut_with_many_in_the_queue() -> list[Connection]:
        if not running.server._acceptor.is_closed:
            rest.extend(running.begin() for _ in range(20))
        return shut()

    running.server._acceptor.close_listeners = shut_with_many_in_the_queue  # type: ignore[method-assign]
    running.server.request_stop("the test is over")
    eventually("they have asked", lambda: len(rest) == 20)

    assert [heard(sock) for sock in rest] == [(200, {})] * 20
    running.thread.join(60)


def turns(running: Running, count: int) -> None:
    """Waits until whoever leads has looked at the clients so often."""
    seen, original = [], running.server._acceptor.expire_connections
    running.server._acceptor.expire_connections = lambda: (seen.append(None), original())[1]  # type: ignore[method-assign]
    eventually("there were turns", lambda: len(seen) > count)
    running.server._acceptor.expire_connections = original  # type: ignore[method-assign]


@pytest.mark.parametrize("asked", [True, False])
def test_the_process_goes_when_everybody_is_answered_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: threading.Event, *, asked: bool
) -> None:
    """Whoever is being decided, and whoever is still asking; and there is room for another process meanwhile."""
    monkeypatch.setattr(server, "SHUTDOWN_SECONDS", 600.0)
    monkeypatch.setattr(acceptor, "SWEEP_SECONDS", 600.0)
    running, gone = Running(tmp_path / "run", held_up(release)), []
    running.server._on_listeners_closed = gone.append
    waiting = running.begin(length=2 if asked else 4)
    busy = running.server._leader._yielded_since if asked else running.server._acceptor._connections
    eventually("it is there", lambda: busy)
    running.server.request_stop("the test is over")
    eventually("there is room for another", lambda: gone)
    turns(running, 3)
    assert running.thread.is_alive()
    if not asked:
        waiting.sendall(b"{}")
    release.set()

    assert heard(waiting) == (200, {})
    running.thread.join(60)
    assert (running.thread.is_alive(), gone) == (False, ["the test is over"])


def test_not_too_many_answers_are_held_back(tmp_path: Path) -> None:
    """The first would wait for the last."""
    go_on, sizes = threading.Event(), []
    running = Running(tmp_path / "run", held_up(go_on))
    original = running.server._flush_deferred
    running.server._flush_deferred = lambda: (sizes.append(len(running.server._deferred_replies)), original())[1]  # type: ignore[method-assign]
    waiting = [running.begin() for _ in range(3 * server.MAX_DEFERRED_REPLIES)]
    go_on.set()

    assert [heard(sock) for sock in waiting] == [(200, {})] * len(waiting)
    assert max(sizes) <= server.MAX_DEFERRED_REPLIES
    running.server.request_stop("the test is over")


@dataclass(frozen=True, slots=True)
class AtWork:
    """What a process is at, for how long, and why it would leave."""

    asked: float | None = None
    busy: float | None = None
    open: bool = False
    idle: float = 0.0
    ours: bool = True
    why: str = ""


@pytest.mark.parametrize(
    "case",
    [
        AtWork(),
        AtWork(idle=601.0, why="nothing to do"),
        AtWork(idle=601.0, asked=1.0),
        AtWork(idle=601.0, open=True),
        AtWork(asked=server.HUNG_SECONDS + 1, why=server.REASON_HUNG),
        AtWork(busy=server.HUNG_SECONDS + 1, why=server.REASON_HUNG),
        AtWork(asked=1.0, busy=1.0),
        AtWork(ours=False, why="the socket is not ours any more"),
    ],
)
def test_why_a_process_leaves(tmp_path: Path, case: AtWork) -> None:
    """Because something hangs, nobody asks, or another is in its place; and for nothing else."""
    now = time.monotonic()
    loop = close_after_test(
        Server(
            [],
            lambda _: DeferredReply(ALLOWED),
            Journal(tmp_path / "daemon.log"),
            owns_socket=lambda: case.ours,
            extra_stats=dict,
            idle_seconds=600.0,
        )
    )
    connection = Connection(socket.socket(), Peer(0, 0), now)
    loop._last_request_at = now - case.idle
    if case.asked is not None:
        connection.completed_at = now - case.asked
        loop._unanswered[connection] = None
    if case.busy is not None:
        loop._leader._yielded_since[0] = now - case.busy
    if case.open:
        loop._acceptor._connections[connection] = None
    loop._check_stop_conditions(now)
    connection.close()

    assert loop._stop_reason == case.why


def test_who_asks_is_a_reason_to_stay(tmp_path: Path) -> None:
    """For as long as a process stays that has nothing to do."""
    running = Running(tmp_path / "run", lambda _: ALLOWED)
    running.server._last_request_at = before = -1.0
    assert running.post() == (200, {})
    assert running.server._last_request_at > before
    running.server.request_stop("the test is over")


@pytest.mark.usefixtures("quick")
def test_whoever_asks_when_the_process_goes_is_told(tmp_path: Path, release: threading.Event) -> None:
    """A decision that hangs does not leave its client without a word."""

    def answer(_: HookRequest) -> DaemonReply:
        release.wait(60)
        return ALLOWED

    running = Running(tmp_path / "run", answer)
    waiting = running.begin()
    end = time.monotonic() + 20
    while not running.server._leader._yielded_since:
        assert time.monotonic() < end
        time.sleep(0.01)
    running.server.request_stop("the test is over")

    status, document = heard(waiting)
    assert (status, document["decision"]) == (200, "block")


def test_an_answer_that_cannot_be_given_ends_no_thread(tmp_path: Path) -> None:
    """It is written down, the client is blocked, and the next one is answered by the same thread."""
    said = iter([DaemonReply(protocol.KIND_ANSWER, 2, b"no json")] * 4)
    running = Running(tmp_path / "run", lambda _: next(said, ALLOWED))

    for _ in range(4):
        status, document = running.post()
        assert (status, document["decision"]) == (200, "block")
    assert running.post() == (200, {})
    assert any("failed to answer" in line for line in running.journal.read_tail(10))
    running.server.request_stop("the test is over")


@pytest.mark.usefixtures("quick")
def test_who_says_nothing_is_sent_away_although_nobody_else_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever leads wakes up for it."""
    monkeypatch.setattr(acceptor, "REQUEST_TIMEOUT_SECONDS", 0.1)
    running = Running(tmp_path / "run", lambda _: ALLOWED)

    assert "expected the question within" in heard(running.begin(length=5))[1]["reason"]
    running.server.request_stop("the test is over")


def test_who_ends_its_question_early_is_told(tmp_path: Path) -> None:
    """It may listen all the same."""
    running = Running(tmp_path / "run", lambda _: ALLOWED)
    early = running.begin(length=5)
    early.shutdown(socket.SHUT_WR)

    status, document = heard(early)
    assert (status, document["decision"]) == (200, "block")
    eventually("it is let go of", lambda: not len(running.server._acceptor))
    running.server.request_stop("the test is over")


def test_nothing_is_held_of_what_a_stranger_sends(tmp_path: Path) -> None:
    """The token is looked at before the body comes; the rest is listened to, so that the answer is heard."""
    running = Running(tmp_path / "run", lambda _: ALLOWED)
    stranger = running.begin(b"x" * 100_000, length=200_000, token="another")
    end = time.monotonic() + 20
    while not [each for each in running.server._acceptor._connections if each.is_lingering]:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert sum(len(each.data) for each in running.server._acceptor._connections) == 0
    for _ in range(20):
        stranger.sendall(b"x" * 5_000)
        time.sleep(0.001)

    status, document = heard(stranger)
    assert (status, document["decision"]) == (200, "block")
    assert running.server._acceptor._buffered_bytes == 0
    running.server.request_stop("the test is over")


@pytest.mark.parametrize(
    "path", ["claude/PreToolUse/", "claude", "nobody/PreToolUse", "claude/", "/", "claude/Pre/Tool"]
)
def test_every_hook_is_answered_with_a_document(tmp_path: Path, path: str) -> None:
    """A client takes a 404 for silence and runs the tool."""
    running = Running(tmp_path / "run", lambda _: DaemonReply.refusal("cannot be decided"))

    status, document = running.post(path=f"/hook/{path}")

    assert (status, document["decision"]) == (200, "block")
    assert running.post(path="/other")[0] == 404
    running.server.request_stop("the test is over")


def test_one_answer_is_given_and_no_second() -> None:
    """Whoever comes first."""
    ours, theirs = socket.socketpair()
    connection = Connection(ours, Peer(0, 0), 0.0)

    assert connection.send_reply(DaemonReply.refusal("first"))
    assert not connection.send_reply(ALLOWED)
    assert b"first" in theirs.recv(1000)
    assert theirs.recv(1000) == b""
    theirs.close()


def held_up(event: threading.Event) -> Callable[[HookRequest], DaemonReply]:
    """Decisions that take until the event, and then allow."""

    def answer(_: HookRequest) -> DaemonReply:
        event.wait(60)
        return ALLOWED

    return answer


@pytest.mark.usefixtures("quick")
def test_where_nobody_can_lead_the_doors_are_shut_before_another_process_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    """It needs the place and the port; and whoever knocked is told."""
    running, gone = Running(tmp_path / "run", held_up(release)), []
    running.server._on_listeners_closed = lambda _: gone.append(running.door.sock.fileno())
    eventually("somebody leads", lambda: running.server._leader._leader_ident)
    monkeypatch.setattr(leader.LeaderLock, "_spawn_follower", lambda _: False)
    waiting = [running.begin(length=5)]
    eventually("it is waited for", lambda: len(running.server._acceptor))
    waiting.append(running.begin())
    eventually("it is being decided", lambda: running.server._leader._yielded_since)
    waiting += [running.begin() for _ in range(3)]
    running.server.request_stop("the test is over")

    for sock in waiting:
        status, document = heard(sock)
        assert (status, document["decision"]) == (200, "block")
    running.thread.join(60)
    assert gone == [-1]


@pytest.mark.usefixtures("quick")
def test_who_has_lost_the_lead_looks_at_no_clients(tmp_path: Path, release: threading.Event) -> None:
    """They are the new leader's."""
    running = Running(tmp_path / "run", held_up(release))
    loop, strangers = running.server, []
    original, holder = loop._acceptor.expire_connections, loop._leader

    def look() -> None:
        if not holder.is_leader():
            strangers.append(threading.get_ident())
        original()

    loop._acceptor.expire_connections = look  # type: ignore[method-assign]
    waiting = running.begin(b"", length=2)
    eventually("it is waited for", lambda: len(loop._acceptor))
    waiting.sendall(b"{}")
    first = eventually("one decides", lambda: next(iter(loop._unanswered and [*holder._yielded_since]), None))
    eventually("another leads", lambda: holder._leader_ident not in (0, first))
    release.set()
    assert heard(waiting) == (200, {})
    eventually("the first waits for the lead", lambda: first not in holder._yielded_since and holder._waiting_count)
    assert strangers == []
    loop.request_stop("the test is over")


@pytest.mark.usefixtures("quick")
def test_what_a_slow_decision_left_to_do_is_done_at_rest(tmp_path: Path, release: threading.Event) -> None:
    """Although the thread that leads has decided nothing since."""
    running, rests = Running(tmp_path / "run", held_up(release)), []
    loop = running.server
    loop._maintain = lambda: rests.append(len(loop._unanswered))
    waiting = running.begin()
    eventually("another leads and rests", lambda: rests)
    before = len(rests)
    release.set()
    assert heard(waiting) == (200, {})
    eventually("it rests again", lambda: len(rests) > before)
    loop.request_stop("the test is over")


def test_where_no_thread_can_be_started_everybody_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may have as many processes as it may."""
    go_on, refused = threading.Event(), []
    running, store = Running(tmp_path / "run", held_up(go_on)), close_after_test(FileStore(tmp_path / "data"))
    loop = running.server
    decide = loop._decide

    def logged(question: HookRequest) -> DeferredReply:
        store.append(session := question.payload.decode(), "gap", {})
        return replace(decide(question), log_positions=((store._open_log(session), 1),))

    def start(thread: threading.Thread) -> None:
        refused.append(thread)
        raise RuntimeError("can't start new thread")

    eventually("somebody leads", lambda: loop._leader._leader_ident)
    loop._decide = logged
    monkeypatch.setattr(threading.Thread, "start", start)
    waiting = [running.begin(b"a")]
    eventually("another was wanted", lambda: len(refused) > 1)
    waiting += [running.begin(body) for body in (b"b", b"c", b"d")]
    go_on.set()

    assert [heard(sock) for sock in waiting] == [(200, {})] * 4
    eventually("nobody is busy", lambda: not loop._leader._yielded_since)
    assert (running.thread.is_alive(), loop._leader._thread_count, loop._stop_reason) == (True, 1, "")
    loop.request_stop("the test is over")


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
@pytest.mark.usefixtures("quick")
def test_whatever_fails_somebody_leads_until_another_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """It is written down, who asked is blocked, and the process makes room."""
    running = Running(tmp_path / "run", lambda _: ALLOWED)
    part, _, name = where.rpartition(".")
    owner = getattr(running.server, part) if part else running.server
    original, failures = getattr(owner, name), iter([ArithmeticError()])

    def failing(*words: Any) -> Any:
        if where != "_acceptor.expire_connections" or len(running.server._acceptor):
            for error in failures:
                raise error
        return original(*words)

    monkeypatch.setattr(owner, name, failing)
    _, document = heard(running.begin(length=5 if where == "_acceptor.expire_connections" else -1))
    assert document == {} or document["decision"] == "block"
    running.thread.join(60)

    assert not running.thread.is_alive()
    assert running.server._stop_reason == server.REASON_THREAD_FAILED
    assert any("failed to lead" in line for line in running.journal.read_tail(10))


def test_one_whose_time_is_over_before_it_is_decided_ends_no_thread(tmp_path: Path) -> None:
    """It was told, and hung up on, by the thread that watches."""
    running = Running(tmp_path / "run", lambda _: ALLOWED)
    original = running.server._process_request

    def late(connection: Connection) -> None:
        connection.send_reply(DaemonReply.refusal("did not decide in time"))
        original(connection)

    running.server._process_request = late  # type: ignore[method-assign]
    assert running.post()[1]["decision"] == "block"
    running.server._process_request = original  # type: ignore[method-assign]
    assert running.post() == (200, {})
    assert (running.server._stop_reason, running.journal.read_tail(10)) == ("", [])
    running.server.request_stop("the test is over")


@pytest.mark.usefixtures("quick")
def test_who_was_decided_is_answered_although_no_more_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    """A client that hears nothing runs the tool: those who must wait are let in, and told in time."""
    monkeypatch.setattr(leader.LeaderLock.__init__, "__defaults__", (1,))
    running = Running(
        tmp_path / "run", lambda question: held_up(release)(question) if question.payload == b"hang" else ALLOWED, 1.0
    )
    assert running.post() == (200, {})
    hanging = running.begin(b"hang")
    eventually("it is being decided", lambda: running.server._unanswered)
    others = [running.begin() for _ in range(3)]

    for sock in (hanging, *others):
        status, document = heard(sock)
        assert (status, document["decision"]) == (200, "block")
    release.set()
    eventually("there is room again", lambda: running.post() == (200, {}))
    running.server.request_stop("the test is over")


@pytest.mark.usefixtures("quick")
def test_what_waits_while_no_more_can_be_decided_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    """Whoever asks too much is told so at once; whoever asked before is decided when there is room."""
    monkeypatch.setattr(leader.LeaderLock.__init__, "__defaults__", (1,))
    monkeypatch.setattr(server, "MAX_BUFFERED_BYTES", 20_000)
    running = Running(
        tmp_path / "run", lambda question: held_up(release)(question) if question.payload == b"hang" else ALLOWED
    )
    hanging = running.begin(b"hang")
    eventually("no more can be", lambda: running.server._unanswered and not running.server._leader.has_capacity())
    patient = running.begin(b"x" * 10_000)
    eventually("it is heard", lambda: running.server._queue)

    assert "too much is being asked" in running.post(b"x" * 12_000)[1]["reason"]
    release.set()
    assert heard(hanging) == heard(patient) == (200, {})
    running.server.request_stop("the test is over")


def test_what_can_wait_holds_nobody_up(tmp_path: Path, release: threading.Event) -> None:
    """Although it takes longer than it must."""
    running, resting = Running(tmp_path / "run", lambda _: ALLOWED), []
    running.server._maintain = lambda: (resting.append(None), release.wait(60))[0]
    assert running.post() == (200, {})
    eventually("it rests", lambda: resting)
    assert running.post() == (200, {})
    running.server.request_stop("the test is over")


def test_who_has_failed_lends_the_lead_no_more(tmp_path: Path) -> None:
    """Or another would lead as well."""
    loop = close_after_test(
        Server(
            [],
            lambda _: DeferredReply(ALLOWED),
            Journal(tmp_path / "log"),
            owns_socket=lambda: True,
            extra_stats=dict,
            idle_seconds=1.0,
        )
    )
    loop._leader.yield_()
    loop._handle_leader_failure(ArithmeticError())

    assert (loop._leader._yielded_since, loop._stop_reason) == ({}, server.REASON_THREAD_FAILED)
