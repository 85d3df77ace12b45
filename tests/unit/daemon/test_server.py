"""The loop of the warm process, with real sockets and decisions that a test holds up."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.warm import eventually
from verdikt.daemon import protocol, server
from verdikt.daemon.connection import Connection
from verdikt.daemon.journal import Journal
from verdikt.daemon.loopback import HttpDoor
from verdikt.daemon.pending import Pending
from verdikt.daemon.question import Peer, Question, Said
from verdikt.daemon.server import Server
from verdikt.ledger.files import FileStore
from verdikt.ledger.later import Later
from verdikt.ledger.log import LogFile
from verdikt.model.value import replace

ALLOWED = Said(protocol.ANSWER, 0, b"{}\n")


class Running:
    """A server with one HTTP door in a thread of this process."""

    def __init__(self, run: Path, answer: Callable[[Question], Said], seconds: float = 60.0) -> None:
        run.mkdir(mode=0o700, exist_ok=True)
        self.door = HttpDoor(0, run, {}, seconds=seconds)
        self.journal = Journal(run / "daemon.log")
        self.server = Server(
            [self.door],
            lambda question: Pending(answer(question)),
            self.journal,
            ours=lambda: True,
            facts=dict,
            idle_seconds=600.0,
        )
        self.thread = threading.Thread(target=self.server.serve, daemon=True)
        self.thread.start()

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
    monkeypatch.setattr(server, "LEAVE_SECONDS", 0.2)


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets go of whatever hangs, at the latest when the test ends."""
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.usefixtures("quick")
def test_a_request_is_answered_in_time_whatever_hangs(tmp_path: Path, release: threading.Event) -> None:
    """With a block where the agent is about to act; and others are decided although every thread hangs."""

    def answer(question: Question) -> Said:
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
    running.server.leave("the test is over")


@pytest.mark.usefixtures("quick")
def test_who_was_decided_before_one_that_hangs_is_answered(tmp_path: Path, release: threading.Event) -> None:
    """Whatever was held back for them to wait together; and the one that hung is answered when it is done."""
    first = threading.Event()

    def answer(question: Question) -> Said:
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
    running.server.leave("the test is over")


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
    running.server.leave("the test is over")


def test_no_answer_is_given_before_its_entry_is_on_the_disk(tmp_path: Path) -> None:
    """And the waits of several logs run side by side."""
    store = FileStore(tmp_path / "data", later=(later := Later()))
    under_way, go_on = threading.Semaphore(0), threading.Event()

    class SlowLog(LogFile):
        """A log on a disk that the test stops."""

        def sync(self, wanted: int) -> None:
            under_way.release()
            go_on.wait(20)
            super().sync(wanted)

    def decide(question: Question) -> Pending:
        session = question.payload.decode()
        later.begin()
        store.append(session, "gap", {})
        written = later.end()
        log = SlowLog(store.reader.path(session), durable=True)
        log.written = 1
        return Pending(ALLOWED, [*written, (log, 1)])

    running = Running(tmp_path / "run", lambda _: ALLOWED)
    running.server._decide = decide
    running.server._slow = 1.0
    waiting = [running.begin(b"a")]
    assert under_way.acquire(timeout=20)
    waiting += [running.begin(body) for body in (b"b", b"c")]
    for _ in range(2):
        assert under_way.acquire(timeout=20)
    for sock in waiting:
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(1)
        sock.settimeout(20)
    go_on.set()

    assert [heard(sock) for sock in waiting] == [(200, {})] * 3
    running.server.leave("the test is over")


@pytest.mark.usefixtures("quick")
def test_whoever_asks_when_the_process_goes_is_told(tmp_path: Path, release: threading.Event) -> None:
    """A decision that hangs does not leave its client without a word."""

    def answer(_: Question) -> Said:
        release.wait(60)
        return ALLOWED

    running = Running(tmp_path / "run", answer)
    waiting = running.begin()
    end = time.monotonic() + 20
    while not running.server._busy:
        assert time.monotonic() < end
        time.sleep(0.01)
    running.server.leave("the test is over")

    status, document = heard(waiting)
    assert (status, document["decision"]) == (200, "block")


def test_an_answer_that_cannot_be_given_ends_no_thread(tmp_path: Path) -> None:
    """It is written down, the client is blocked, and the next one is answered by the same thread."""
    said = iter([Said(protocol.ANSWER, 2, b"no json")] * 4)
    running = Running(tmp_path / "run", lambda _: next(said, ALLOWED))

    for _ in range(4):
        status, document = running.post()
        assert (status, document["decision"]) == (200, "block")
    assert running.post() == (200, {})
    assert any("failed to answer" in line for line in running.journal.tail(10))
    running.server.leave("the test is over")


