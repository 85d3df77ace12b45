"""What can be made again, kept so that it need not be: by the content it was made from, for its owner alone, sealed.

A file that is not ours alone, or not what was written, counts as absent.
"""

from __future__ import annotations

import os
import stat
from _thread import get_ident
from typing import Any

from verdikt.model.canonical_json import sha256_hex

MAX_FILES = 64
"""How many files are kept; the oldest go."""

MAX_BYTES = 1 << 25


class ContentCache:
    """Bytes by the content that they were made from, for one version of whoever made them."""

    __slots__ = ("_directory", "_home", "_version")

    def __init__(self, home: str, directory: str, version: str) -> None:
        self._home = home
        self._directory = f"{home}/{directory}"
        self._version = version.encode()

    def get(self, source: bytes) -> bytes | None:
        """What was kept for these bytes; None when nothing was, or when it cannot be trusted."""
        key = self._cache_key(source)
        try:
            if not _is_private(os.lstat(self._directory), stat.S_ISDIR):
                return None
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(f"{self._directory}/{key}", flags)
        except OSError:
            return None
        try:
            if not _is_private(os.fstat(descriptor), stat.S_ISREG):
                return None
            # `open` refuses a directory without closing its descriptor, so closing it stays ours.
            with open(descriptor, "rb", closefd=False) as file:
                seal, _, kept = file.read(MAX_BYTES).partition(b"\n")
            return kept if seal.decode("ascii", "replace") == _compute_checksum(key, kept) else None
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def put(self, source: bytes, content: bytes) -> None:
        """Keeps something for these bytes, where verdikt keeps its data already; what cannot be written is not kept."""
        key = self._cache_key(source)
        draft = f"{self._directory}/.draft-{os.getpid()}-{get_ident()}"
        try:
            if not os.path.isdir(self._home):
                return
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            if not _is_private(os.lstat(self._directory), stat.S_ISDIR):
                return
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(_compute_checksum(key, content).encode() + b"\n" + content)
            os.replace(draft, f"{self._directory}/{key}")
            self._evict_oldest()
        except OSError:
            try:
                os.unlink(draft)
            except OSError:
                return

    def _cache_key(self, source: bytes) -> str:
        return sha256_hex(self._version + b"\0" + source)

    def _evict_oldest(self) -> None:
        with os.scandir(self._directory) as found:
            files = sorted(found, key=lambda each: each.stat(follow_symlinks=False).st_mtime_ns)
        for file in files[:-MAX_FILES]:
            os.unlink(file.path)


def _is_private(status: os.stat_result, is_kind: Any) -> bool:
    """Whether it is of its kind, ours, and nobody else's to read or write."""
    return is_kind(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _compute_checksum(key: str, content: bytes) -> str:
    """Binds what is kept to what it was made from."""
    return sha256_hex(key.encode() + b"\n" + content)
