"""The single running instance of a data directory: its run directory, its lock file and its socket."""

import fcntl
import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from verdikt.daemon.client import LOCK_NAME, SOCKET_NAME
from verdikt.daemon.proof import create_secret
from verdikt.errors import DaemonError

BACKLOG = 1024


class DaemonInstance:
    """The run directory, and the socket in it or at the path that an operator has named."""

    def __init__(self, directory: Path, socket_path: Path | None = None, socket_mode: int = 0o600) -> None:
        self.directory = directory
        self.socket_path = socket_path or directory / SOCKET_NAME
        self._socket_mode = socket_mode
        self._lock_fd = -1
        self._bound_inode: tuple[int, int] | None = None
        self.secret = b""
        """What replies are proven with; new with every start."""

    def acquire_lock(self) -> bool:
        """Create the private run directory, try to lock it, and return whether this process has it until `release`."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            status = self.directory.stat()
            if status.st_uid != os.geteuid():
                raise DaemonError(f"expected `{self.directory}` to belong to the user of the warm process")
            if status.st_mode & 0o077:
                self.directory.chmod(0o700)
            fd = os.open(self.directory / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise DaemonError(f"cannot use `{self.directory}`: {error.strerror}; make it writable") from error
        if not _try_lock(fd):
            os.close(fd)
            return False
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        self._lock_fd = fd
        return True

    def bind_socket(self) -> socket.socket:
        """Bind the socket, replacing a stale one. The caller must hold the lock."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        previous_cwd = os.getcwd()
        try:
            # Before it listens: a client that finds the socket finds the secret too.
            self.secret = create_secret(self.directory)
            # By its name alone: the path may be longer than the address of a socket.
            os.chdir(self.socket_path.parent)
            temporary_name = f".{self.socket_path.name}"
            with suppress(FileNotFoundError):
                os.unlink(temporary_name)
            sock.bind(temporary_name)
            os.chmod(temporary_name, self._socket_mode)
            sock.listen(BACKLOG)
            sock.setblocking(False)
            # Renamed when it listens, so that a client never finds a socket at this path that refuses connections.
            os.replace(temporary_name, self.socket_path.name)
            self._bound_inode = _get_inode(self.socket_path)
        except OSError as error:
            sock.close()
            raise DaemonError(f"cannot listen on `{self.socket_path}`: {error.strerror}") from error
        finally:
            os.chdir(previous_cwd)
        return sock

    def owns_socket(self) -> bool:
        """Return whether the socket at the path is still the one that this process has bound."""
        return self._bound_inode is not None and _get_inode(self.socket_path) == self._bound_inode

    def release(self) -> None:
        """Remove the socket, if it is still ours, and release the lock."""
        if self.owns_socket():
            with suppress(OSError):
                os.unlink(self.socket_path)
        self._bound_inode = None
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
        self._lock_fd = -1


def _try_lock(fd: int) -> bool:
    # More than once: `find_daemon_pid` holds a shared lock for an instant when it looks for the owner.
    for _ in range(3):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.02)
        else:
            return True
    return False


def _get_inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
