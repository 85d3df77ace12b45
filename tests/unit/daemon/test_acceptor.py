"""The lobby of the warm process by itself, with real sockets."""

import errno
import select
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.contract.warm import eventually
from verdikt.daemon import acceptor, protocol
from verdikt.daemon.acceptor import Acceptor
from verdikt.daemon.connection import Connection
from verdikt.daemon.http_listener import HttpListener
from verdikt.daemon.instance import DaemonInstance
from verdikt.daemon.journal import Journal
from verdikt.daemon.listener import UnixListener
from verdikt.daemon.request import Peer
from verdikt.daemon.stats import DaemonStats


class PlainDoor:
    """Lets clients of protocol 1 in, without waiting for them."""

    def __init__(self) -> None:
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.sock.setblocking(False)

    def accept_socket(self) -> socket.socket:
        """The next."""
        return self.sock.accept()[0]

    def accept_client(self, sock: socket.socket, now: float) -> Connection:
        """Everybody."""
        return Connection(sock, Peer(0, 0), now)

    def close(self) -> None:
        """Nobody any more."""
        self.sock.close()


WHOLE = protocol.MAGIC + (2).to_bytes(4, "big") + bytes(4) + b"x\0"
"""The bytes of a question; what it asks does not matter in the lobby."""


def knock(door: PlainDoor | HttpListener, data: bytes) -> socket.socket:
    """A client that stands at a door and has said something."""
    client = socket.create_connection(door.sock.getsockname(), timeout=20)
    client.sendall(data)
    assert select.select([door.sock], [], [], 20)[0]
    return client


def test_a_client_that_was_sent_away_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many send at the same moment, and the bytes of one make the loop send another away that comes after it."""
    door, journal = PlainDoor(), Journal(tmp_path / "daemon.log")
    loop = close_after_test(Acceptor([door], journal, DaemonStats()))
    clients = [socket.create_connection(door.sock.getsockname(), timeout=20) for _ in range(6)]
    start = protocol.MAGIC + (1_000).to_bytes(4, "big") + (10_000).to_bytes(4, "big")
    for number, client in enumerate(clients):
        client.sendall(start + b"x" * (100 if number < 5 else 1_000))
    end = time.monotonic() + 20
    while loop._buffered_bytes < 6 * len(start) + 1_500:
        assert time.monotonic() < end
        loop.poll_requests(0.01)
    monkeypatch.setattr(acceptor, "MAX_BUFFERED_BYTES", loop._buffered_bytes + 350)
    for client in clients:
        client.sendall(b"x" * 100)
    loop.poll_requests(0.1)
    loop.poll_requests(0.01)

    assert len(loop._connections) == len(clients) - 1
    assert journal.read_tail(10) == []
    for client in clients:
        client.close()
    for left in list(loop._connections):
        left.close()
    door.close()


def test_no_door_and_no_client_waits_for_another_door(tmp_path: Path) -> None:
    """However many come in there: a client of the port that hears nothing runs the tool."""
    busy, other = PlainDoor(), PlainDoor()
    room = close_after_test(Acceptor([busy, other], Journal(tmp_path / "daemon.log"), DaemonStats()))
    slow = knock(busy, WHOLE[:5])
    eventually("it was let in", lambda: room.poll_requests(0.01) or len(room))
    clients = [knock(busy, WHOLE) for _ in range(3 * acceptor.ACCEPT_BATCH)]
    clients.append(knock(other, WHOLE))
    slow.sendall(WHOLE[5:])
    assert select.select(list(room._connections), [], [], 20)[0]

    heard = room.poll_requests(20)

    assert len(room._connections) + len(heard) == acceptor.ACCEPT_BATCH + 2
    assert select.select([busy.sock, other.sock], [], [], 0)[0] == [busy.sock]
    assert any(each.sock.getpeername() == slow.getsockname() for each in heard)
    for client in (slow, *clients):
        client.close()
    for each in (*room._connections, *heard):
        each.close()
    busy.close()
    other.close()


def test_who_has_asked_is_not_lost_when_another_is_the_cause_of_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They leave the next time."""
    door, failures = PlainDoor(), iter([ArithmeticError()])
    room = close_after_test(Acceptor([door], Journal(tmp_path / "daemon.log"), DaemonStats()))
    clients = [knock(door, WHOLE[:5]) for _ in range(2)]
    eventually("they were let in", lambda: room.poll_requests(0.01) or len(room) == 2)
    first, last = room._connections
    original = room._receive_data

    def failing(connection: Connection) -> bool:
        if connection is last:
            for error in failures:
                raise error
        return original(connection)

    monkeypatch.setattr(room, "_receive_data", failing)
    for client, each in zip(clients, (first, last), strict=True):
        client.sendall(WHOLE[5:])
        assert select.select([each], [], [], 20)[0]
    with pytest.raises(ArithmeticError):
        room.poll_requests(20)

    assert room.close_listeners() == [first]
    first.close()
    for client in clients:
        client.close()


def test_there_is_room_for_another_process_when_every_door_is_shut(tmp_path: Path) -> None:
    """And not before: it would find its place taken, and leave."""
    doors, found = [PlainDoor(), PlainDoor()], []
    room = close_after_test(Acceptor(doors, Journal(tmp_path / "daemon.log"), DaemonStats()))

    def closing(door: PlainDoor) -> Callable[[], None]:
        return lambda: (found.append(room.is_closed), door.sock.close())[1]

    for door in doors:
        door.close = closing(door)  # type: ignore[method-assign]
    room.close_listeners()

    assert (found, room.is_closed, room.is_drained()) == ([False, False], True, True)


