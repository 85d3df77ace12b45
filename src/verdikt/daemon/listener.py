"""The Unix socket through which hooks come in."""

import _socket
import socket
from collections.abc import Callable
from contextlib import suppress

from verdikt.daemon.connection import Connection, get_peer
from verdikt.daemon.instance import DaemonInstance
from verdikt.daemon.journal import Journal
from verdikt.daemon.request import DaemonReply, Peer


class UnixListener:
    """Lets in whom the kernel vouches for."""

    def __init__(self, instance: DaemonInstance, is_allowed: Callable[[Peer], bool], journal: Journal) -> None:
        self._instance = instance
        self._is_allowed = is_allowed
        self._journal = journal
        self.sock = instance.bind_socket()

    def accept_socket(self) -> socket.socket:
        """The next who knocked; an `OSError` when nobody has."""
        # Without the class around it, which takes longer to make than the kernel takes to let somebody in.
        fd, _ = self.sock._accept()  # type: ignore[attr-defined]
        return _socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fd)  # type: ignore[return-value]

    def accept_client(self, sock: socket.socket, now: float) -> Connection | None:
        """The client that knocked; None, and it is told so, when it is another user's."""
        connection = Connection(sock, get_peer(sock), now)
        if self._is_allowed(connection.peer):
            return connection
        self._journal.write_line(f"refused user {connection.peer.uid}, process {connection.peer.pid}")
        connection.send_reply(DaemonReply.refusal("this warm process serves other users"))
        return None

    def close(self) -> None:
        """Makes room for another process. From now on connecting fails; those in the queue are let in, and then `accept` does."""
        self._instance.release()
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RD)
