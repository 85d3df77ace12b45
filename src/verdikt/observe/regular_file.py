"""Read a file that an agent may have replaced by anything."""

from __future__ import annotations

import os
import stat


def read_regular_file(path: str, max_bytes: int, *, follow: bool = True) -> bytes | None:
    """Return the content of a regular file; None for anything else, and for a larger one.

    Never waits: a pipe or a device in the file's place is not opened for reading.
    """
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > max_bytes:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(max_bytes + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return content if len(content) <= max_bytes else None
