"""The native client as it is shipped and as the sanitizers see it, and a warm process that does as it is told."""

import fcntl
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from tests.clients.install import ROOT
from verdikt import __version__, hosts
from verdikt.daemon import protocol
from verdikt.daemon.native import build
from verdikt.model.canonical_json import sha256_hex

FUZZ = Path(__file__).with_name("native_fuzz.c")
GUARD = Path(hosts.__file__).with_name("guard.sh")


def compiled(name: str, flags: list[str], source: Path = build.SOURCE) -> Path:
    """The program, compiled now if it was not before from the same text in the same way."""
    texts = [path.read_bytes() for path in (*sorted(build.SOURCE.parent.glob("*.c")), source, Path(build.__file__))]
    texts.append(repr(flags).encode())
    texts.append(GUARD.read_bytes())
    target = ROOT / ".cache" / "native" / sha256_hex(b"\0".join(texts))[:16] / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test workers may want the same
        if not target.exists():
            shutil.copy(GUARD, target.parent)  # as `verdikt init` puts it there
            fresh = target.with_suffix(".new")
            why = (
                build.run_compiler(fresh, __version__, flags, source=source)
                if flags
                else build.compile_client(fresh, __version__)
            )
            assert not why, f"the native client's tests need a C compiler: {why}"
            fresh.rename(target)
    return target


def client() -> Path:
    """As it is shipped."""
    return compiled("verdikt-hook", [])


def sanitized() -> Path:
    """The same, with address and undefined-behaviour sanitizers: whatever they find ends it with status 99."""
    return compiled("verdikt-hook-sanitized", build.SANITIZER_FLAGS)


def parts() -> Path:
    """Its check of what is said, fed many texts by one process, with sanitizers."""
    return compiled("fuzz", [*build.SANITIZER_FLAGS, f"-I{build.SOURCE.parent}", "-Wno-unused-function"], FUZZ)


SANITIZER_ENV = {"ASAN_OPTIONS": "exitcode=99:detect_leaks=0", "UBSAN_OPTIONS": "exitcode=99"}

Behaviour = Callable[[socket.socket], None]
"""What the warm process does with one connection."""


class FakeWarm:
    """Listens where the warm process would, with `behaviour` for every connection; what it was asked is in `questions`.

    Where its queue is to be full, nobody is let in before `let_in`.
    """

    def __init__(self, data: Path, behaviour: Behaviour, *, full: bool = False) -> None:
        self.data = data
        self.questions: list[bytes] = []
        self._behaviour = behaviour
        self._full = full
        self._threads: list[threading.Thread] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._over = False

    def __enter__(self) -> "FakeWarm":
        run = self.data / "run"
        run.mkdir(parents=True, exist_ok=True, mode=0o700)
        here = os.open(".", os.O_RDONLY)
        os.chdir(run)  # the address of a socket has room for about a hundred letters
        try:
            Path("daemon.sock").unlink(missing_ok=True)
            self._server.bind("daemon.sock")
        finally:
            os.fchdir(here)
            os.close(here)
        self._server.listen(0 if self._full else 8)
        if not self._full:
            self.let_in()
        return self

    def let_in(self) -> None:
        """From now on whoever knocks is let in."""
        self._thread(self._serve)

    def fill(self) -> list[socket.socket]:
        """Connections that ask nothing, as many as may wait to be let in."""
        others = []
        while True:
            other = socket.socket(socket.AF_UNIX)
            other.setblocking(False)
            try:
                other.connect(str(self.data / "run/daemon.sock"))
            except BlockingIOError:
                other.close()
                return others
            others.append(other)

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for thread in self._threads:
            thread.join(timeout=60)

    def _thread(self, target: Callable[..., None], *given: object) -> None:
        thread = threading.Thread(target=target, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        while not self._over:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self._thread(self._one, connection)

    def _one(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(60)
            try:
                self._behaviour(connection)
            except (OSError, protocol.MalformedMessage):
                return  # it has gone

    def ask(self, connection: socket.socket) -> bytes:
        """Reads one whole question."""
        prefix = exactly(connection, protocol.REQUEST_PREFIX_BYTES)
        head, payload = protocol.decode_request_prefix(prefix)
        text = prefix + exactly(connection, head + payload)
        self.questions.append(text)
        return text


def exactly(connection: socket.socket, length: int) -> bytes:
    """So many bytes; fewer only when the other side has ended."""
    parts = []
    while length:
        part = connection.recv(min(length, 1 << 20))
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def short_directory() -> Path:
    """A directory with a short name of its own; pytest's are long."""
    return Path(tempfile.mkdtemp(prefix="vk"))


def absolute(words: list[str]) -> list[str]:
    """The native client has nothing looked for in PATH."""
    return [shutil.which(words[0]) or words[0], *words[1:]]
