"""One client of the warm process, while its question comes in and its answer goes out."""

import select
import socket
import struct
import threading
import time
from contextlib import suppress

from verdikt.daemon import protocol
from verdikt.daemon.request import DaemonReply, HookRequest, Peer

FIRST_READ_BYTES, READ_BYTES = 16 * 1024, 256 * 1024
"""How much is read at once: nearly every question fits in the first."""

SEND_TIMEOUT_SECONDS = 2.0
"""How long a client may take to read its answer."""


class Connection:
    """A client that speaks protocol 1."""

    def __init__(self, sock: socket.socket, peer: Peer, now: float) -> None:
        self.sock = sock
        self.peer = peer
        self.opened_at = now
        self.completed_at = now
        """When the question was complete."""
        self.data = bytearray()
        self.reply_deadline: float | None = None
        """When it must have an answer, whatever becomes of its question; None where the client itself keeps a clock."""
        self.is_lingering = False
        """Whether it was answered before it was heard to its end, and is heard on so that the answer is not lost."""
        self._lengths: tuple[int, int] | None = None
        self._reply_lock = threading.Lock()

    def fileno(self) -> int:
        """The descriptor, for a selector."""
        return self.sock.fileno()

    def receive_data(self) -> bool:
        """Takes in what has come; whether the question is complete. `Malformed` or `OSError` when it never will be."""
        piece = self.sock.recv(READ_BYTES if self.data else FIRST_READ_BYTES, socket.MSG_DONTWAIT)
        if not piece:
            # Who has begun may have closed one direction alone, and listen.
            raise (
                protocol.MalformedMessage("expected a whole question")
                if self.data
                else ConnectionError("the client went away")
            )
        self.data += piece
        complete = self._is_complete()
        if complete:
            self.completed_at = time.monotonic()
        return complete

    def has_hung_up(self) -> bool:
        """Whether the client has hung up altogether, or was hung up on."""
        if self.sock.fileno() < 0:
            return True
        look = select.poll()
        look.register(self.sock, 0)
        return any(event & select.POLLHUP for _, event in look.poll(0))

    def read_request(self) -> HookRequest:
        """The complete question; `Malformed` when it is none."""
        assert self._lengths is not None
        start, (head, payload) = protocol.REQUEST_PREFIX_BYTES, self._lengths
        data, self.data = self.data, bytearray()
        return HookRequest.from_head(
            bytes(data[start : start + head]), bytes(data[start + head : start + head + payload]), self.peer
        )

    def send_reply(self, reply: DaemonReply) -> bool:
        """Sends the one answer and closes; whether all of it was taken. Whoever comes first answers, and nobody after them."""
        data = self._encode_reply(reply)
        if not self._reply_lock.acquire(blocking=False):
            return False
        try:
            with suppress(BlockingIOError):
                data = data[self.sock.send(data, socket.MSG_DONTWAIT) :]
            if data:
                self.sock.settimeout(SEND_TIMEOUT_SECONDS)
                self.sock.sendall(data)
        except OSError:
            self.close()
            return False
        self._finish_reply()
        return True

    def close(self) -> None:
        """Lets go of the client."""
        with suppress(OSError):
            self.sock.close()

    def _finish_reply(self) -> None:
        self.close()

    def _is_complete(self) -> bool:
        if self._lengths is None:
            if len(self.data) < protocol.REQUEST_PREFIX_BYTES:
                return False
            self._lengths = protocol.decode_request_prefix(bytes(self.data[: protocol.REQUEST_PREFIX_BYTES]))
        missing = protocol.REQUEST_PREFIX_BYTES + sum(self._lengths) - len(self.data)
        if missing < 0:
            raise protocol.MalformedMessage("expected one question, found more")
        return missing == 0

    def _encode_reply(self, reply: DaemonReply) -> bytes:
        return protocol.encode_reply(reply.kind, reply.status, reply.out, reply.err)


def get_peer(sock: socket.socket) -> Peer:
    """Who is at the other end of a Unix socket; raises where the system cannot tell."""
    if hasattr(socket, "SO_PEERCRED"):
        pid, uid, gid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return Peer(uid & 0xFFFFFFFF, gid & 0xFFFFFFFF, pid)
    # macOS and the BSDs: struct xucred, of which the version, the user and the first group are wanted.
    raw = sock.getsockopt(0, 1, 76)
    version, uid, groups, gid = struct.unpack_from("=IIhxxI", raw)
    if version != 0 or groups < 1:
        raise OSError("the system does not say who the peer is")
    return Peer(uid, gid)
