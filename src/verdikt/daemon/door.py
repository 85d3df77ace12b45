"""The Unix socket through which hooks come in."""

import _socket
import socket
from collections.abc import Callable
from contextlib import suppress

from verdikt.daemon.connection import Connection, peer_of
from verdikt.daemon.journal import Journal
from verdikt.daemon.question import Peer, Said
from verdikt.daemon.residence import Residence


class UnixDoor:
    """Lets in whom the kernel vouches for."""

    def __init__(self, residence: Residence, welcome: Callable[[Peer], bool], journal: Journal) -> None:
        self._residence = residence
        self._welcome = welcome
        self._journal = journal
        self.sock = residence.listen()

    def accept(self) -> socket.socket:
        """The next who knocked; an `OSError` when nobody has."""
        # Without the class around it, which takes longer to make than the kernel takes to let somebody in.
        fd, _ = self.sock._accept()  # type: ignore[attr-defined]
        return _socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fd)  # type: ignore[return-value]

    def admit(self, sock: socket.socket, now: float) -> Connection | None:
        """The client that knocked; None, and it is told so, when it is another user's."""
        connection = Connection(sock, peer_of(sock), now)
        if self._welcome(connection.peer):
            return connection
        self._journal.write(f"refused user {connection.peer.uid}, process {connection.peer.pid}")
        connection.answer(Said.refused("this warm process serves other users"))
        return None

    def close(self) -> None:
        """Makes room for another process. From now on connecting fails; those in the queue are let in, and then `accept` does."""
        self._residence.leave()
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RD)
