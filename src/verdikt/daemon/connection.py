"""One connection of protocol 1: receives a request, sends its one reply."""

import select
import socket
import struct
import threading
import time
from contextlib import suppress

from verdikt.daemon import protocol
from verdikt.daemon.proof import compute_proof
from verdikt.daemon.request import DaemonReply, HookRequest, Peer

# Nearly every request fits into the first read, so most connections need no large buffer.
FIRST_READ_BYTES, READ_BYTES = 16 * 1024, 256 * 1024

SEND_TIMEOUT_SECONDS = 2.0


class Connection:
    """A client that speaks protocol 1."""

    def __init__(self, sock: socket.socket, peer: Peer, now: float, secret: bytes = b"") -> None:
        self.sock = sock
        self.peer = peer
        self._secret = secret
        self._nonce = b""
        self.opened_at = now
        self.completed_at = now
        """When the last byte of the request arrived."""
        self.data = bytearray()
        self.reply_deadline: float | None = None
        """When a reply must be sent, decided or not; None where the client has a timeout of its own."""
        self.is_lingering = False
        """Whether the reply was sent before the request was read to its end; see `HttpConnection`."""
        self._lengths: tuple[int, int] | None = None
        self._reply_lock = threading.Lock()

    def fileno(self) -> int:
        """Return the descriptor to register with a selector."""
        return self.sock.fileno()

    def receive_data(self) -> bool:
        """Read what has arrived and return whether the request is complete.

        Raises `MalformedMessage` or `OSError` when it can never become complete.
        """
        chunk = self.sock.recv(READ_BYTES if self.data else FIRST_READ_BYTES, socket.MSG_DONTWAIT)
        if not chunk:
            # A client that has sent something may have shut down its sending side only, and still read the reply.
            raise (
                protocol.MalformedMessage("expected a whole request")
                if self.data
                else ConnectionError("the client went away")
            )
        self.data += chunk
        is_complete = self._is_complete()
        if is_complete:
            self.completed_at = time.monotonic()
        return is_complete

    def has_hung_up(self) -> bool:
        """Return whether either side has closed the connection altogether."""
        if self.sock.fileno() < 0:
            return True
        poller = select.poll()
        poller.register(self.sock, 0)
        return any(event & select.POLLHUP for _, event in poller.poll(0))

    def read_request(self) -> HookRequest:
        """Return the complete request; raise `MalformedMessage` when it is invalid."""
        assert self._lengths is not None
        head_start, (head_length, payload_length) = protocol.REQUEST_PREFIX_BYTES, self._lengths
        payload_start = head_start + head_length
        data, self.data = self.data, bytearray()
        request = HookRequest.from_head(
            bytes(data[head_start:payload_start]),
            bytes(data[payload_start : payload_start + payload_length]),
            self.peer,
        )
        self._nonce = request.nonce
        return request

    def send_wait_notice(self) -> bool:
        """Tell a client with patience that its call waits for people, and return whether it was sent."""
        notice = protocol.encode_reply(protocol.KIND_WAIT)
        try:
            # Nothing was sent before, so a few bytes always fit, unless the client has gone.
            return self.sock.send(notice, socket.MSG_DONTWAIT) == len(notice)
        except OSError:
            return False

    def send_reply(self, reply: DaemonReply) -> bool:
        """Send the reply, close, and return whether the client took all of it. Only the first call has an effect."""
        data = self._encode_reply(reply)
        # Two threads may reply: the one that decides, and the one that watches deadlines. The lock is never released.
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
        """Close the socket."""
        with suppress(OSError):
            self.sock.close()

    def _finish_reply(self) -> None:
        self.close()

    def _is_complete(self) -> bool:
        if self._lengths is None:
            if len(self.data) < protocol.REQUEST_PREFIX_BYTES:
                return False
            self._lengths = protocol.decode_request_prefix(bytes(self.data[: protocol.REQUEST_PREFIX_BYTES]))
        missing_bytes = protocol.REQUEST_PREFIX_BYTES + sum(self._lengths) - len(self.data)
        if missing_bytes < 0:
            raise protocol.MalformedMessage("expected one request, found more")
        return missing_bytes == 0

    def _encode_reply(self, reply: DaemonReply) -> bytes:
        data = protocol.encode_reply(reply.kind, reply.status, reply.out, reply.err)
        return data + compute_proof(self._secret, self._nonce, data) if self._nonce and self._secret else data


def get_peer(sock: socket.socket) -> Peer:
    """Return the user at the other end of a Unix socket; raise `OSError` where the system does not report it."""
    if hasattr(socket, "SO_PEERCRED"):
        pid, uid, gid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return Peer(uid & 0xFFFFFFFF, gid & 0xFFFFFFFF, pid)
    # macOS and the BSDs: LOCAL_PEERCRED returns a struct xucred; version, uid, number of groups and first group.
    credentials = sock.getsockopt(0, 1, 76)
    version, uid, group_count, gid = struct.unpack_from("=IIhxxI", credentials)
    if version != 0 or group_count < 1:
        raise OSError("the system does not report the user of the peer")
    return Peer(uid, gid)
