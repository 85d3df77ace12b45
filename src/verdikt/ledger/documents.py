"""Policy files that were read before, kept by their content, so that a hook need not load a YAML parser.

Only data is kept, as JSON: whatever stands in these files, loading them runs nothing, and what a policy may say is checked
afterwards as it is for a file. A file that is not ours alone, or not what was written, counts as absent.
"""

import json
import os
import stat
from pathlib import Path
from typing import Any

from verdikt.model.canonical import sha256

KEEP = 64
"""How many documents are kept; the oldest go."""

MAX_BYTES = 1 << 25

_DIRECTORY = "documents"


class Documents:
    """Documents by the content of their files, for one version of verdikt."""

    def __init__(self, home: Path, version: str) -> None:
        self._home = os.fspath(home)
        self._directory = os.path.join(self._home, _DIRECTORY)
        self._version = version.encode()

    def get(self, data: bytes) -> Any:
        """What was kept for these bytes; None when nothing was, or when it cannot be trusted."""
        key = self._key(data)
        try:
            if not _private(os.lstat(self._directory), stat.S_ISDIR):
                return None
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(os.path.join(self._directory, key), flags)
        except OSError:
            return None
        try:
            with os.fdopen(descriptor, "rb") as file:
                if not _private(os.fstat(descriptor), stat.S_ISREG):
                    return None
                seal, _, kept = file.read(MAX_BYTES).partition(b"\n")
            return json.loads(kept) if seal.decode("ascii", "replace") == _seal(key, kept) else None
        except (OSError, ValueError, RecursionError):
            return None

    def put(self, data: bytes, document: Any) -> None:
        """Keeps a document for these bytes, where verdikt keeps its data already; what cannot be written is not kept."""
        key = self._key(data)
        draft = os.path.join(self._directory, f".draft-{os.getpid()}")
        try:
            if not os.path.isdir(self._home):
                return
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            if not _private(os.lstat(self._directory), stat.S_ISDIR):
                return
            # The order of keys is kept: rules are asked in the order in which they are written.
            kept = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_seal(key, kept).encode() + b"\n" + kept)
            os.replace(draft, os.path.join(self._directory, key))
            self._tidy()
        except (OSError, ValueError):
            try:
                os.unlink(draft)
            except OSError:
                return

    def _key(self, data: bytes) -> str:
        return sha256(self._version + b"\0" + data)

    def _tidy(self) -> None:
        with os.scandir(self._directory) as found:
            files = sorted(found, key=lambda each: each.stat(follow_symlinks=False).st_mtime_ns)
        for file in files[:-KEEP]:
            os.unlink(file.path)


def _private(status: os.stat_result, is_kind: Any) -> bool:
    """Whether it is of its kind, ours, and nobody else's to read or write."""
    return is_kind(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _seal(key: str, kept: bytes) -> str:
    """Binds what is kept to the file it was made from."""
    return sha256(key.encode() + b"\n" + kept)