@pytest.mark.parametrize("late", ["ASK_SECONDS", "due", "going"])
def test_who_is_sent_away_while_it_sends_is_listened_to_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """Over http: hung up on at once, it would miss its answer and run the tool."""
    door = HttpListener(0, tmp_path, {}, deadline_seconds=0.0 if late == "due" else 600.0)
    room = close_after_test(Acceptor([door], Journal(tmp_path / "daemon.log"), DaemonStats()))
    client = knock(door, b"POST /hook/claude/PreToolUse HTTP/1.1\r\n")
    eventually("it was let in", lambda: room.poll_requests(0.01) or len(room))
    (each,) = room._connections
    monkeypatch.setattr(acceptor, "SWEEP_SECONDS", 600.0)
    room._last_sweep_at = -600.0
    if late == "ASK_SECONDS":
        each.opened_at -= acceptor.REQUEST_TIMEOUT_SECONDS
    if late == "going":
        room.close_listeners()
        room._closed_at -= 601.0
    room.expire_connections()

    assert b'"decision":"block"' in client.recv(4096)
    assert (list(room._connections), each.is_lingering) == ([each], True)
    room._last_sweep_at = -600.0
    room.expire_connections()
    assert len(room) == 1
    if late == "going":
        room._closed_at -= 600.0
        room.expire_connections()
        assert not len(room)
    client.close()
    each.close()


def test_who_has_not_asked_to_the_end_when_the_process_goes_may_turn_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was decided."""
    monkeypatch.setattr(acceptor, "SWEEP_SECONDS", 0.0)
    door = PlainDoor()
    room = close_after_test(Acceptor([door], Journal(tmp_path / "daemon.log"), DaemonStats()))
    client = knock(door, WHOLE[:5])
    eventually("it was let in", lambda: room.poll_requests(0.01) or len(room))
    room.close_listeners()
    eventually("it was sent away", lambda: room.expire_connections() or not len(room))

    assert client.recv(100)[:5] == protocol.MAGIC + bytes([protocol.KIND_RETRY])
    client.close()


def test_where_no_descriptor_is_left_who_has_not_asked_makes_room_also_when_the_process_goes(tmp_path: Path) -> None:
    """And nobody does for anything else that is wrong at a door."""
    door = PlainDoor()
    room = close_after_test(Acceptor([door], journal := Journal(tmp_path / "daemon.log"), DaemonStats()))
    silent = knock(door, WHOLE[:5])
    eventually("it was let in", lambda: room.poll_requests(0.01) or len(room))
    room._handle_accept_error(door, OSError(errno.EPROTO, "broken"))
    assert (len(room), len(journal.read_tail(10))) == (1, 1)
    room._closed_at = 1.0
    room._handle_accept_error(door, OSError(errno.EMFILE, "none left"))

    assert b"too many clients" in silent.recv(100)
    assert (len(room), room._listeners) == (0, [door])
    room._handle_accept_error(door, OSError(errno.EMFILE, "none left"))
    assert room.is_drained()
    silent.close()
    door.close()


def test_a_door_that_is_shut_is_looked_at_until_nobody_stands_there(tmp_path: Path) -> None:
    """And not again: it would be ready for ever."""
    residence, journal = DaemonInstance(tmp_path / "run"), Journal(tmp_path / "daemon.log")
    assert residence.acquire_lock()
    room = close_after_test(Acceptor([UnixListener(residence, lambda _: True, journal)], journal, DaemonStats()))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(residence.socket_path))
        client.sendall(WHOLE)
        room.close_listeners()
        (left,) = eventually("it has asked", lambda: room.poll_requests(20))
        eventually("nobody is there", lambda: room.poll_requests(0.01) or room.is_drained())
        room.wakeup.notify()
        assert room.poll_requests(20) == []
        left.close()


def test_who_may_not_come_in_is_counted_and_hung_up_on(tmp_path: Path) -> None:
    """Also when nobody can tell who it is."""
    door, pulse = PlainDoor(), DaemonStats()
    room = close_after_test(Acceptor([door], Journal(tmp_path / "daemon.log"), pulse))
    door.accept_client = lambda sock, _: sock.close()  # type: ignore[method-assign]
    refused = knock(door, b"")
    room.poll_requests(20)
    assert (refused.recv(1), pulse.refusal_count) == (b"", 1)

    def fail(_: socket.socket, __: float) -> Connection:
        raise OSError("nobody can tell")

    door.accept_client = fail  # type: ignore[method-assign]
    unknown = knock(door, b"")
    room.poll_requests(20)
    assert unknown.recv(1) == b""
    refused.close()
    unknown.close()
    door.close()


def test_of_too_many_clients_the_oldest_goes_at_once(tmp_path: Path) -> None:
    """It is told, and not listened to any more: its place is wanted."""
    door = HttpListener(0, tmp_path, {})
    room = close_after_test(Acceptor([door], Journal(tmp_path / "daemon.log"), DaemonStats(), 1))
    oldest = knock(door, b"POST ")
    eventually("it was let in", lambda: room.poll_requests(0.01) or len(room))
    first = next(iter(room._connections))
    newer = knock(door, b"POST ")
    room.poll_requests(20)

    assert b"too many clients at once" in oldest.recv(4096)
    assert (len(room), first in room._connections, first.fileno()) == (1, False, -1)
    for each in room._connections:
        each.close()
    oldest.close()
    newer.close()
    door.close()
