"""Accepts connections and reads requests until they are complete. Used by one thread at a time, the leader."""

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

# Connections accepted from one listener in a row, so that a flood of new clients does not starve the others.
ACCEPT_BATCH = 16

REQUEST_TIMEOUT_SECONDS = 10.0

# How often timeouts are checked, and how long unfinished requests may still take when the process stops.
SWEEP_SECONDS = 1.0

MAX_OPEN_CONNECTIONS = 4096

# Limit of all unfinished requests together; beyond it the longest is refused.
MAX_BUFFERED_BYTES = 192 * 1024 * 1024

# errno values that mean: out of file descriptors or memory.
OUT_OF_RESOURCES_ERRNOS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

# The listener stays readable when `accept` fails, so without a pause the loop would spin.
ACCEPT_ERROR_PAUSE_SECONDS = 0.02

# For a client whose request is incomplete: nothing was decided, so another process may decide it.
RETRY_REPLY = DaemonReply(protocol.KIND_RETRY)


class Listener(Protocol):
    """A listening socket and the clients that it accepts."""

    sock: socket.socket
    """Non-blocking."""

    def accept_socket(self) -> socket.socket:
        """Return the next connection; raise `OSError` when none is waiting."""
        ...

    def accept_client(self, sock: socket.socket, now: float) -> Connection | None:
        """Return the client of a connection; None when it was refused."""
        ...

    def close(self) -> None:
        """Stop listening. Connections in the queue are still accepted, until `accept_socket` fails."""
        ...


