"""Client side of the warm process: how the hook process asks it, finds it and starts it."""

import fcntl
import os
import socket
import sys
import time
from collections.abc import Mapping

from verdikt import __version__
from verdikt.daemon import protocol
from verdikt.daemon.proof import PROOF_BYTES, create_nonce, is_proven, read_secret
from verdikt.ledger.data_directory import find_data_directory

SOCKET_NAME, LOCK_NAME = "daemon.sock", "daemon.lock"

# `sun_path` holds 104 bytes on macOS and 108 on Linux.
MAX_SOCKET_PATH_BYTES = 100

# Hooks start at most one process in this time: one that cannot start must not be started by every call.
START_RETRY_SECONDS = 3


class DaemonUnreachable(Exception):
    """No process received the whole request, so the caller may decide instead."""


class DaemonOutdated(DaemonUnreachable):
    """A process of another version received the request, decided nothing, and stops."""


class DaemonUntrusted(DaemonUnreachable):
    """What listens there is not the warm process: it did not prove that it knows the secret of this start."""


class NoReply(TimeoutError):
    """The request was received and its outcome is unknown: it must not be decided a second time."""


def get_run_directory(env: Mapping[str, str]) -> str:
    """Return `run/` in verdikt's data directory; empty when the environment names no absolute one."""
    data_directory = find_data_directory(env)
    return f"{data_directory}/run" if data_directory.startswith("/") else ""


def relay_hook_call(
    arguments: list[str],
    payload: bytes,
    cwd: str,
    env: Mapping[str, str],
    *,
    timeout_seconds: float,
    socket_path: str = "",
) -> tuple[int, bytes, bytes] | None:
    """Return status, stdout and stderr of a logged decision; None when no process received the request.

    With a `socket_path` that an operator has named no other process may decide, so that case raises `NoReply` too.
    Raises `DaemonUntrusted` when a program that is not the warm process answered: nothing was decided.
    """
    directory = get_run_directory(env)
    if not (socket_path or directory):
        return None
    host, event, argument = (*arguments, *("generic", "", "")[len(arguments) :])[:3]
    path = socket_path or f"{directory}/{SOCKET_NAME}"
    try:
        # An operator's warm process is of another user: the kernel vouches for it, and its secret cannot be read.
        nonce = b"" if socket_path else create_nonce()
        head_fields = [__version__, host, event, argument, cwd, protocol.PYTHON_CLIENT]
        data = protocol.encode_request(head_fields, env, payload, nonce)
        return send_request(path, data, timeout_seconds, own_socket=not socket_path, nonce=nonce)
    except DaemonUntrusted:
        raise
    except (protocol.MalformedMessage, DaemonUnreachable) as error:
        if socket_path:
            raise NoReply(f"the warm process at `{socket_path}` cannot be asked: {error}") from None
    return None


def send_request(
    socket_path: str, data: bytes, timeout_seconds: float, *, own_socket: bool = True, nonce: bytes = b""
) -> tuple[int, bytes, bytes]:
    """Return status, stdout and stderr of a logged decision; raise `DaemonUnreachable` or `NoReply`.

    With a `nonce`, which the request must hold, the reply must prove that its sender knows the secret of this start.

    Only a process of the user who owns the socket's directory is trusted. With `own_socket` that must be this user,
    and the directory must be closed to others; without, an operator has named the socket, and others may only read.
    """
    directory = socket_path.rpartition("/")[0]
    if nonce and not read_secret(directory):
        raise DaemonUnreachable("no warm process has written a secret")
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_seconds)
        owner_uid = _connect_socket(sock, socket_path, own_socket=own_socket)
        if not _is_peer_user(sock, owner_uid):
            raise DaemonUnreachable("the warm process is of another user")
        send_error = _try_send(sock, data)
        try:
            prefix = _receive_exactly(sock, protocol.REPLY_PREFIX_BYTES)
            kind, status, out_length, err_length = protocol.decode_reply_prefix(prefix)
            streams = _receive_exactly(sock, out_length + err_length)
            is_trusted = (
                not nonce or kind != protocol.KIND_ANSWER or _has_proof(sock, directory, nonce, prefix + streams)
            )
        except OSError:
            if send_error is not None:
                # The process decides nothing before it has the whole request.
                raise DaemonUnreachable(send_error) from None
            raise
    except TimeoutError:
        raise NoReply("the warm process did not answer in time") from None
    except (OSError, protocol.MalformedMessage):
        raise NoReply("the warm process ended before it answered") from None
    finally:
        sock.close()
    if not is_trusted:
        raise DaemonUntrusted("a program that is not the warm process answered at its socket")
    out, err = streams[:out_length], streams[out_length:]
    if kind == protocol.KIND_RETRY:
        raise DaemonOutdated("the warm process is of another version")
    if kind == protocol.KIND_REFUSED:
        raise NoReply(f"the warm process refused: {err.decode('utf-8', 'replace').strip()}")
    return status, out, err


