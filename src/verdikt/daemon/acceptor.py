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
from verdikt.daemon.request import DaemonReply
from verdikt.daemon.stats import DaemonStats
from verdikt.daemon.wakeup import WakeupPipe

ACCEPT_BATCH = 16
"""How many clients a door lets in before others are heard, however many stand there."""

REQUEST_TIMEOUT_SECONDS = 10.0
"""How long a client may take to ask."""

SWEEP_SECONDS = 1.0
"""How often clients are looked for who take too long; and how long they still may, when the process goes."""

MAX_OPEN_CONNECTIONS = 4096
MAX_BUFFERED_BYTES = 192 * 1024 * 1024
"""Bytes of unfinished questions that are held; beyond it the longest is given up."""

OUT_OF_RESOURCES_ERRNOS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Nobody can be let in until somebody goes."""

OUT_OF_RESOURCES_PAUSE_SECONDS = 0.02
"""A pause when nobody can be let in, and nobody can be sent away for it."""

RETRY_REPLY = DaemonReply(protocol.KIND_RETRY)
"""To whoever has not asked to the end: nothing was decided, and another may decide it."""


class Listener(Protocol):
    """Where clients come in."""

    sock: socket.socket
    """Does not block."""

    def accept_socket(self) -> socket.socket:
        """The next who knocked; an `OSError` when nobody has."""
        ...

    def accept_client(self, sock: socket.socket, now: float) -> Connection | None:
        """The client that knocked; None when it may not come in."""
        ...

    def close(self) -> None:
        """Lets nobody in any more; whoever had knocked already may be let in, until `accept` fails."""
        ...


class Acceptor:
    """Clients who have not asked yet: it lets them in, hears them out, and sends away whoever takes too long."""

    def __init__(
        self, listeners: Sequence[Listener], journal: Journal, stats: DaemonStats, max_open: int = MAX_OPEN_CONNECTIONS
    ) -> None:
        self._listeners = list(listeners)
        self._journal = journal
        self._stats = stats
        self._max_open = max_open
        self._selector = selectors.DefaultSelector()
        self.wakeup = WakeupPipe()
        """Whoever rings it ends a `listen` that waits."""
        self._selector.register(self.wakeup, selectors.EVENT_READ)
        for door in self._listeners:
            self._selector.register(door.sock, selectors.EVENT_READ, door)
        self._connections: dict[Connection, None] = {}  # the oldest first
        self._ready_connections: list[Connection] = []
        """Whose question is complete; they stay if something fails, and leave the next time."""
        self._buffered_bytes = 0
        self._last_sweep_at = 0.0
        self._closed_at = 0.0

    def __len__(self) -> int:
        return len(self._connections)

    @property
    def is_closed(self) -> bool:
        """Whether nobody new is let in."""
        return self._closed_at > 0

    def is_drained(self) -> bool:
        """Whether nobody is in it, nor will be."""
        return not (self._listeners or self._connections or self._ready_connections)

    def poll_requests(self, timeout_seconds: float | None) -> list[Connection]:
        """Waits for whoever comes or speaks; those whose question is complete now, who leave with that."""
        for key, _ in self._selector.select(timeout_seconds):
            if key.data is None:
                self.wakeup.drain()
            elif not isinstance(key.data, Connection):
                self._accept_from(key.data)
            elif key.data in self._connections:  # or it was sent away a moment ago, to make room for another
                self._read_request(key.data)
        return self._take_completed()

    def expire_connections(self) -> None:
        """Sends away whoever takes too long."""
        now = time.monotonic()
        if now - self._last_sweep_at < SWEEP_SECONDS and not self._closed_at:
            return
        self._last_sweep_at = now
        for connection in [
            each for each in self._connections if each.reply_deadline is not None and now > each.reply_deadline
        ]:
            self._reject_connection(connection, DaemonReply.refusal("expected the question sooner"))
        while (oldest := next(iter(self._connections), None)) and now - oldest.opened_at > REQUEST_TIMEOUT_SECONDS:
            self._reject_connection(
                oldest, DaemonReply.refusal(f"expected the question within {REQUEST_TIMEOUT_SECONDS:.0f} seconds")
            )
        if self._closed_at and now > self._closed_at + SWEEP_SECONDS:
            over = now > self._closed_at + 2 * SWEEP_SECONDS
            for connection in [each for each in self._connections if over or not each.is_lingering]:
                self._reject_connection(connection, RETRY_REPLY)

    def close_listeners(self) -> list[Connection]:
        """Nobody new is let in; of those who knocked already, whoever a door still lets in. Whoever has asked by now leaves."""
        if not self._closed_at:
            for door in self._listeners:
                self._selector.unregister(door.sock)
                door.close()
                if door.sock.fileno() >= 0:
                    self._selector.register(door.sock, selectors.EVENT_READ, door)
            self._closed_at = time.monotonic()
        for door in [each for each in self._listeners if each.sock.fileno() < 0]:
            while door in self._listeners:
                self._accept_from(door)
        return self._take_completed()

    def send_retry_to_all(self) -> None:
        """Tells everybody; for when nobody leads who could have sent them away."""
        for connection in list(self._connections):
            connection.send_reply(RETRY_REPLY)

    def _take_completed(self) -> list[Connection]:
        heard, self._ready_connections = self._ready_connections, []
        return heard

    def _accept_from(self, listener: Listener) -> None:
        for _ in range(ACCEPT_BATCH):
            try:
                sock = listener.accept_socket()
            except OSError as error:
                self._handle_accept_error(listener, error)
                return
            self._accept_client(listener, sock)

    def _handle_accept_error(self, listener: Listener, error: OSError) -> None:
        """Nobody could be let in."""
        # Whoever came first and has not asked yet makes room.
        if error.errno in OUT_OF_RESOURCES_ERRNOS and self._evict_oldest("too many clients at once"):
            return
        if self._closed_at:
            self._listeners.remove(listener)
            if listener.sock.fileno() >= 0:
                self._selector.unregister(listener.sock)
        elif not isinstance(error, BlockingIOError | InterruptedError):
            self._journal.write_line(f"cannot accept: {error}")
            time.sleep(OUT_OF_RESOURCES_PAUSE_SECONDS)

    def _accept_client(self, listener: Listener, sock: socket.socket) -> None:
        try:
            connection = listener.accept_client(sock, time.monotonic())
        except Exception as error:
            if not isinstance(error, OSError):
                self._journal.write_line(f"failed to let in: {type(error).__name__}")
            sock.close()
            return
        if connection is None:
            self._stats.count_refusal()
        else:
            self._read_request(connection)

    def _read_request(self, connection: Connection) -> None:
        """Takes in more of a question. Whatever fails, the client is told."""
        try:
            complete = self._receive_data(connection)
            if complete:
                self._unregister_connection(connection)
        except protocol.MalformedMessage as error:
            self._reject_connection(connection, DaemonReply.refusal(str(error)))
        except OSError:
            self._unregister_connection(connection)
            connection.close()
        except Exception as error:
            connection.send_reply(DaemonReply.refusal(f"the warm process failed with {type(error).__name__}"))
            connection.close()
            raise
        else:
            if complete:
                self._ready_connections.append(connection)
            elif self._buffered_bytes > MAX_BUFFERED_BYTES:
                longest = max(self._connections, key=lambda each: len(each.data))
                self._reject_connection(longest, DaemonReply.refusal("too much is being asked at once"))

    def _receive_data(self, connection: Connection) -> bool:
        before = len(connection.data)
        try:
            complete = connection.receive_data()
        except (BlockingIOError, InterruptedError):
            complete = False
        finally:
            if connection in self._connections:
                self._buffered_bytes += len(connection.data) - before
        if not complete:
            self._register_connection(connection)
        return complete

    def _register_connection(self, connection: Connection) -> None:
        """Listens to a client until it has asked."""
        if connection in self._connections:
            return
        if len(self._connections) >= self._max_open:
            self._evict_oldest("too many clients at once")
        self._connections[connection] = None
        self._buffered_bytes += len(connection.data)
        self._selector.register(connection, selectors.EVENT_READ, connection)

    def _unregister_connection(self, connection: Connection) -> None:
        if connection in self._connections:
            self._selector.unregister(connection)
            del self._connections[connection]
            self._buffered_bytes -= len(connection.data)

    def _reject_connection(self, connection: Connection, reply: DaemonReply) -> None:
        """Sends a client away that has not asked; its answer fits in the socket's buffer, so this does not wait."""
        self._unregister_connection(connection)
        if connection.is_lingering:
            connection.close()
            return
        self._stats.count_refusal()
        connection.send_reply(reply)
        if connection.is_lingering:
            connection.opened_at = time.monotonic()
            connection.reply_deadline = max(connection.reply_deadline or 0.0, connection.opened_at + SWEEP_SECONDS)
            self._register_connection(connection)

    def _evict_oldest(self, reason: str) -> bool:
        oldest = next(iter(self._connections), None)
        if oldest is not None:
            self._reject_connection(oldest, DaemonReply.refusal(reason))
            if oldest in self._connections:
                self._reject_connection(oldest, DaemonReply.refusal(reason))  # its place is wanted now
        return oldest is not None
