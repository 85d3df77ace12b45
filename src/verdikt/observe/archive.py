"""The names in an archive, listed without unpacking it and within bounds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from typing import IO, Any, cast

from verdikt.observe.regular_file import read_regular_file

MAX_ARCHIVE_BYTES = 32 * 1024 * 1024
"""Size of an archive that is read."""
MAX_UNPACKED_BYTES = 64 * 1024 * 1024
"""Bytes that are decompressed while its names are listed, so that a small file cannot expand without end."""
MAX_MEMBERS = 50_000


_OPENERS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
"""First bytes of a compressed archive → what opens it."""


class _LimitedReader:
    """A stream that fails after a number of bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = MAX_UNPACKED_BYTES

    def read(self, size: int = -1) -> bytes:
        """Return at most so many bytes; raise `OSError` beyond the limit."""
        data = self._stream.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        self._left -= len(data)
        if self._left < 0:
            raise OSError("the archive is too large to list")
        return data


def list_members(path: str) -> list[str] | None:
    """Return the names of the files and links in a tar or zip archive; None when it cannot be listed.

    Directories are left out: unpacking one over an existing directory changes nothing.
    """
    content = read_regular_file(path, MAX_ARCHIVE_BYTES)
    if content is None:
        return None
    stream = io.BytesIO(content)
    try:
        return _list_zip(stream) if content.startswith(b"PK") else _list_tar(stream, content[:6])
    except (OSError, EOFError, ValueError, tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, RuntimeError):
        return None


def _list_zip(stream: IO[bytes]) -> list[str] | None:
    with zipfile.ZipFile(stream) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        return names if len(names) <= MAX_MEMBERS else None


def _list_tar(stream: IO[bytes], head: bytes) -> list[str] | None:
    unpacked = next((opener(stream) for mark, opener in _OPENERS.items() if head.startswith(mark)), stream)
    names = []
    with tarfile.open(fileobj=cast("IO[bytes]", _LimitedReader(unpacked)), mode="r|") as archive:
        for member in archive:
            if not member.isdir():
                names.append(member.name)
            if len(names) > MAX_MEMBERS:
                return None
    return names