class PlainDoor:
    """Lets clients of protocol 1 in, without waiting for them."""

    def __init__(self) -> None:
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.sock.setblocking(False)

    def accept(self) -> socket.socket:
        """The next."""
        return self.sock.accept()[0]

    def admit(self, sock: socket.socket, now: float) -> Connection:
        """Everybody."""
        return Connection(sock, Peer(0, 0), now)

    def close(self) -> None:
        """Nobody any more."""
        self.sock.close()


def test_a_client_that_was_sent_away_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many send at the same moment, and the bytes of one make the loop send another away that comes after it."""
    door, journal = PlainDoor(), Journal(tmp_path / "daemon.log")
    loop = Server([door], lambda _: Pending(ALLOWED), journal, ours=lambda: True, facts=dict, idle_seconds=600.0)
    loop._selector.register(door.sock, 1, door)
    loop._leader = threading.get_ident()
    clients = [socket.create_connection(door.sock.getsockname(), timeout=20) for _ in range(6)]
    start = protocol.MAGIC + (1_000).to_bytes(4, "big") + (10_000).to_bytes(4, "big")
    for number, client in enumerate(clients):
        client.sendall(start + b"x" * (100 if number < 5 else 1_000))
    end = time.monotonic() + 20
    while loop._buffered < 6 * len(start) + 1_500:
        assert time.monotonic() < end
        loop._listen(0.01)
    monkeypatch.setattr(server, "MOST_BUFFERED", loop._buffered + 350)
    for client in clients:
        client.sendall(b"x" * 100)
    loop._listen(0.1)
    loop._listen(0.01)

    assert len(loop._open) == len(clients) - 1
    assert journal.tail(10) == []
    for client in clients:
        client.close()
    for left in list(loop._open):
        left.close()
    door.close()


def test_nothing_is_held_of_what_a_stranger_sends(tmp_path: Path) -> None:
    """The token is looked at before the body comes; the rest is listened to, so that the answer is heard."""
    running = Running(tmp_path / "run", lambda _: ALLOWED)
    stranger = running.begin(b"x" * 100_000, length=200_000, token="another")
    end = time.monotonic() + 20
    while not [each for each in running.server._open if each.lingers]:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert sum(len(each.data) for each in running.server._open) == 0
    for _ in range(20):
        stranger.sendall(b"x" * 5_000)
        time.sleep(0.001)

    status, document = heard(stranger)
    assert (status, document["decision"]) == (200, "block")
    assert running.server._buffered == 0
    running.server.leave("the test is over")


@pytest.mark.parametrize(
    "path", ["claude/PreToolUse/", "claude", "nobody/PreToolUse", "claude/", "/", "claude/Pre/Tool"]
)
def test_every_hook_is_answered_with_a_document(tmp_path: Path, path: str) -> None:
    """A client takes a 404 for silence and runs the tool."""
    running = Running(tmp_path / "run", lambda _: Said.refused("cannot be decided"))

    status, document = running.post(path=f"/hook/{path}")

    assert (status, document["decision"]) == (200, "block")
    assert running.post(path="/other")[0] == 404
    running.server.leave("the test is over")


def test_one_answer_is_given_and_no_second() -> None:
    """Whoever comes first."""
    ours, theirs = socket.socketpair()
    connection = Connection(ours, Peer(0, 0), 0.0)

    assert connection.answer(Said.refused("first"))
    assert not connection.answer(ALLOWED)
    assert b"first" in theirs.recv(1000)
    assert theirs.recv(1000) == b""
    theirs.close()


def held_up(event: threading.Event) -> Callable[[Question], Said]:
    """Decisions that take until the event, and then allow."""

    def answer(_: Question) -> Said:
        event.wait(60)
        return ALLOWED

    return answer


def test_the_lead_is_taken_from_nobody_but_who_is_busy(tmp_path: Path, release: threading.Event) -> None:
    """Whoever watches saw a thread at work that a moment later is not: two would lead."""
    running = Running(tmp_path / "run", held_up(release))
    loop, watcher, busy = running.server, running.thread, []
    original, watch, lock = loop._pass_on, loop._watch, loop._lock
    looked = [0.0]

    class Loitering:
        """The lock of the loop, after which the thread that watches is held up until what it saw is over."""

        def __enter__(self) -> None:
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            seen = [since for since, at in loop._busy.values() if at]
            lock.release()
            long = seen and looked[-1] - seen[0] > server.TURN_SECONDS
            if long and threading.current_thread() is watcher and not release.is_set():
                release.set()
                eventually("nobody decides", lambda: not any(at for _, at in list(loop._busy.values())))

    def watching(now: float) -> None:
        looked.append(now)
        watch(now)

    def passed_on(*words: Any) -> None:
        leader, at_work = loop._leader, loop._leader in loop._busy
        original(*words)
        if loop._leader != leader:
            busy.append(at_work)

    loop._lock = Loitering()  # type: ignore[assignment]
    loop._pass_on, loop._watch = passed_on, watching  # type: ignore[method-assign]
    assert heard(running.begin()) == (200, {})
    assert eventually("the lead was passed on", lambda: busy) == [True]
    loop.leave("the test is over")
    watcher.join(60)


@pytest.mark.usefixtures("quick")
def test_who_has_lost_the_lead_looks_at_no_clients(tmp_path: Path, release: threading.Event) -> None:
    """They are the new leader's."""
    running = Running(tmp_path / "run", held_up(release))
    loop, strangers = running.server, []
    original = loop._look_at_clients

    def look() -> None:
        if not loop._leads():
            strangers.append(threading.get_ident())
        original()

    loop._look_at_clients = look  # type: ignore[method-assign]
    waiting = running.begin(b"", length=2)
    eventually("it is waited for", lambda: loop._open)
    waiting.sendall(b"{}")
    first = eventually("one decides", lambda: next((who for who, (_, at) in [*loop._busy.items()] if at), None))
    eventually("another leads", lambda: loop._leader not in (0, first))
    release.set()
    assert heard(waiting) == (200, {})
    eventually("the first waits for the lead", lambda: first not in loop._busy and loop._waiting)
    assert strangers == []
    loop.leave("the test is over")


