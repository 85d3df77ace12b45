"""The acceptor of the warm process by itself, with real sockets."""

import errno
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.contract.warm import wait_until
from verdikt.daemon import acceptor, protocol
from verdikt.daemon.acceptor import MAX_OPEN_CONNECTIONS, Acceptor, Listener
from verdikt.daemon.connection import Connection
from verdikt.daemon.http_listener import HttpListener
from verdikt.daemon.instance import DaemonInstance
from verdikt.daemon.journal import Journal
from verdikt.daemon.listener import UnixListener
from verdikt.daemon.request import Peer
from verdikt.daemon.stats import DaemonStats


class PlainListener:
    """Accepts every client of protocol 1."""

    def __init__(self) -> None:
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.sock.setblocking(False)

    def accept_socket(self) -> socket.socket:
        """Return the next connection."""
        return self.sock.accept()[0]

    def accept_client(self, sock: socket.socket, now: float) -> Connection:
        """Return the client of a connection."""
        return Connection(sock, Peer(0, 0), now)

    def close(self) -> None:
        """Stop listening."""
        self.sock.close()


REQUEST = protocol.MAGIC + (2).to_bytes(4, "big") + bytes(4) + b"x\0"
"""A complete request; its content does not matter to the acceptor."""


def connect_client(listener: PlainListener | HttpListener, data: bytes) -> socket.socket:
    """Connect a client that sends data, and wait until the listener can accept it."""
    client = socket.create_connection(listener.sock.getsockname(), timeout=20)
    client.sendall(data)
    assert select.select([listener.sock], [], [], 20)[0]
    return client


OpenAcceptor = Callable[..., Acceptor]


@pytest.fixture
def open_acceptor() -> Iterator[OpenAcceptor]:
    """Return a constructor of acceptors that are closed when the test ends."""
    with ExitStack() as stack:

        def open_one(
            listeners: list[Listener], journal: Journal, stats: DaemonStats, max_open: int = MAX_OPEN_CONNECTIONS
        ) -> Acceptor:
            subject = Acceptor(listeners, journal, stats, max_open)
            stack.callback(subject.close)
            for listener in listeners:
                stack.callback(listener.sock.close)
            return subject

        yield open_one


