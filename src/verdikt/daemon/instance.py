"""Where a warm process lives: a directory of its own with a lock, which one process holds for life, and a socket."""

import fcntl
import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from verdikt.daemon.client import LOCK_NAME, SOCKET_NAME
from verdikt.errors import DaemonError

BACKLOG = 1024


class DaemonInstance:
    """The runtime directory, or the socket that an operator named."""

    def __init__(self, directory: Path, socket_path: Path | None = None, socket_mode: int = 0o600) -> None:
        self.directory = directory
        self.socket_path = socket_path or directory / SOCKET_NAME
        self._socket_mode = socket_mode
        self._lock_fd = -1
        self._bound_inode: tuple[int, int] | None = None

    def acquire_lock(self) -> bool:
        """Whether this process is the one that lives here; made private if need be. It is so until `leave`."""
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
        """The socket, bound in place of a stale one. Only whoever lives here may call it."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.getcwd()
        try:
            # By its name alone: a path may be longer than a socket's may be.
            os.chdir(self.socket_path.parent)
            draft = f".{self.socket_path.name}"
            with suppress(FileNotFoundError):
                os.unlink(draft)
            sock.bind(draft)
            os.chmod(draft, self._socket_mode)
            sock.listen(BACKLOG)
            sock.setblocking(False)
            # Whoever finds it at its place finds somebody listening; a stale one goes in the same instant.
            os.replace(draft, self.socket_path.name)
            self._bound_inode = _get_inode(self.socket_path)
        except OSError as error:
            sock.close()
            raise DaemonError(f"cannot listen on `{self.socket_path}`: {error.strerror}") from error
        finally:
            os.chdir(before)
        return sock

    def owns_socket(self) -> bool:
        """Whether the socket at the path is still the one that we listen on."""
        return self._bound_inode is not None and _get_inode(self.socket_path) == self._bound_inode

    def release(self) -> None:
        """Makes room for another: takes the socket away, if it is still ours, and then the lock."""
        if self.owns_socket():
            with suppress(OSError):
                os.unlink(self.socket_path)
        self._bound_inode = None
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
        self._lock_fd = -1


def _try_lock(fd: int) -> bool:
    for _ in range(3):  # whoever only asks who lives here holds it for an instant
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