@pytest.mark.parametrize("slow", [False, True])
def test_where_no_thread_can_be_started_everybody_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: bool
) -> None:
    """A container may have as many processes as it may."""
    go_on, refused = threading.Event(), []
    running, store = Running(tmp_path / "run", held_up(go_on)), FileStore(tmp_path / "data")
    loop = running.server
    decide = loop._decide

    def logged(question: Question) -> Pending:
        store.append(session := question.payload.decode(), "gap", {})
        return replace(decide(question), written=((store._log(session), 1),))

    def start(thread: threading.Thread) -> None:
        refused.append(thread)
        raise RuntimeError("can't start new thread")

    eventually("somebody leads", lambda: loop._leader)
    loop._decide, loop._slow = logged, 1.0 if slow else 0.0
    monkeypatch.setattr(threading.Thread, "start", start)
    waiting = [running.begin(b"a")]
    eventually("another was wanted", lambda: len(refused) > 1)
    waiting += [running.begin(body) for body in (b"b", b"c", b"d")]
    go_on.set()

    assert [heard(sock) for sock in waiting] == [(200, {})] * 4
    eventually("nobody is busy", lambda: not loop._busy)
    assert (running.thread.is_alive(), loop._threads, loop._why) == (True, 1, "")
    loop.leave("the test is over")


@pytest.mark.parametrize("where", ["_look_at_clients", "_take_in", "_forget", "_settle"])
def test_whatever_fails_somebody_leads_until_another_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """It is written down, who asked is blocked, and the process makes room."""
    monkeypatch.setattr(server, "TICK_SECONDS", 0.02)
    running = Running(tmp_path / "run", lambda _: ALLOWED)
    original, failures = getattr(running.server, where), iter([ArithmeticError()])

    def failing(*words: Any) -> Any:
        if where != "_look_at_clients" or running.server._open:
            for error in failures:
                raise error
        return original(*words)

    monkeypatch.setattr(running.server, where, failing)
    _, document = heard(running.begin(length=5 if where == "_look_at_clients" else -1))
    assert document == {} or document["decision"] == "block"
    running.thread.join(60)

    assert not running.thread.is_alive()
    assert running.server._why == server.BROKEN
    assert any("failed to lead" in line for line in running.journal.tail(10))


def test_one_whose_time_is_over_before_it_is_decided_ends_no_thread(tmp_path: Path) -> None:
    """It was told, and hung up on, by the thread that watches."""
    running = Running(tmp_path / "run", lambda _: ALLOWED)
    original = running.server._forget

    def late(connection: Connection) -> None:
        original(connection)
        connection.answer(Said.refused("did not decide in time"))

    running.server._forget = late  # type: ignore[method-assign]
    assert running.post()[1]["decision"] == "block"
    running.server._forget = original  # type: ignore[method-assign]
    assert running.post() == (200, {})
    assert running.server._why == ""
    running.server.leave("the test is over")


@pytest.mark.usefixtures("quick")
def test_who_was_decided_is_answered_in_time_although_nobody_can_lead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    """A client that hears nothing runs the tool."""
    monkeypatch.setattr(server, "MOST_THREADS", 1)
    first = threading.Event()

    def answer(question: Question) -> Said:
        (first if question.payload == b"first" else release).wait(60) if question.payload != b"{}" else None
        return ALLOWED

    running = Running(tmp_path / "run", answer, seconds=1.0)
    opening = running.begin(b"first")
    eventually("it is being decided", lambda: any(at for _, at in [*running.server._busy.values()]))
    held, _ = [running.begin(body) for body in (b"{}", b"hang")]  # let in one after the other when that is done
    first.set()
    status, document = heard(held)

    assert (status, document["decision"]) == (200, "block")
    assert heard(opening)[0] == 200
    running.server.leave("the test is over")