def test_evicted_connection_is_not_read_again(
    tmp_path: Path, open_acceptor: OpenAcceptor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that is evicted while a batch of events is handled is not read afterwards."""
    listener, journal = PlainListener(), Journal(tmp_path / "daemon.log")
    subject = open_acceptor([listener], journal, DaemonStats())
    clients = [socket.create_connection(listener.sock.getsockname(), timeout=20) for _ in range(6)]
    start = protocol.MAGIC + (1_000).to_bytes(4, "big") + (10_000).to_bytes(4, "big")
    for number, client in enumerate(clients):
        client.sendall(start + b"x" * (100 if number < 5 else 1_000))
    deadline = time.monotonic() + 20
    while subject._buffered_bytes < 6 * len(start) + 1_500:
        assert time.monotonic() < deadline
        subject.poll_requests(0.01)
    monkeypatch.setattr(acceptor, "MAX_BUFFERED_BYTES", subject._buffered_bytes + 350)
    for client in clients:
        client.sendall(b"x" * 100)
    subject.poll_requests(0.1)
    subject.poll_requests(0.01)

    assert len(subject._connections) == len(clients) - 1
    assert journal.read_tail(10) == []
    for client in clients:
        client.close()
    for remaining in list(subject._connections):
        remaining.close()
    listener.close()


def test_busy_listener_does_not_starve_others(tmp_path: Path, open_acceptor: OpenAcceptor) -> None:
    """One listener's flood of clients delays neither other listeners nor open connections."""
    busy, other = PlainListener(), PlainListener()
    subject = open_acceptor([busy, other], Journal(tmp_path / "daemon.log"), DaemonStats())
    slow = connect_client(busy, REQUEST[:5])
    wait_until("it is registered", lambda: subject.poll_requests(0.01) or len(subject))
    clients = [connect_client(busy, REQUEST) for _ in range(3 * acceptor.ACCEPT_BATCH)]
    clients.append(connect_client(other, REQUEST))
    slow.sendall(REQUEST[5:])
    assert select.select(list(subject._connections), [], [], 20)[0]

    completed = subject.poll_requests(20)

    assert len(subject._connections) + len(completed) == acceptor.ACCEPT_BATCH + 2
    assert select.select([busy.sock, other.sock], [], [], 0)[0] == [busy.sock]
    assert any(connection.sock.getpeername() == slow.getsockname() for connection in completed)
    for client in (slow, *clients):
        client.close()
    for connection in (*subject._connections, *completed):
        connection.close()
    busy.close()
    other.close()


def test_complete_request_survives_an_error_of_another(
    tmp_path: Path, open_acceptor: OpenAcceptor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A complete request is returned by the next call when another connection raises an error."""
    listener, failures = PlainListener(), iter([ArithmeticError()])
    subject = open_acceptor([listener], Journal(tmp_path / "daemon.log"), DaemonStats())
    clients = [connect_client(listener, REQUEST[:5]) for _ in range(2)]
    wait_until("they are registered", lambda: subject.poll_requests(0.01) or len(subject) == 2)
    first, last = subject._connections
    original = subject._receive_data

    def fail_once(connection: Connection) -> bool:
        if connection is last:
            for error in failures:
                raise error
        return original(connection)

    monkeypatch.setattr(subject, "_receive_data", fail_once)
    for client, connection in zip(clients, (first, last), strict=True):
        client.sendall(REQUEST[5:])
        assert select.select([connection], [], [], 20)[0]
    with pytest.raises(ArithmeticError):
        subject.poll_requests(20)

    assert subject.close_listeners() == [first]
    first.close()
    for client in clients:
        client.close()


def test_acceptor_is_closed_after_all_listeners_are(tmp_path: Path, open_acceptor: OpenAcceptor) -> None:
    """The acceptor counts as closed only when every listener is: a successor would find its place taken."""
    listeners, states = [PlainListener(), PlainListener()], []
    subject = open_acceptor(listeners, Journal(tmp_path / "daemon.log"), DaemonStats())

    def close_listener(listener: PlainListener) -> Callable[[], None]:
        return lambda: (states.append(subject.is_closed), listener.sock.close())[1]

    for listener in listeners:
        listener.close = close_listener(listener)  # type: ignore[method-assign]
    subject.close_listeners()

    assert (states, subject.is_closed, subject.is_drained()) == ([False, False], True, True)


@pytest.mark.parametrize("cause", ["timeout", "deadline", "stop"])
def test_rejected_http_client_lingers_while_it_sends(
    tmp_path: Path, open_acceptor: OpenAcceptor, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    """A rejected HTTP client is read for a while, because after a reset it would miss its reply and run the tool."""
    listener = HttpListener(0, tmp_path, {}, deadline_seconds=0.0 if cause == "deadline" else 600.0)
    subject = open_acceptor([listener], Journal(tmp_path / "daemon.log"), DaemonStats())
    client = connect_client(listener, b"POST /hook/claude/PreToolUse HTTP/1.1\r\n")
    wait_until("it is registered", lambda: subject.poll_requests(0.01) or len(subject))
    (connection,) = subject._connections
    monkeypatch.setattr(acceptor, "SWEEP_SECONDS", 600.0)
    subject._last_sweep_at = -600.0
    if cause == "timeout":
        connection.opened_at -= acceptor.REQUEST_TIMEOUT_SECONDS
    if cause == "stop":
        subject.close_listeners()
        subject._closed_at -= 601.0
    subject.expire_connections()

    assert b'"decision":"block"' in client.recv(4096)
    assert (list(subject._connections), connection.is_lingering) == ([connection], True)
    subject._last_sweep_at = -600.0
    subject.expire_connections()
    assert len(subject) == 1
    if cause == "stop":
        subject._closed_at -= 600.0
        subject.expire_connections()
        assert not len(subject)
    client.close()
    connection.close()


def test_unfinished_request_gets_retry_when_the_server_stops(
    tmp_path: Path, open_acceptor: OpenAcceptor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unfinished request was not decided, so its client may ask another process."""
    monkeypatch.setattr(acceptor, "SWEEP_SECONDS", 0.0)
    listener = PlainListener()
    subject = open_acceptor([listener], Journal(tmp_path / "daemon.log"), DaemonStats())
    client = connect_client(listener, REQUEST[:5])
    wait_until("it is registered", lambda: subject.poll_requests(0.01) or len(subject))
    subject.close_listeners()
    wait_until("it is rejected", lambda: subject.expire_connections() or not len(subject))

    assert client.recv(100)[:5] == protocol.MAGIC + bytes([protocol.KIND_RETRY])
    client.close()


def test_oldest_connection_is_evicted_when_descriptors_run_out(tmp_path: Path, open_acceptor: OpenAcceptor) -> None:
    """Only a lack of descriptors evicts the oldest connection, also while the server stops."""
    listener = PlainListener()
    subject = open_acceptor([listener], journal := Journal(tmp_path / "daemon.log"), DaemonStats())
    silent = connect_client(listener, REQUEST[:5])
    wait_until("it is registered", lambda: subject.poll_requests(0.01) or len(subject))
    subject._handle_accept_error(listener, OSError(errno.EPROTO, "broken"))
    assert (len(subject), len(journal.read_tail(10))) == (1, 1)
    subject._closed_at = 1.0
    subject._handle_accept_error(listener, OSError(errno.EMFILE, "none left"))

    assert b"too many clients" in silent.recv(100)
    assert (len(subject), subject._listeners) == (0, [listener])
    subject._handle_accept_error(listener, OSError(errno.EMFILE, "none left"))
    assert subject.is_drained()
    silent.close()
    listener.close()


def test_closed_listener_is_polled_until_its_queue_is_empty(tmp_path: Path, open_acceptor: OpenAcceptor) -> None:
    """A closed listener is polled until its queue is empty and then removed, or it would be ready for ever."""
    instance, journal = DaemonInstance(tmp_path / "run"), Journal(tmp_path / "daemon.log")
    assert instance.acquire_lock()
    subject = open_acceptor([UnixListener(instance, lambda _: True, journal)], journal, DaemonStats())
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(instance.socket_path))
        client.sendall(REQUEST)
        subject.close_listeners()
        (remaining,) = wait_until("its request is complete", lambda: subject.poll_requests(20))
        wait_until("the queue is empty", lambda: subject.poll_requests(0.01) or subject.is_drained())
        subject.wakeup.notify()
        assert subject.poll_requests(20) == []
        remaining.close()


def test_refused_client_is_counted_and_closed(tmp_path: Path, open_acceptor: OpenAcceptor) -> None:
    """A client that is refused, or cannot be identified, is closed."""
    listener, stats = PlainListener(), DaemonStats()
    subject = open_acceptor([listener], Journal(tmp_path / "daemon.log"), stats)
    listener.accept_client = lambda sock, _: sock.close()  # type: ignore[method-assign]
    refused = connect_client(listener, b"")
    subject.poll_requests(20)
    assert (refused.recv(1), stats.refusal_count) == (b"", 1)

    def fail(_: socket.socket, __: float) -> Connection:
        raise OSError("the user is not known")

    listener.accept_client = fail  # type: ignore[method-assign]
    unknown = connect_client(listener, b"")
    subject.poll_requests(20)
    assert unknown.recv(1) == b""
    refused.close()
    unknown.close()
    listener.close()


def test_oldest_connection_is_closed_when_there_are_too_many(tmp_path: Path, open_acceptor: OpenAcceptor) -> None:
    """The oldest of too many connections gets a reply and is closed without lingering."""
    listener = HttpListener(0, tmp_path, {})
    subject = open_acceptor([listener], Journal(tmp_path / "daemon.log"), DaemonStats(), 1)
    oldest = connect_client(listener, b"POST ")
    wait_until("it is registered", lambda: subject.poll_requests(0.01) or len(subject))
    first = next(iter(subject._connections))
    newer = connect_client(listener, b"POST ")
    subject.poll_requests(20)

    assert b"too many clients at once" in oldest.recv(4096)
    assert (len(subject), first in subject._connections, first.fileno()) == (1, False, -1)
    for connection in subject._connections:
        connection.close()
    oldest.close()
    newer.close()
    listener.close()
