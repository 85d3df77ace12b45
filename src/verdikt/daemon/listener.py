"""The Unix socket on which hooks connect."""

import socket
from collections.abc import Callable
from contextlib import suppress

from verdikt.daemon.connection import Connection, get_peer
from verdikt.daemon.instance import DaemonInstance
from verdikt.daemon.journal import Journal
from verdikt.daemon.request import DaemonReply, Peer


class UnixListener:
    """Accepts the users that a filter allows, as the kernel identifies them."""

    def __init__(self, instance: DaemonInstance, is_allowed: Callable[[Peer], bool], journal: Journal) -> None:
        self._instance = instance
        self._is_allowed = is_allowed
        self._journal = journal
        self.sock = instance.bind_socket()

    def accept_socket(self) -> socket.socket:
        """Return the next connection; raise `OSError` when none is waiting."""
        return self.sock.accept()[0]

    def accept_client(self, sock: socket.socket, now: float) -> Connection | None:
        """Return the client of a connection; refuse a user who is not allowed, and return None."""
        connection = Connection(sock, get_peer(sock), now, self._instance.secret)
        if self._is_allowed(connection.peer):
            return connection
        self._journal.write_line(f"refused user {connection.peer.uid}, process {connection.peer.pid}")
        connection.send_reply(DaemonReply.refusal("this warm process serves other users"))
        return None

    def close(self) -> None:
        """Stop listening and make room for another process.

        New connections fail from now on. Those in the queue are still accepted, after which `accept_socket` fails.
        """
        self._instance.release()
        # Closing the descriptor would reset the connections in the queue.
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RD)
