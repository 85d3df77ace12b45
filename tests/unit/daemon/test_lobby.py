"""The lobby of the warm process by itself, with real sockets."""

import errno
import select
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.warm import eventually
from verdikt.daemon import lobby, protocol
from verdikt.daemon.connection import Connection
from verdikt.daemon.door import UnixDoor
from verdikt.daemon.journal import Journal
from verdikt.daemon.lobby import Lobby
from verdikt.daemon.loopback import HttpDoor
from verdikt.daemon.pulse import Pulse
from verdikt.daemon.question import Peer
from verdikt.daemon.residence import Residence


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


WHOLE = protocol.MAGIC + (2).to_bytes(4, "big") + bytes(4) + b"x\0"
"""The bytes of a question; what it asks does not matter in the lobby."""


def knock(door: PlainDoor | HttpDoor, data: bytes) -> socket.socket:
    """A client that stands at a door and has said something."""
    client = socket.create_connection(door.sock.getsockname(), timeout=20)
    client.sendall(data)
    assert select.select([door.sock], [], [], 20)[0]
    return client


def test_a_client_that_was_sent_away_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many send at the same moment, and the bytes of one make the loop send another away that comes after it."""
    door, journal = PlainDoor(), Journal(tmp_path / "daemon.log")
    loop = Lobby([door], journal, Pulse())
    clients = [socket.create_connection(door.sock.getsockname(), timeout=20) for _ in range(6)]
    start = protocol.MAGIC + (1_000).to_bytes(4, "big") + (10_000).to_bytes(4, "big")
    for number, client in enumerate(clients):
        client.sendall(start + b"x" * (100 if number < 5 else 1_000))
    end = time.monotonic() + 20
    while loop._buffered < 6 * len(start) + 1_500:
        assert time.monotonic() < end
        loop.listen(0.01)
    monkeypatch.setattr(lobby, "MOST_BUFFERED", loop._buffered + 350)
    for client in clients:
        client.sendall(b"x" * 100)
    loop.listen(0.1)
    loop.listen(0.01)

    assert len(loop._open) == len(clients) - 1
    assert journal.tail(10) == []
    for client in clients:
        client.close()
    for left in list(loop._open):
        left.close()
    door.close()


def test_no_door_and_no_client_waits_for_another_door(tmp_path: Path) -> None:
    """However many come in there: a client of the port that hears nothing runs the tool."""
    busy, other = PlainDoor(), PlainDoor()
    room = Lobby([busy, other], Journal(tmp_path / "daemon.log"), Pulse())
    slow = knock(busy, WHOLE[:5])
    eventually("it was let in", lambda: room.listen(0.01) or len(room))
    clients = [knock(busy, WHOLE) for _ in range(3 * lobby.AT_ONCE)]
    clients.append(knock(other, WHOLE))
    slow.sendall(WHOLE[5:])
    assert select.select(list(room._open), [], [], 20)[0]

    heard = room.listen(20)

    assert len(room._open) + len(heard) == lobby.AT_ONCE + 2
    assert select.select([busy.sock, other.sock], [], [], 0)[0] == [busy.sock]
    assert any(each.sock.getpeername() == slow.getsockname() for each in heard)
    for client in (slow, *clients):
        client.close()
    for each in (*room._open, *heard):
        each.close()
    busy.close()
    other.close()


def test_who_has_asked_is_not_lost_when_another_is_the_cause_of_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They leave the next time."""
    door, failures = PlainDoor(), iter([ArithmeticError()])
    room = Lobby([door], Journal(tmp_path / "daemon.log"), Pulse())
    clients = [knock(door, WHOLE[:5]) for _ in range(2)]
    eventually("they were let in", lambda: room.listen(0.01) or len(room) == 2)
    first, last = room._open
    original = room._take_in

    def failing(connection: Connection) -> bool:
        if connection is last:
            for error in failures:
                raise error
        return original(connection)

    monkeypatch.setattr(room, "_take_in", failing)
    for client, each in zip(clients, (first, last), strict=True):
        client.sendall(WHOLE[5:])
        assert select.select([each], [], [], 20)[0]
    with pytest.raises(ArithmeticError):
        room.listen(20)

    assert room.shut_doors() == [first]
    first.close()
    for client in clients:
        client.close()


def test_there_is_room_for_another_process_when_every_door_is_shut(tmp_path: Path) -> None:
    """And not before: it would find its place taken, and leave."""
    doors, found = [PlainDoor(), PlainDoor()], []
    room = Lobby(doors, Journal(tmp_path / "daemon.log"), Pulse())

    def closing(door: PlainDoor) -> Callable[[], None]:
        return lambda: (found.append(room.shut), door.sock.close())[1]

    for door in doors:
        door.close = closing(door)  # type: ignore[method-assign]
    room.shut_doors()

    assert (found, room.shut, room.deserted()) == ([False, False], True, True)


