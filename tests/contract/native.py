"""The native client, as shipped and with sanitizers, and a fake warm process."""

import fcntl
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from tests.clients.install import ROOT
from tests.leftovers import watch_directory
from verdikt import __version__, hosts
from verdikt.daemon import protocol
from verdikt.daemon.native import build
from verdikt.daemon.proof import SECRET_BYTES, compute_proof, create_secret, split_nonce
from verdikt.model.canonical_json import sha256_hex

FUZZ = Path(__file__).with_name("native_fuzz.c")
GUARD = Path(hosts.__file__).with_name("guard.sh")


def compile_program(name: str, flags: list[str], source: Path = build.SOURCE) -> Path:
    """Return the program, compiled now if it was not before from the same sources with the same flags."""
    inputs = [path.read_bytes() for path in (*sorted(build.SOURCE.parent.glob("*.c")), source, Path(build.__file__))]
    inputs.append(repr(flags).encode())
    inputs.append(GUARD.read_bytes())
    target = ROOT / ".cache" / "native" / sha256_hex(b"\0".join(inputs))[:16] / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test workers may compile the same
        if not target.exists():
            shutil.copy(GUARD, target.parent)  # as `verdikt init` puts it there
            temporary = target.with_suffix(".new")
            error = (
                build.run_compiler(temporary, __version__, flags, source=source)
                if flags
                else build.compile_client(temporary, __version__)
            )
            assert not error, f"the native client's tests need a C compiler: {error}"
            temporary.rename(target)
    return target


def client() -> Path:
    """Return the client as it is shipped."""
    return compile_program("verdikt-hook", [])


def sanitized() -> Path:
    """Return the client with address and undefined-behaviour sanitizers, which end it with status 99."""
    return compile_program("verdikt-hook-sanitized", build.SANITIZER_FLAGS)


def build_fuzz_target() -> Path:
    """Return a program that feeds many documents to the client's check of replies, with sanitizers."""
    return compile_program("fuzz", [*build.SANITIZER_FLAGS, f"-I{build.SOURCE.parent}", "-Wno-unused-function"], FUZZ)


SANITIZER_ENV = {"ASAN_OPTIONS": "exitcode=99:detect_leaks=0", "UBSAN_OPTIONS": "exitcode=99"}

Behaviour = Callable[[socket.socket], None]
"""What the fake warm process does with one connection."""


class SigningSocket:
    """A connection of the fake warm process that adds the proof to what is a whole reply."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sent = b""
        self.nonce = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def sendall(self, data: bytes) -> None:
        """Send bytes."""
        self._sent += data
        self._connection.sendall(data)

    def send_proof(self, secret: bytes) -> None:
        """Send the proof, if what was sent is a whole reply to a request with a nonce."""
        prefix = self._sent[: protocol.REPLY_PREFIX_BYTES]
        if not self.nonce or len(prefix) < protocol.REPLY_PREFIX_BYTES:
            return
        lengths = int.from_bytes(prefix[6:10], "big"), int.from_bytes(prefix[10:14], "big")
        if len(self._sent) == len(prefix) + sum(lengths):
            self._connection.sendall(compute_proof(secret, self.nonce, self._sent))


class FakeWarm:
    """Listens where the warm process would and runs `behaviour` for every connection.

    The requests that it has read are in `requests`, without their nonces. With `full` it accepts no connection before
    `let_in`; with `knows_secret=False` it is a program that took the place of the warm process.
    """

    def __init__(self, data: Path, behaviour: Behaviour, *, full: bool = False, knows_secret: bool = True) -> None:
        self.data = data
        self._secret = b""
        self._knows_secret = knows_secret
        self.requests: list[bytes] = []
        self._behaviour = behaviour
        self._full = full
        self._threads: list[threading.Thread] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._is_over = False

    def __enter__(self) -> "FakeWarm":
        run = self.data / "run"
        run.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._secret = create_secret(run) if self._knows_secret else b"0" * SECRET_BYTES
        previous_cwd = os.open(".", os.O_RDONLY)
        os.chdir(run)  # the address of a socket holds about a hundred bytes
        try:
            Path("daemon.sock").unlink(missing_ok=True)
            self._server.bind("daemon.sock")
        finally:
            os.fchdir(previous_cwd)
            os.close(previous_cwd)
        self._server.listen(0 if self._full else 8)
        if not self._full:
            self.let_in()
        return self

    def let_in(self) -> None:
        """Accept connections from now on."""
        self._start_thread(self._serve)

    def fill(self) -> list[socket.socket]:
        """Fill the queue and return its connections, which send nothing."""
        idle_connections = []
        while True:
            connection = socket.socket(socket.AF_UNIX)
            connection.setblocking(False)
            try:
                connection.connect(str(self.data / "run/daemon.sock"))
            except BlockingIOError:
                connection.close()
                return idle_connections
            idle_connections.append(connection)

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for thread in self._threads:
            thread.join(timeout=60)

    def _start_thread(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        while not self._is_over:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self._start_thread(self._handle, connection)

    def _handle(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(60)
            signing = SigningSocket(connection)
            try:
                self._behaviour(cast("socket.socket", signing))
                signing.send_proof(self._secret)
            except (OSError, protocol.MalformedMessage):
                return  # the client is gone

    def ask(self, connection: socket.socket) -> bytes:
        """Read and record one whole request."""
        prefix = receive_exactly(connection, protocol.REQUEST_PREFIX_BYTES)
        head_length, payload_length = protocol.decode_request_prefix(prefix)
        head, nonce = split_nonce(receive_exactly(connection, head_length))
        connection.nonce = nonce  # type: ignore[attr-defined]
        prefix = prefix[:4] + len(head).to_bytes(4, "big") + prefix[8:]
        data = prefix + head + receive_exactly(connection, payload_length)
        self.requests.append(data)
        return data


def receive_exactly(connection: socket.socket, length: int) -> bytes:
    """Return that many bytes; fewer only when the other side has closed."""
    chunks = []
    while length:
        chunk = connection.recv(min(length, 1 << 20))
        if not chunk:
            break
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)


def create_short_directory() -> Path:
    """Create a directory with a short path; those of pytest are too long for sockets."""
    directory = Path(tempfile.mkdtemp(prefix="vk"))
    watch_directory(directory)
    return directory


def absolute(argv: list[str]) -> list[str]:
    """Return a command with the absolute path of its program: the native client does not search PATH."""
    return [shutil.which(argv[0]) or argv[0], *argv[1:]]
