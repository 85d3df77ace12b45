"""Asking the warm process from Python: with as little loaded as can be, because a hook lives for milliseconds."""

import _socket
import os
import sys
import time
from collections.abc import Mapping

from verdikt import __version__
from verdikt.daemon import protocol
from verdikt.ledger.data_directory import find_data_directory

SOCKET_NAME, LOCK_NAME = "daemon.sock", "daemon.lock"

MAX_SOCKET_PATH_BYTES = 100
"""Bytes of a path that any system takes for a socket."""

START_RETRY_SECONDS = 3
"""How long no hook starts another warm process: one that cannot start must not be started by every call."""


class DaemonUnreachable(Exception):
    """Nobody heard the question, so somebody else may decide it."""


class DaemonOutdated(DaemonUnreachable):
    """A process of another version heard it, decided nothing, and makes room for a new one."""


class NoReply(TimeoutError):
    """The question was heard, and what came of it is unknown: it must not be decided again."""


def get_run_directory(env: "Mapping[str, str]") -> str:
    """`run/` in verdikt's data directory; empty when there is no place for one, or only a relative one."""
    place = find_data_directory(env)
    return f"{place}/run" if place.startswith("/") else ""


def relay_hook_call(
    arguments: list[str],
    payload: bytes,
    cwd: str,
    env: "Mapping[str, str]",
    *,
    timeout_seconds: float,
    socket_path: str = "",
) -> tuple[int, bytes, bytes] | None:
    """Status, stdout and stderr of a decision that is in the log; None when nobody heard the question.

    Behind a socket that an operator named there is nobody else to decide, so that is `NoAnswer` too.
    """
    directory = get_run_directory(env)
    if not (socket_path or directory):
        return None
    host, event, argument = (*arguments, *("generic", "", "")[len(arguments) :])[:3]
    path = socket_path or f"{directory}/{SOCKET_NAME}"
    try:
        data = protocol.encode_request([__version__, host, event, argument, cwd, protocol.PYTHON_CLIENT], env, payload)
        return send_request(path, data, timeout_seconds, own_socket=not socket_path)
    except (protocol.MalformedMessage, DaemonUnreachable) as error:
        if socket_path:
            raise NoReply(f"the warm process at `{socket_path}` cannot be asked: {error}") from None
    return None


def send_request(
    socket_path: str, data: bytes, timeout_seconds: float, *, own_socket: bool = True
) -> tuple[int, bytes, bytes]:
    """Status, stdout and stderr of a decision that is in the log; `Unreachable` or `NoAnswer` where there is none.

    Only the owner of the socket's directory is believed; that is this user, and nobody else can look into it, unless the socket
    is not `ours` but one that an operator named.
    """
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_seconds)
        owner = _connect_socket(sock, socket_path, own_socket=own_socket)
        if not _is_owned_by(owner, sock):
            raise DaemonUnreachable("the warm process is of another user")
        unsent = _send_all(sock, data)
        try:
            kind, status, out, err = protocol.decode_reply_prefix(_receive_exactly(sock, protocol.REPLY_PREFIX_BYTES))
            rest = _receive_exactly(sock, out + err)
        except OSError:
            if unsent is not None:
                raise DaemonUnreachable(unsent) from None  # what was not heard to its end was not decided
            raise
    except TimeoutError:
        raise NoReply("the warm process did not answer in time") from None
    except (OSError, protocol.MalformedMessage):
        raise NoReply("the warm process ended before it answered") from None
    finally:
        sock.close()
    if kind == protocol.KIND_RETRY:
        raise DaemonOutdated("the warm process is of another version")
    if kind == protocol.KIND_REFUSED:
        raise NoReply(f"the warm process refused: {rest[out:].decode('utf-8', 'replace').strip()}")
    return status, rest[:out], rest[out:]


def start_if_absent(env: "Mapping[str, str]") -> None:
    """Starts a warm process where none lives, unless a hook has tried a moment ago."""
    directory = get_run_directory(env)
    try:
        if directory and not find_daemon_pid(directory) and _claim_start_attempt(directory):
            start_daemon(env)
    except OSError:
        return  # there is no place for one


def _claim_start_attempt(directory: str) -> bool:
    """Whether no hook has tried within the last seconds; from now on one has."""
    mark = f"{directory}/starting"
    try:
        if not os.path.isdir(directory):
            os.mkdir(directory, 0o700)
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if 0 <= time.time() - os.stat(mark).st_mtime < START_RETRY_SECONDS:
            return False
        os.utime(mark)
    return True


def start_daemon(env: "Mapping[str, str]", *arguments: str) -> bool:
    """Starts a warm process and waits for nothing; whether it was started. Where one lives already, it leaves again."""
    script = f"{os.path.dirname(os.path.abspath(__file__))}/__main__.py"
    # Nothing of the environment that it does not need: it outlives the session, and a token must not.
    clean = {name: env[name] for name in (*protocol.SENT_VARIABLES, "VERDIKT_DAEMON_IDLE") if name in env}
    nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    command = [sys.executable, *get_python_flags(), script, *arguments]
    _make_fds_noninheritable()
    try:
        os.posix_spawn(sys.executable, command, clean, file_actions=nothing, setsid=True)
    except (OSError, NotImplementedError, ValueError):
        return False
    return True


def _make_fds_noninheritable() -> None:
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


def get_python_flags() -> list[str]:
    """How Python must be started so that it finds what this process found, and nothing in the working directory."""
    return ["-I"] if sys.flags.isolated else ["-E", "-P"]


def find_daemon_pid(directory: "str | os.PathLike[str]") -> int:
    """The pid of the warm process that lives in a directory, listening or not; 0 when there is none."""
    import fcntl

    try:
        fd = os.open(os.path.join(directory, LOCK_NAME), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
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


def _connect_socket(sock: _socket.socket, path: str, *, own_socket: bool) -> int:
    """The user who owns the directory; `Unreachable` also when others could have put the socket there."""
    directory = -1
    try:
        parent, _, name = path.rpartition("/")
        search = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
        directory = os.open(parent or "/", search | (os.O_NOFOLLOW if own_socket else 0))
        there = os.fstat(directory)
        if there.st_mode & (0o077 if own_socket else 0o022) or (own_socket and there.st_uid != os.geteuid()):
            raise DaemonUnreachable(f"expected `{parent}` to be closed to other users")
        if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
            path = f"/proc/self/fd/{directory}/{name}"
        sock.connect(path)
    except TimeoutError:
        raise
    except OSError as error:
        raise DaemonUnreachable(str(error)) from error
    else:
        return there.st_uid
    finally:
        if directory >= 0:
            os.close(directory)


def _is_owned_by(owner_uid: int, sock: _socket.socket) -> bool:
    """Whether a process of that user listens there; where the system cannot tell, its private directory must do."""
    option = getattr(_socket, "SO_PEERCRED", None)
    if option is None:
        return True
    raw = sock.getsockopt(_socket.SOL_SOCKET, option, 12)  # process, user, group
    return int.from_bytes(raw[4:8], sys.byteorder) == owner_uid


def _send_all(sock: _socket.socket, data: bytes) -> str | None:
    """What went wrong, if anything: whoever hangs up before the end may have said why."""
    try:
        sock.sendall(data)
    except TimeoutError:
        raise
    except OSError as error:
        return str(error)
    return None


def _receive_exactly(sock: _socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = sock.recv(length - len(data))
        if not piece:
            raise OSError("closed")
        data += piece
    return data