class Acceptor:
    """Connections whose request is not complete yet."""

    def __init__(
        self, listeners: Sequence[Listener], journal: Journal, stats: DaemonStats, max_open: int = MAX_OPEN_CONNECTIONS
    ) -> None:
        self._listeners = list(listeners)
        self._journal = journal
        self._stats = stats
        self._max_open = max_open
        self._selector = selectors.DefaultSelector()
        self.wakeup = WakeupPipe()
        """Ends a `poll_requests` that waits."""
        self._selector.register(self.wakeup, selectors.EVENT_READ)
        for listener in self._listeners:
            self._selector.register(listener.sock, selectors.EVENT_READ, listener)
        self._connections: dict[Connection, None] = {}  # in order of arrival
        self._ready_connections: list[Connection] = []
        """Connections whose request is complete; kept here so that an exception in between loses none of them."""
        self._buffered_bytes = 0
        self._last_sweep_at = 0.0
        self._closed_at = 0.0

    def __len__(self) -> int:
        return len(self._connections)

    @property
    def is_closed(self) -> bool:
        """Whether the listeners are closed."""
        return self._closed_at > 0

    def is_drained(self) -> bool:
        """Return whether all connections are gone and no new one can come."""
        return not (self._listeners or self._connections or self._ready_connections)

    def poll_requests(self, timeout_seconds: float | None) -> list[Connection]:
        """Wait for connections and data; return, and give up, the connections whose request is complete now."""
        for key, _ in self._selector.select(timeout_seconds):
            if key.data is None:
                self.wakeup.drain()
            elif not isinstance(key.data, Connection):
                self._accept_from(key.data)
            elif key.data in self._connections:  # else it was evicted while this batch of events was handled
                self._read_request(key.data)
        return self._take_ready()

    def expire_connections(self) -> None:
        """Refuse the connections that exceed their time."""
        now = time.monotonic()
        if now - self._last_sweep_at < SWEEP_SECONDS and not self._closed_at:
            return
        self._last_sweep_at = now
        overdue_connections = [
            connection
            for connection in self._connections
            if connection.reply_deadline is not None and now > connection.reply_deadline
        ]
        for connection in overdue_connections:
            self._reject_connection(connection, DaemonReply.refusal("expected the request sooner"))
        while (oldest := next(iter(self._connections), None)) and now - oldest.opened_at > REQUEST_TIMEOUT_SECONDS:
            self._reject_connection(
                oldest, DaemonReply.refusal(f"expected the request within {REQUEST_TIMEOUT_SECONDS:.0f} seconds")
            )
        if self._closed_at and now > self._closed_at + SWEEP_SECONDS:
            # Lingering connections get another second to read their reply.
            drop_all = now > self._closed_at + 2 * SWEEP_SECONDS
            for connection in [each for each in self._connections if drop_all or not each.is_lingering]:
                self._reject_connection(connection, RETRY_REPLY)

    def close_listeners(self) -> list[Connection]:
        """Close the listeners, accept what is in their queues, and return the connections with a complete request."""
        if not self._closed_at:
            for listener in self._listeners:
                self._selector.unregister(listener.sock)
                listener.close()
                if listener.sock.fileno() >= 0:
                    self._selector.register(listener.sock, selectors.EVENT_READ, listener)
            self._closed_at = time.monotonic()
        for listener in [each for each in self._listeners if each.sock.fileno() < 0]:
            while listener in self._listeners:
                self._accept_from(listener)
        return self._take_ready()

    def send_retry_to_all(self) -> None:
        """Send every client the retry reply. For the end of the process, when the leader hangs."""
        for connection in list(self._connections):
            connection.send_reply(RETRY_REPLY)

    def close(self) -> None:
        """Close the selector, the listeners' sockets, the connections and the wakeup pipe."""
        for connection in [*self._connections, *self._ready_connections]:
            connection.close()
        for listener in self._listeners:
            listener.sock.close()
        self._selector.close()
        self.wakeup.close()

    def _take_ready(self) -> list[Connection]:
        ready_connections, self._ready_connections = self._ready_connections, []
        return ready_connections

    def _accept_from(self, listener: Listener) -> None:
        for _ in range(ACCEPT_BATCH):
            try:
                sock = listener.accept_socket()
            except OSError as error:
                self._handle_accept_error(listener, error)
                return
            self._accept_client(listener, sock)

    def _handle_accept_error(self, listener: Listener, error: OSError) -> None:
        # The oldest client that has not sent its request frees a descriptor for those who wait.
        if error.errno in OUT_OF_RESOURCES_ERRNOS and self._evict_oldest("too many clients at once"):
            return
        if self._closed_at:
            self._listeners.remove(listener)
            if listener.sock.fileno() >= 0:
                self._selector.unregister(listener.sock)
                listener.sock.close()
        elif not isinstance(error, BlockingIOError | InterruptedError):
            self._journal.write_line(f"cannot accept: {error}")
            time.sleep(ACCEPT_ERROR_PAUSE_SECONDS)

    def _accept_client(self, listener: Listener, sock: socket.socket) -> None:
        try:
            connection = listener.accept_client(sock, time.monotonic())
        # Part of the request loop: one client must not end the process for the others.
        except Exception as error:
            if not isinstance(error, OSError):
                self._journal.write_line(f"failed to accept: {type(error).__name__}")
            sock.close()
            return
        if connection is None:
            self._stats.count_refusal()
        else:
            self._read_request(connection)

    def _read_request(self, connection: Connection) -> None:
        """Read more of a request. The client gets a reply whatever fails."""
        try:
            is_complete = self._receive_data(connection)
            if is_complete:
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
            if is_complete:
                self._ready_connections.append(connection)
            elif self._buffered_bytes > MAX_BUFFERED_BYTES:
                longest = max(self._connections, key=lambda each: len(each.data))
                self._reject_connection(longest, DaemonReply.refusal("too much is being asked at once"))

    def _receive_data(self, connection: Connection) -> bool:
        length_before = len(connection.data)
        try:
            is_complete = connection.receive_data()
        except (BlockingIOError, InterruptedError):
            is_complete = False
        finally:
            if connection in self._connections:
                self._buffered_bytes += len(connection.data) - length_before
        if not is_complete:
            self._register_connection(connection)
        return is_complete

    def _register_connection(self, connection: Connection) -> None:
        """Wait for more data of a client."""
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
        """Reply to a client without a complete request. The reply fits the socket's buffer, so this does not block."""
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
        if oldest is None:
            return False
        self._reject_connection(oldest, DaemonReply.refusal(reason))
        if oldest in self._connections:
            # It lingers now; its descriptor is needed, so it is closed all the same.
            self._reject_connection(oldest, DaemonReply.refusal(reason))
        return True
