"""Where clients of the warm process are until they have asked. One thread at a time, the one that leads, touches it."""

import errno
import selectors
import socket
import time
from collections.abc import Sequence
from typing import Protocol

from verdikt.daemon import protocol
from verdikt.daemon.connection import Connection
from verdikt.daemon.journal import Journal
from verdikt.daemon.knock import Knock
from verdikt.daemon.pulse import Pulse
from verdikt.daemon.question import Said

AT_ONCE = 16
"""How many clients a door lets in before others are heard, however many stand there."""

ASK_SECONDS = 10.0
"""How long a client may take to ask."""

LOOK_SECONDS = 1.0
"""How often clients are looked for who take too long; and how long they still may, when the process goes."""

MOST_OPEN = 4096
MOST_BUFFERED = 192 * 1024 * 1024
"""Bytes of unfinished questions that are held; beyond it the longest is given up."""

FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Nobody can be let in until somebody goes."""

FULL_SECONDS = 0.02
"""A pause when nobody can be let in, and nobody can be sent away for it."""

GOING = Said(protocol.AGAIN)
"""To whoever has not asked to the end: nothing was decided, and another may decide it."""


class Door(Protocol):
    """Where clients come in."""

    sock: socket.socket
    """Does not block."""

    def accept(self) -> socket.socket:
        """The next who knocked; an `OSError` when nobody has."""
        ...

    def admit(self, sock: socket.socket, now: float) -> Connection | None:
        """The client that knocked; None when it may not come in."""
        ...

    def close(self) -> None:
        """Lets nobody in any more; whoever had knocked already may be let in, until `accept` fails."""
        ...


class Lobby:
    """Clients who have not asked yet: it lets them in, hears them out, and sends away whoever takes too long."""

    def __init__(self, doors: Sequence[Door], journal: Journal, pulse: Pulse, most_open: int = MOST_OPEN) -> None:
        self._doors = list(doors)
        self._journal = journal
        self._pulse = pulse
        self._most_open = most_open
        self._selector = selectors.DefaultSelector()
        self.bell = Knock()
        """Whoever rings it ends a `listen` that waits."""
        self._selector.register(self.bell, selectors.EVENT_READ)
        for door in self._doors:
            self._selector.register(door.sock, selectors.EVENT_READ, door)
        self._open: dict[Connection, None] = {}  # the oldest first
        self._heard: list[Connection] = []
        """Whose question is complete; they stay if something fails, and leave the next time."""
        self._buffered = 0
        self._looked = 0.0
        self._shut = 0.0

    def __len__(self) -> int:
        return len(self._open)

    @property
    def shut(self) -> bool:
        """Whether nobody new is let in."""
        return self._shut > 0

    def deserted(self) -> bool:
        """Whether nobody is in it, nor will be."""
        return not (self._doors or self._open or self._heard)

    def listen(self, seconds: float | None) -> list[Connection]:
        """Waits for whoever comes or speaks; those whose question is complete now, who leave with that."""
        for key, _ in self._selector.select(seconds):
            if key.data is None:
                self.bell.hear()
            elif not isinstance(key.data, Connection):
                self._let_in(key.data)
            elif key.data in self._open:  # or it was sent away a moment ago, to make room for another
                self._hear(key.data)
        return self._leaving()

    def look(self) -> None:
        """Sends away whoever takes too long."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS and not self._shut:
            return
        self._looked = now
        for connection in [each for each in self._open if each.due is not None and now > each.due]:
            self._dismiss(connection, Said.refused("expected the question sooner"))
        while (oldest := next(iter(self._open), None)) and now - oldest.opened > ASK_SECONDS:
            self._dismiss(oldest, Said.refused(f"expected the question within {ASK_SECONDS:.0f} seconds"))
        if self._shut and now > self._shut + LOOK_SECONDS:
            over = now > self._shut + 2 * LOOK_SECONDS
            for connection in [each for each in self._open if over or not each.lingers]:
                self._dismiss(connection, GOING)

    def shut_doors(self) -> list[Connection]:
        """Nobody new is let in; of those who knocked already, whoever a door still lets in. Whoever has asked by now leaves."""
        if not self._shut:
            for door in self._doors:
                self._selector.unregister(door.sock)
                door.close()
                if door.sock.fileno() >= 0:
                    self._selector.register(door.sock, selectors.EVENT_READ, door)
            self._shut = time.monotonic()
        for door in [each for each in self._doors if each.sock.fileno() < 0]:
            while door in self._doors:
                self._let_in(door)
        return self._leaving()

    def abandon(self) -> None:
        """Tells everybody; for when nobody leads who could have sent them away."""
        for connection in list(self._open):
            connection.answer(GOING)

    def _leaving(self) -> list[Connection]:
        heard, self._heard = self._heard, []
        return heard

    def _let_in(self, door: Door) -> None:
        for _ in range(AT_ONCE):
            try:
                sock = door.accept()
            except OSError as error:
                self._nobody(door, error)
                return
            self._admit(door, sock)

    def _nobody(self, door: Door, error: OSError) -> None:
        """Nobody could be let in."""
        # Whoever came first and has not asked yet makes room.
        if error.errno in FULL and self._give_up_oldest("too many clients at once"):
            return
        if self._shut:
            self._doors.remove(door)
            if door.sock.fileno() >= 0:
                self._selector.unregister(door.sock)
        elif not isinstance(error, BlockingIOError | InterruptedError):
            self._journal.write(f"cannot accept: {error}")
            time.sleep(FULL_SECONDS)

    def _admit(self, door: Door, sock: socket.socket) -> None:
        try:
            connection = door.admit(sock, time.monotonic())
        except Exception as error:
            if not isinstance(error, OSError):
                self._journal.write(f"failed to let in: {type(error).__name__}")
            sock.close()
            return
        if connection is None:
            self._pulse.refuse()
        else:
            self._hear(connection)

    def _hear(self, connection: Connection) -> None:
        """Takes in more of a question. Whatever fails, the client is told."""
        try:
            complete = self._take_in(connection)
            if complete:
                self._forget(connection)
        except protocol.Malformed as error:
            self._dismiss(connection, Said.refused(str(error)))
        except OSError:
            self._forget(connection)
            connection.close()
        except Exception as error:
            connection.answer(Said.refused(f"the warm process failed with {type(error).__name__}"))
            connection.close()
            raise
        else:
            if complete:
                self._heard.append(connection)
            elif self._buffered > MOST_BUFFERED:
                longest = max(self._open, key=lambda each: len(each.data))
                self._dismiss(longest, Said.refused("too much is being asked at once"))

    def _take_in(self, connection: Connection) -> bool:
        before = len(connection.data)
        try:
            complete = connection.feed()
        except (BlockingIOError, InterruptedError):
            complete = False
        finally:
            if connection in self._open:
                self._buffered += len(connection.data) - before
        if not complete:
            self._keep(connection)
        return complete

    def _keep(self, connection: Connection) -> None:
        """Listens to a client until it has asked."""
        if connection in self._open:
            return
        if len(self._open) >= self._most_open:
            self._give_up_oldest("too many clients at once")
        self._open[connection] = None
        self._buffered += len(connection.data)
        self._selector.register(connection, selectors.EVENT_READ, connection)

    def _forget(self, connection: Connection) -> None:
        if connection in self._open:
            self._selector.unregister(connection)
            del self._open[connection]
            self._buffered -= len(connection.data)

    def _dismiss(self, connection: Connection, said: Said) -> None:
        """Sends a client away that has not asked; its answer fits in the socket's buffer, so this does not wait."""
        self._forget(connection)
        if connection.lingers:
            connection.close()
            return
        self._pulse.refuse()
        connection.answer(said)
        if connection.lingers:
            connection.opened = time.monotonic()
            connection.due = max(connection.due or 0.0, connection.opened + LOOK_SECONDS)
            self._keep(connection)

    def _give_up_oldest(self, why: str) -> bool:
        oldest = next(iter(self._open), None)
        if oldest is not None:
            self._dismiss(oldest, Said.refused(why))
            if oldest in self._open:
                self._dismiss(oldest, Said.refused(why))  # its place is wanted now
        return oldest is not None