def start_if_absent(env: Mapping[str, str]) -> None:
    """Start a warm process where none runs, unless a hook has tried within the last seconds."""
    directory = get_run_directory(env)
    try:
        if directory and not find_daemon_pid(directory) and _claim_start_attempt(directory):
            start_daemon(env)
    except OSError:
        return  # the directory cannot be made or written, so no process could live there


def _claim_start_attempt(directory: str) -> bool:
    """Return whether no hook has tried within the last seconds, and record that this one does."""
    attempt_file = f"{directory}/starting"
    try:
        if not os.path.isdir(directory):
            os.mkdir(directory, 0o700)
        os.close(os.open(attempt_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        # A time in the future comes from a clock that was set back, and must not prevent starts until then.
        if 0 <= time.time() - os.stat(attempt_file).st_mtime < START_RETRY_SECONDS:
            return False
        os.utime(attempt_file)
    return True


def start_daemon(env: Mapping[str, str], *arguments: str) -> bool:
    """Start a warm process without waiting for it and return whether that worked; it ends if one already runs."""
    # Only the variables it needs: it outlives the session, and the host's tokens must not.
    daemon_env = {name: env[name] for name in (*protocol.SENT_VARIABLES, "VERDIKT_DAEMON_IDLE") if name in env}
    to_dev_null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    command = [sys.executable, *get_python_flags(), "-m", "verdikt.daemon", *arguments]
    _make_fds_noninheritable()
    try:
        os.posix_spawn(sys.executable, command, daemon_env, file_actions=to_dev_null, setsid=True)
    except (OSError, NotImplementedError, ValueError):
        return False
    return True


def _make_fds_noninheritable() -> None:
    """Keep descriptors above stderr from the new process."""
    # A host that reads a pipe waits until every process that holds the other end has closed it.
    try:
        open_fds = [int(name) for name in os.listdir("/dev/fd")]
    except (OSError, ValueError):
        open_fds = list(range(1024))
    for fd in open_fds:
        try:
            if fd > 2:
                os.set_inheritable(fd, False)
        except OSError:
            continue


def get_python_flags() -> list[str]:
    """Return flags with which Python finds the modules of this process, and none in the working directory."""
    return ["-I"] if sys.flags.isolated else ["-E", "-P"]


def find_daemon_pid(directory: str | os.PathLike[str]) -> int:
    """Return the pid of the process that holds the lock in a run directory, listening or not; 0 when there is none."""
    try:
        fd = os.open(os.path.join(directory, LOCK_NAME), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return 0
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        # The holder writes its pid when it has the lock, so the content of an unlocked file is stale.
        try:
            return int(os.pread(fd, 20, 0))
        except (OSError, ValueError):
            return 0
    except OSError:
        return 0
    finally:
        os.close(fd)
    return 0


def _connect_socket(sock: socket.socket, path: str, *, own_socket: bool) -> int:
    """Connect and return the owner of the socket's directory; refuse one where others could have put the socket."""
    directory_fd = -1
    try:
        parent, _, name = path.rpartition("/")
        flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
        directory_fd = os.open(parent or "/", flags | (os.O_NOFOLLOW if own_socket else 0))
        status = os.fstat(directory_fd)
        if status.st_mode & (0o077 if own_socket else 0o022) or (own_socket and status.st_uid != os.geteuid()):
            raise DaemonUnreachable(f"expected `{parent}` to be closed to other users")
        if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
            path = f"/proc/self/fd/{directory_fd}/{name}"
        sock.connect(path)
    except TimeoutError:
        raise
    except OSError as error:
        raise DaemonUnreachable(str(error)) from error
    else:
        return status.st_uid
    finally:
        if directory_fd >= 0:
            os.close(directory_fd)


def _is_peer_user(sock: socket.socket, uid: int) -> bool:
    """Return whether a process of that user listens there."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True  # macOS: the private directory around the socket has to be enough
    credentials = sock.getsockopt(socket.SOL_SOCKET, option, 12)  # pid, uid and gid, 4 bytes each
    return int.from_bytes(credentials[4:8], sys.byteorder) == uid


def _has_proof(sock: socket.socket, directory: str, nonce: bytes, reply: bytes) -> bool:
    """Return whether the bytes after a reply prove that its sender knows the secret of this start."""
    try:
        proof = _receive_exactly(sock, PROOF_BYTES)
    except OSError:
        return False
    # Read again: the process may have been replaced since the request was sent.
    return is_proven(read_secret(directory), nonce, reply, proof)


def _try_send(sock: socket.socket, data: bytes) -> str | None:
    """Send everything and return the error, if any: a process that hangs up early may still have sent its reason."""
    try:
        sock.sendall(data)
    except TimeoutError:
        raise
    except OSError as error:
        return str(error)
    return None


def _receive_exactly(sock: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        chunk = sock.recv(length - len(data))
        if not chunk:
            raise OSError("closed")
        data += chunk
    return data
