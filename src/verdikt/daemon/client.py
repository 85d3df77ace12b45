"""Asking the warm process from Python: with as little loaded as can be, because a hook lives for milliseconds."""

import _socket
import os
import sys

from verdikt.daemon import protocol
from verdikt.ledger.place import data_place

TYPE_CHECKING = False  # the name is what type checkers know; `typing` costs more than all else here
if TYPE_CHECKING:
    from collections.abc import Mapping

SOCKET, LOCK = "daemon.sock", "daemon.lock"

LONGEST_PATH = 100
"""Bytes of a path that any system takes for a socket."""

START_SECONDS = 3
"""How long no hook starts another warm process: one that cannot start must not be started by every call."""


class Unreachable(Exception):
    """Nobody heard the question, so somebody else may decide it."""


class Going(Unreachable):
    """A process of another version heard it, decided nothing, and makes room for a new one."""


class NoAnswer(TimeoutError):
    """The question was heard, and what came of it is unknown: it must not be decided again."""


def run_directory(env: "Mapping[str, str]") -> str:
    """`run/` in verdikt's data directory; empty when there is no place for one, or only a relative one."""
    place = data_place(env)
    return f"{place}/run" if place.startswith("/") else ""


def relay(
    arguments: list[str], payload: bytes, cwd: str, env: "Mapping[str, str]", *, seconds: float, socket: str = ""
) -> tuple[int, bytes, bytes] | None:
    """Status, stdout and stderr of a decision that is in the log; None when nobody heard the question.

    Behind a socket that an operator named there is nobody else to decide, so that is `NoAnswer` too.
    """
    from verdikt import __version__

    directory = run_directory(env)
    if not (socket or directory):
        return None
    host, event, argument = (*arguments, *("generic", "", "")[len(arguments) :])[:3]
    path = socket or f"{directory}/{SOCKET}"
    try:
        data = protocol.question([__version__, host, event, argument, cwd, protocol.PYTHON], env, payload)
        return ask(path, data, seconds, ours=not socket)
    except (protocol.Malformed, Unreachable) as error:
        if socket:
            raise NoAnswer(f"the warm process at `{socket}` cannot be asked: {error}") from None
    return None


def ask(path: str, data: bytes, seconds: float, *, ours: bool = True) -> tuple[int, bytes, bytes]:
    """Status, stdout and stderr of a decision that is in the log; `Unreachable` or `NoAnswer` where there is none.

    Only the owner of the socket's directory is believed; that is this user, and nobody else can look into it, unless the socket
    is not `ours` but one that an operator named.
    """
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(seconds)
        owner = _connect(sock, path, ours=ours)
        if not _is_of(owner, sock):
            raise Unreachable("the warm process is of another user")
        unsent = _send(sock, data)
        try:
            kind, status, out, err = protocol.answer_lengths(_receive(sock, protocol.ANSWER_PREFIX))
            rest = _receive(sock, out + err)
        except OSError:
            if unsent is not None:
                raise Unreachable(unsent) from None  # what was not heard to its end was not decided
            raise
    except TimeoutError:
        raise NoAnswer("the warm process did not answer in time") from None
    except (OSError, protocol.Malformed):
        raise NoAnswer("the warm process ended before it answered") from None
    finally:
        sock.close()
    if kind == protocol.AGAIN:
        raise Going("the warm process is of another version")
    if kind == protocol.REFUSED:
        raise NoAnswer(f"the warm process refused: {rest[out:].decode('utf-8', 'replace').strip()}")
    return status, rest[:out], rest[out:]


def start_for_the_next(env: "Mapping[str, str]") -> None:
    """Starts a warm process where none lives, unless a hook has tried a moment ago."""
    directory = run_directory(env)
    try:
        if directory and not holder(directory) and _is_due(directory):
            start(env)
    except OSError:
        return  # there is no place for one


def _is_due(directory: str) -> bool:
    """Whether no hook has tried within the last seconds; from now on one has."""
    import time

    mark = f"{directory}/starting"
    try:
        if not os.path.isdir(directory):
            os.mkdir(directory, 0o700)
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if 0 <= time.time() - os.stat(mark).st_mtime < START_SECONDS:
            return False
        os.utime(mark)
    return True


def start(env: "Mapping[str, str]", *arguments: str) -> bool:
    """Starts a warm process and waits for nothing; whether it was started. Where one lives already, it leaves again."""
    script = f"{os.path.dirname(os.path.abspath(__file__))}/__main__.py"
    # Nothing of the environment that it does not need: it outlives the session, and a token must not.
    clean = {name: env[name] for name in (*protocol.VARIABLES, "VERDIKT_DAEMON_IDLE") if name in env}
    nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    command = [sys.executable, *flags(), script, *arguments]
    _keep_to_ourselves()
    try:
        os.posix_spawn(sys.executable, command, clean, file_actions=nothing, setsid=True)
    except (OSError, NotImplementedError, ValueError):
        return False
    return True


def _keep_to_ourselves() -> None:
    """What a hook was given beside its three streams goes to nobody: who reads it waits until all have let go of it."""
    try:
        held = [int(name) for name in os.listdir("/dev/fd")]
    except (OSError, ValueError):
        held = list(range(1024))
    for fd in held:
        try:
            if fd > 2:
                os.set_inheritable(fd, False)
        except OSError:
            continue


def flags() -> list[str]:
    """How Python must be started so that it finds what this process found, and nothing in the working directory."""
    return ["-I"] if sys.flags.isolated else ["-E", "-P"]


def holder(directory: "str | os.PathLike[str]") -> int:
    """The pid of the warm process that lives in a directory, listening or not; 0 when there is none."""
    import fcntl

    try:
        fd = os.open(os.path.join(directory, LOCK), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return 0
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        try:
            return int(os.pread(fd, 20, 0))
        except (OSError, ValueError):
            return 0
    except OSError:
        return 0
    finally:
        os.close(fd)
    return 0


def _connect(sock: _socket.socket, path: str, *, ours: bool) -> int:
    """The user who owns the directory; `Unreachable` also when others could have put the socket there."""
    directory = -1
    try:
        parent, _, name = path.rpartition("/")
        search = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
        directory = os.open(parent or "/", search | (os.O_NOFOLLOW if ours else 0))
        there = os.fstat(directory)
        if there.st_mode & (0o077 if ours else 0o022) or (ours and there.st_uid != os.geteuid()):
            raise Unreachable(f"expected `{parent}` to be closed to other users")
        if len(os.fsencode(path)) > LONGEST_PATH:
            path = f"/proc/self/fd/{directory}/{name}"
        sock.connect(path)
    except TimeoutError:
        raise
    except OSError as error:
        raise Unreachable(str(error)) from error
    else:
        return there.st_uid
    finally:
        if directory >= 0:
            os.close(directory)


def _is_of(owner: int, sock: _socket.socket) -> bool:
    """Whether a process of that user listens there; where the system cannot tell, its private directory must do."""
    option = getattr(_socket, "SO_PEERCRED", None)
    if option is None:
        return True
    raw = sock.getsockopt(_socket.SOL_SOCKET, option, 12)  # process, user, group
    return int.from_bytes(raw[4:8], sys.byteorder) == owner


def _send(sock: _socket.socket, data: bytes) -> str | None:
    """What went wrong, if anything: whoever hangs up before the end may have said why."""
    try:
        sock.sendall(data)
    except TimeoutError:
        raise
    except OSError as error:
        return str(error)
    return None


def _receive(sock: _socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = sock.recv(length - len(data))
        if not piece:
            raise OSError("closed")
        data += piece
    return data
