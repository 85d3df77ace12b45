"""HTTP hooks: `POST /hook/<host>/<event>` on the loopback interface, with a bearer token."""

import hmac
import json
import os
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from verdikt import __version__
from verdikt.daemon import protocol
from verdikt.daemon.connection import READ_BYTES, Connection
from verdikt.daemon.request import DaemonReply, HookRequest, Peer
from verdikt.errors import DaemonError
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.hook_response import render_json
from verdikt.hosts.registry import HOSTS

TOKEN_FILE, PORT_FILE = "http.token", "http.port"
MAX_HEADER_BYTES = 16 * 1024

# Claude Code runs the tool when a hook does not answer within its timeout, so a late decision becomes a block before.
REPLY_DEADLINE_SECONDS = 8.0

# A host sends variables that only its hooks have as headers: `X-Verdikt-CLAUDE_PROJECT_DIR: $CLAUDE_PROJECT_DIR`.
VARIABLE_HEADER_PREFIX = "x-verdikt-"

FORWARDED_VARIABLES = (
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "GEMINI_PROJECT_DIR",
)

_BLOCK_REASON = (
    "[verdikt] blocked, because no decision could be made: %s\n"
    "Instead: stop here and ask the person to run `verdikt doctor`"
)


class HttpListener:
    """A port on the loopback interface. A request without the token is answered with a block and nothing else."""

    def __init__(
        self, port: int, directory: Path, env: Mapping[str, str], *, deadline_seconds: float = REPLY_DEADLINE_SECONDS
    ) -> None:
        self._deadline_seconds = deadline_seconds
        self._pending_sockets: list[socket.socket] = []
        self.token = load_or_create_token(directory)
        self._env = {name: value for name, value in env.items() if name in protocol.SENT_VARIABLES}
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.sock.bind(("127.0.0.1", port))
            self.sock.listen(256)
            self.sock.setblocking(False)
        except OSError as error:
            self.sock.close()
            raise DaemonError(f"cannot listen on 127.0.0.1:{port}: {error.strerror}; name another port") from error
        self.port: int = self.sock.getsockname()[1]

    def accept_socket(self) -> socket.socket:
        """Return the next connection; raise `OSError` when none is waiting."""
        return self._pending_sockets.pop(0) if self._pending_sockets else self.sock.accept()[0]

    def accept_client(self, sock: socket.socket, now: float) -> Connection | None:
        """Return the client of a connection; its request has to carry the token."""
        connection = HttpConnection(sock, now, self.port, self.token, self._env)
        connection.reply_deadline = now + self._deadline_seconds
        return connection

    def close(self) -> None:
        """Stop listening; `accept_socket` still returns what was in the queue."""
        # Closing the port would reset the connections in the queue, and the clients would run their tools.
        with suppress(OSError):
            while True:
                self._pending_sockets.append(self.sock.accept()[0])
        self.sock.close()


