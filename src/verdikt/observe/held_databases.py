"""The SQLite databases that this process has open: nothing else in it may open and close their files.

POSIX locks belong to a process and a file, so that closing any descriptor of a file drops every lock that the process
has on it. SQLite in another process then takes the database for unused and truncates its shared memory, and this
process ends with SIGBUS at its next transaction.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from weakref import finalize

_ENDINGS = ("", "-wal", "-shm")

_held: dict[int, frozenset[tuple[int, int]]] = {}
"""Number of a `HeldDatabase` → device and inode of its files."""


class HeldDatabase:
    """The files of one open connection, held until `release`, or until it is forgotten together with the connection."""

    def __init__(self, path: str) -> None:
        """Hold the database at a path, and the files that SQLite has beside it by now."""
        identities = set()
        for ending in _ENDINGS:
            with suppress(OSError):
                identities.add(_identify(os.stat(path + ending)))
        _held[id(self)] = frozenset(identities)
        self.release = finalize(self, _held.pop, id(self), None)
        self.release.atexit = False


def open_unheld(path: str | os.PathLike[str], flags: int) -> int:
    """Return a descriptor like `os.open`, also as `opener`; raise `OSError` for a database that this process holds.

    For every file whose name comes from an agent or from a walk through a project.
    """
    if _held:
        try:
            status = os.stat(path, follow_symlinks=not flags & os.O_NOFOLLOW)
        except OSError:
            pass  # `os.open` says why
        else:
            identity = _identify(status)
            # A copy, because another thread may open or close a database meanwhile.
            if any(identity in identities for identities in list(_held.values())):
                raise OSError(errno.EBUSY, "verdikt has this database open", os.fspath(path))
    return os.open(path, flags)


def _identify(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