@pytest.mark.parametrize("late", ["ASK_SECONDS", "due", "going"])
def test_who_is_sent_away_while_it_sends_is_listened_to_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """Over http: hung up on at once, it would miss its answer and run the tool."""
    door = HttpDoor(0, tmp_path, {}, seconds=0.0 if late == "due" else 600.0)
    room = Lobby([door], Journal(tmp_path / "daemon.log"), Pulse())
    client = knock(door, b"POST /hook/claude/PreToolUse HTTP/1.1\r\n")
    eventually("it was let in", lambda: room.listen(0.01) or len(room))
    (each,) = room._open
    monkeypatch.setattr(lobby, "LOOK_SECONDS", 600.0)
    room._looked = -600.0
    if late == "ASK_SECONDS":
        each.opened -= lobby.ASK_SECONDS
    if late == "going":
        room.shut_doors()
        room._shut -= 601.0
    room.look()

    assert b'"decision":"block"' in client.recv(4096)
    assert (list(room._open), each.lingers) == ([each], True)
    room._looked = -600.0
    room.look()
    assert len(room) == 1
    if late == "going":
        room._shut -= 600.0
        room.look()
        assert not len(room)
    client.close()
    each.close()


def test_who_has_not_asked_to_the_end_when_the_process_goes_may_turn_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was decided."""
    monkeypatch.setattr(lobby, "LOOK_SECONDS", 0.0)
    door = PlainDoor()
    room = Lobby([door], Journal(tmp_path / "daemon.log"), Pulse())
    client = knock(door, WHOLE[:5])
    eventually("it was let in", lambda: room.listen(0.01) or len(room))
    room.shut_doors()
    eventually("it was sent away", lambda: room.look() or not len(room))

    assert client.recv(100)[:5] == protocol.MAGIC + bytes([protocol.AGAIN])
    client.close()


def test_where_no_descriptor_is_left_who_has_not_asked_makes_room_also_when_the_process_goes(tmp_path: Path) -> None:
    """And nobody does for anything else that is wrong at a door."""
    door = PlainDoor()
    room = Lobby([door], journal := Journal(tmp_path / "daemon.log"), Pulse())
    silent = knock(door, WHOLE[:5])
    eventually("it was let in", lambda: room.listen(0.01) or len(room))
    room._nobody(door, OSError(errno.EPROTO, "broken"))
    assert (len(room), len(journal.tail(10))) == (1, 1)
    room._shut = 1.0
    room._nobody(door, OSError(errno.EMFILE, "none left"))

    assert b"too many clients" in silent.recv(100)
    assert (len(room), room._doors) == (0, [door])
    room._nobody(door, OSError(errno.EMFILE, "none left"))
    assert room.deserted()
    silent.close()
    door.close()


def test_a_door_that_is_shut_is_looked_at_until_nobody_stands_there(tmp_path: Path) -> None:
    """And not again: it would be ready for ever."""
    residence, journal = Residence(tmp_path / "run"), Journal(tmp_path / "daemon.log")
    assert residence.take()
    room = Lobby([UnixDoor(residence, lambda _: True, journal)], journal, Pulse())
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(residence.socket))
        client.sendall(WHOLE)
        room.shut_doors()
        (left,) = eventually("it has asked", lambda: room.listen(20))
        eventually("nobody is there", lambda: room.listen(0.01) or room.deserted())
        room.bell.ring()
        assert room.listen(20) == []
        left.close()


def test_who_may_not_come_in_is_counted_and_hung_up_on(tmp_path: Path) -> None:
    """Also when nobody can tell who it is."""
    door, pulse = PlainDoor(), Pulse()
    room = Lobby([door], Journal(tmp_path / "daemon.log"), pulse)
    door.admit = lambda sock, _: sock.close()  # type: ignore[method-assign]
    refused = knock(door, b"")
    room.listen(20)
    assert (refused.recv(1), pulse.refused) == (b"", 1)

    def fail(_: socket.socket, __: float) -> Connection:
        raise OSError("nobody can tell")

    door.admit = fail  # type: ignore[method-assign]
    unknown = knock(door, b"")
    room.listen(20)
    assert unknown.recv(1) == b""
    refused.close()
    unknown.close()
    door.close()


def test_of_too_many_clients_the_oldest_goes_at_once(tmp_path: Path) -> None:
    """It is told, and not listened to any more: its place is wanted."""
    door = HttpDoor(0, tmp_path, {})
    room = Lobby([door], Journal(tmp_path / "daemon.log"), Pulse(), 1)
    oldest = knock(door, b"POST ")
    eventually("it was let in", lambda: room.listen(0.01) or len(room))
    first = next(iter(room._open))
    newer = knock(door, b"POST ")
    room.listen(20)

    assert b"too many clients at once" in oldest.recv(4096)
    assert (len(room), first in room._open, first.fileno()) == (1, False, -1)
    for each in room._open:
        each.close()
    oldest.close()
    newer.close()
    door.close()
