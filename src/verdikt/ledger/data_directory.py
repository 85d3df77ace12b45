"""Where verdikt keeps its data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from verdikt.errors import LedgerError
from verdikt.ledger.data_location import find_data_directory


def get_data_directory(env: Mapping[str, str]) -> Path:
    """The directory of `data_place`; a `LedgerError` when there is none."""
    place = find_data_directory(env)
    if not place:
        raise LedgerError("no place for verdikt's data: set VERDIKT_HOME, XDG_DATA_HOME or HOME")
    return Path(place)


def make_private_directory(directory: Path) -> Path:
    """The directory, made if need be, readable by its owner alone."""
    try:
        if not os.path.isdir(directory):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.stat(directory).st_mode & 0o077:
            os.chmod(directory, 0o700)
    except OSError as error:
        raise LedgerError(
            f"cannot make `{directory}`: {error.strerror}; make it writable or set VERDIKT_HOME to another directory"
        ) from error
    return directory


def create_database_file(path: str | Path) -> None:
    """An empty file, readable by its owner alone, where there is none; SQLite gives the files beside it the same mode.

    One that is there is not even opened: closing it would drop every lock that this process has on it, and with them those
    of a connection that is open already. Whoever else ends next would take that for the last one, and clear up.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return


def sync_directory(directory: Path) -> None:
    """Returns when the directory's own entries (a new file, a rename) are on the disk."""
    _sync_path(directory, os.O_RDONLY | os.O_DIRECTORY)


def sync_file(path: Path) -> None:
    """Returns when what was written to a file, by whomever, is on the disk."""
    _sync_path(path, os.O_RDONLY)


def _sync_path(path: Path, flags: int) -> None:
    fd = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Writes every byte, however many at a time the system takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