class HttpConnection(Connection):
    """One HTTP request.

    A client that gets no 2xx runs the tool, so every failure before an action is a 200 that blocks.
    """

    def __init__(self, sock: socket.socket, now: float, port: int, token: str, env: Mapping[str, str]) -> None:
        super().__init__(sock, Peer(os.geteuid(), os.getegid()), now)
        self._allowed_hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._token = token
        self._env = env
        self._is_hook_request: bool | None = None
        """Whether the path is one of a hook; None while the request line has not arrived."""
        self._path = ""
        self._headers: dict[str, str] | None = None
        self._body_offset = 0
        self._is_fully_received = False

    def receive_data(self) -> bool:
        """Read what has arrived and return whether the request is complete; after the reply, discard it."""
        if not self.is_lingering:
            return super().receive_data()
        if not self.sock.recv(READ_BYTES, socket.MSG_DONTWAIT):
            raise ConnectionError("the client went away")
        return False

    def _finish_reply(self) -> None:
        """Close, or keep reading while the client is still sending."""
        # A client that sends to a closed connection gets a reset, loses the reply, and runs the tool.
        if self._is_fully_received:
            self.close()
            return
        self.data.clear()
        try:
            self.sock.shutdown(socket.SHUT_WR)
            self.sock.setblocking(False)
            self.is_lingering = True
        except OSError:
            self.close()

    def read_request(self) -> HookRequest:
        """Return the complete request."""
        assert self._headers is not None
        host, event = self._split_path()
        env = dict(self._env)
        for name in FORWARDED_VARIABLES:
            if value := self._headers.get(VARIABLE_HEADER_PREFIX + name.lower().replace("_", "-"), ""):
                env[name] = value
        if "CLAUDE_CODE_ENTRYPOINT" not in env:
            # Without a word about who is there, an ask must become a block.
            env.setdefault("CLAUDE_CODE_SESSION_ATTENDED", "0")
        payload, self.data = bytes(self.data[self._body_offset :]), bytearray()
        return HookRequest(
            version=__version__, host=host, event=event, argument="", cwd="", env=env, payload=payload, peer=self.peer
        )

    def _find_refusal_reason(self) -> str:
        """Return why the sender may not ask; empty when it may."""
        headers = self._headers or {}
        token = headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode()):
            return "expected the token of the warm process"
        # A web page can make a browser send requests here: with an origin, or by its own host name (DNS rebinding).
        if headers.get("host", "").lower() not in self._allowed_hosts or "origin" in headers:
            return "expected a request for the loopback that comes from no web page"
        return ""

    def _is_complete(self) -> bool:
        if self._headers is None:
            end = self.data.find(b"\r\n\r\n")
            if end > MAX_HEADER_BYTES or (end < 0 and len(self.data) > MAX_HEADER_BYTES):
                raise protocol.MalformedMessage("expected shorter headers")
            if end < 0:
                return False
            self._parse_headers(bytes(self.data[:end]))
            self._body_offset = end + 4
            # Before the body is read: a sender without the token must not make this process hold 24 MiB.
            if refusal := self._find_refusal_reason():
                raise protocol.MalformedMessage(refusal)
        assert self._headers is not None
        length = self._headers.get("content-length", "")
        if "transfer-encoding" in self._headers or not (length.isascii() and length.isdigit() and len(length) < 12):
            raise protocol.MalformedMessage("expected a body with its length")
        if int(length) > protocol.MAX_PAYLOAD_BYTES:
            raise protocol.MalformedMessage(
                f"expected a payload of at most {protocol.MAX_PAYLOAD_BYTES} bytes, found more"
            )
        missing_bytes = self._body_offset + int(length) - len(self.data)
        if missing_bytes < 0:
            raise protocol.MalformedMessage("expected one request, found more")
        self._is_fully_received = missing_bytes == 0
        return self._is_fully_received

    def _parse_headers(self, raw: bytes) -> None:
        request_line, *header_lines = raw.decode("latin-1").split("\r\n")
        method, _, target = request_line.partition(" ")
        path, _, version = target.rpartition(" ")
        self._is_hook_request = method == "POST" and path.startswith("/hook/")
        headers: dict[str, str] = {}
        for line in header_lines:
            name, colon, value = line.partition(":")
            key = name.lower().replace("_", "-")
            if not colon or not name or name != name.strip() or key in headers:
                raise protocol.MalformedMessage("expected each header once")
            headers[key] = value.strip()
        self._headers = headers
        parts = path.split("/")
        if not (self._is_hook_request and version.startswith("HTTP/1.") and len(parts) == 4 and all(parts[2:])):
            raise protocol.MalformedMessage("expected POST /hook/<host>/<event>")
        self._path = path

    def _encode_reply(self, reply: DaemonReply) -> bytes:
        if reply.kind == protocol.KIND_ANSWER:
            return _format_response("200 OK", self._render_decision(reply))
        reason = reply.err.decode("utf-8", "replace").strip() or "the warm process is going"
        if self._is_hook_request is False:
            return _format_response("404 Not Found", json.dumps({"error": reason}).encode())
        return _format_response("200 OK", self._render_block(_BLOCK_REASON % reason) if self._fails_closed() else b"{}")

    def _fails_closed(self) -> bool:
        """Return whether a failure must block: when the agent is about to act, or the event is unknown."""
        host, event = self._split_path()
        if host not in HOSTS:
            return True
        return HOSTS[host].events.get(event, HookEventKind.BEFORE).fails_closed

    def _split_path(self) -> tuple[str, str]:
        """Return host and event; empty when they are not known."""
        _, _, host, event = self._path.split("/") if self._path else ("", "", "", "")
        return host, event

    def _render_decision(self, reply: DaemonReply) -> bytes:
        """Return the document of a decision. A block is put into words, because there is no exit status here."""
        if reply.status == 0:
            return reply.out.strip()
        return self._render_block(str(json.loads(reply.out).get("reason", "blocked")))

    def _render_block(self, reason: str) -> bytes:
        event = self._path.rpartition("/")[2]
        specific = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": reason}
        block = {"decision": "block", "reason": reason}
        return render_json(block | ({"hookSpecificOutput": specific} if event == "PreToolUse" else {})).encode("ascii")


def save_port(directory: Path, port: int) -> None:
    """Save the port on which every process of this run directory listens from now on; 0 removes it."""
    with suppress(FileNotFoundError):
        os.unlink(directory / PORT_FILE)
    if port:
        fd = os.open(directory / PORT_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="ascii") as file:
            file.write(f"{port}\n")


def load_port(directory: Path) -> int | None:
    """Return the saved port; None when there is none."""
    try:
        port = int((directory / PORT_FILE).read_text("ascii")[:10])
    except (OSError, ValueError):
        return None
    return port if 0 < port < 65536 else None


def load_or_create_token(directory: Path) -> str:
    """Return the token that hosts must send, and create it if necessary.

    A file that others could read or write is refused.
    """
    path = directory / TOKEN_FILE
    try:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            pass
        else:
            with open(fd, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(fd, encoding="ascii") as file:
            status = os.fstat(fd)
            token = file.read(200).strip()
    except (OSError, ValueError) as error:
        raise DaemonError(f"cannot use `{path}`: {error}; delete it, and a new one is created") from error
    if status.st_uid != os.geteuid() or status.st_mode & 0o077 or len(token) < 32:
        raise DaemonError(
            f"expected `{path}` to be yours alone, with a token in it; delete it, and a new one is created"
        )
    return token


def _format_response(status: str, body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
