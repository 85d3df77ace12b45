"""The data directory: where it is, how its files are named, and how they are made private and durable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from verdikt.errors import LedgerError

_SAFE_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_.")
_MAX_FILENAME_LENGTH = 150

KEYRING_FILE = "keyring.json"
"""The list of the keys that sign the log, in `keys/`."""


def find_data_directory(env: Mapping[str, str]) -> str:
    """Return `$VERDIKT_HOME`, `$XDG_DATA_HOME/verdikt` or `~/.local/share/verdikt`; empty when no variable is set."""
    own, home = env.get("VERDIKT_HOME"), env.get("HOME")
    if own:
        if own[0] != "~":
            return own
        return home + own[1:] if home and own[1:2] in ("", "/") else os.path.expanduser(own)
    if env.get("XDG_DATA_HOME"):
        return f"{env['XDG_DATA_HOME']}/verdikt"
    return f"{home}/.local/share/verdikt" if home else ""


def get_data_directory(env: Mapping[str, str]) -> Path:
    """Return the data directory as a path; raise `LedgerError` when no variable says where it is."""
    directory = find_data_directory(env)
    if not directory:
        raise LedgerError("no place for verdikt's data: set VERDIKT_HOME, XDG_DATA_HOME or HOME")
    return Path(directory)


def make_private_directory(directory: Path) -> Path:
    """Create the directory if it is missing, make it accessible to its owner only, and return it."""
    try:
        if not os.path.isdir(directory):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A directory made by an installer or by hand is often 0755; logs and keys must not be readable by others.
        if os.stat(directory).st_mode & 0o077:
            os.chmod(directory, 0o700)
    except OSError as error:
        raise LedgerError(
            f"cannot make `{directory}`: {error.strerror}; make it writable or set VERDIKT_HOME to another directory"
        ) from error
    return directory


@lru_cache(maxsize=256)
def encode_session_filename(session: str) -> str:
    """Return a file name, without suffix, that no other session id has.

    Lower-case letters, digits, `-`, `_` and `.` stay as they are; every other byte is %XX, so the names differ even on
    a file system that ignores case. A leading `_` or `.` is escaped too, which reserves `_archive`. Very long ids end
    in their digest.
    """
    try:
        raw = session.encode()
    except UnicodeEncodeError:
        raise LedgerError("expected a session id of Unicode text, found a lone surrogate in it") from None
    if not raw:
        raise LedgerError("expected a session id, found an empty one")
    name = "".join(
        chr(byte) if byte in _SAFE_BYTES and not (index == 0 and byte in b"_.") else f"%{byte:02X}"
        for index, byte in enumerate(raw)
    )
    if len(name) > _MAX_FILENAME_LENGTH:
        # hashlib costs a hook several milliseconds and hardly any session id is this long.
        from verdikt.model.canonical_json import sha256_hex

        return f"{name[: _MAX_FILENAME_LENGTH - 70]}~{sha256_hex(raw)}"
    return name


def decode_session_filename(name: str) -> str | None:
    """Return the session id of a file name; None when the name is foreign, or ends in the digest of a long id."""
    if "~" in name:
        return None
    from urllib.parse import unquote_to_bytes  # brings ipaddress, and only listing sessions needs it

    try:
        session = unquote_to_bytes(name).decode()
    except UnicodeDecodeError:
        return None
    return session if session and encode_session_filename(session) == name else None


@lru_cache(maxsize=64)
def get_policy_path(home: str, digest: str) -> str:
    """Return the path of the stored policy with this digest; raise `LedgerError` when it is not a digest."""
    # The digest comes from a log entry: anything else could name a file outside `policies/`.
    if not (len(digest) == 64 and digest.isalnum()):
        raise LedgerError(f"expected the digest of a policy, found `{digest}`")
    return f"{home}/policies/{digest}.json"


def has_stored_policy(home: Path, digest: str) -> bool:
    """Return whether the policy with this digest is stored."""
    try:
        os.stat(get_policy_path(os.fspath(home), digest))
    except OSError:
        return False
    return True


def create_database_file(path: str | Path) -> None:
    """Create an empty file for SQLite that only its owner can read, unless there is one."""
    # An existing file is not even opened: closing any descriptor of it would drop every POSIX lock that this process
    # holds on it, those of an open connection included. Another process would then believe that it is the last user
    # of the database, and delete its write-ahead log.
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return


def sync_directory(directory: Path) -> None:
    """Wait until the directory's entries (new files, renames) are on the disk."""
    _sync_path(directory, os.O_RDONLY | os.O_DIRECTORY)


def sync_file(path: Path) -> None:
    """Wait until everything written to a file, by any process, is on the disk."""
    _sync_path(path, os.O_RDONLY)


def _sync_path(path: Path, flags: int) -> None:
    fd = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, in as many system calls as needed."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
