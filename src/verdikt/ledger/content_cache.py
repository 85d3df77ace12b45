"""Content-addressed caches in the data directory: computed files, found by the content they were computed from.

A cache file is readable by its owner only and carries a checksum; one that other users could have written, or that does
not match its checksum, counts as absent.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from threading import get_ident
from typing import Any

from verdikt.model.canonical_json import sha256_hex

MAX_FILES = 64
"""Number of files in one cache; the oldest are deleted."""

MAX_BYTES = 1 << 25


class ContentCache:
    """Content-addressed cache of bytes, for one version of the program that computes them."""

    __slots__ = ("_directory", "_home", "_version")

    def __init__(self, home: str, directory: str, version: str) -> None:
        self._home = home
        self._directory = f"{home}/{directory}"
        self._version = version.encode()

    def get(self, source: bytes) -> bytes | None:
        """Return the bytes cached for `source`; None when there are none, or when they cannot be trusted."""
        key = self._cache_key(source)
        try:
            if not _is_private(os.lstat(self._directory), stat.S_ISDIR):
                return None
            # O_NOFOLLOW and O_NONBLOCK: neither a link nor a pipe put there may redirect or block the hook.
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(f"{self._directory}/{key}", flags)
        except OSError:
            return None
        try:
            if not _is_private(os.fstat(descriptor), stat.S_ISREG):
                return None
            with open(descriptor, "rb", closefd=False) as file:
                checksum, _, content = file.read(MAX_BYTES).partition(b"\n")
            return content if checksum.decode("ascii", "replace") == _compute_checksum(key, content) else None
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def put(self, source: bytes, content: bytes) -> None:
        """Cache `content` for `source`, if the data directory exists; a failure to write is ignored."""
        key = self._cache_key(source)
        draft = f"{self._directory}/.draft-{os.getpid()}-{get_ident()}"
        try:
            # A cache must not be the first thing that creates the data directory: read-only commands use it too.
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
        with os.scandir(self._directory) as entries:
            files = sorted(entries, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns)
        for file in files[:-MAX_FILES]:
            os.unlink(file.path)


class DocumentCache:
    """Content-addressed cache of parsed policy files, so that a hook does not load the YAML parser.

    Documents are cached as JSON: loading them executes nothing, and a cached document is validated like a parsed one.
    """

    def __init__(self, home: Path, version: str) -> None:
        self._cache = ContentCache(os.fspath(home), "documents", version)

    def get(self, data: bytes) -> Any:
        """Return the document cached for the bytes of a policy file; None when there is none."""
        text = self._cache.get(data)
        try:
            return None if text is None else json.loads(text)
        except (ValueError, RecursionError):
            return None

    def put(self, data: bytes, document: Any) -> None:
        """Cache the document of a policy file, if the data directory exists; what JSON cannot hold is not cached."""
        try:
            # Keys are not sorted: rules are evaluated in the order in which they are written.
            text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
        except ValueError:
            return
        self._cache.put(data, text)


def _is_private(status: os.stat_result, is_type: Callable[[int], bool]) -> bool:
    """Return whether a file has the expected type, is ours, and is inaccessible to other users."""
    return is_type(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _compute_checksum(key: str, content: bytes) -> str:
    """Return a checksum that binds the content to its key, so that one cache file cannot stand in for another."""
    return sha256_hex(key.encode() + b"\n" + content)
