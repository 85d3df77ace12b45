"""Read a file that an agent may have replaced by anything."""

from __future__ import annotations

import os
import stat

from verdikt.observe.held_databases import open_unheld


def read_regular_file(path: str, max_bytes: int, *, follow: bool = True) -> bytes | None:
    """Return the content of a regular file; None for anything else, and for a larger one.

    Never waits: a pipe or a device in the file's place is not opened for reading.
    """
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = open_unheld(path, flags)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > max_bytes:
            return None
        content = _read_all(descriptor, status.st_size, max_bytes)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return content if len(content) <= max_bytes else None


def _read_all(descriptor: int, size: int, max_bytes: int) -> bytes:
    """Return at most one byte more than the limit; a file object would cost more than reading a small file."""
    parts = []
    length = 0
    while length <= max_bytes:
        # One byte more than the file has: it may have grown, and a short read is the end.
        part = os.read(descriptor, min(max(size - length, 0) + 1, max_bytes + 1 - length))
        if not part:
            break
        parts.append(part)
        length += len(part)
    return b"".join(parts)
