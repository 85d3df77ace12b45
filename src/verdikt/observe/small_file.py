"""Read a small text file. Bounded; never raises, never blocks."""

import os
import stat

from verdikt.observe.held_databases import open_unheld

MAX_BYTES = 2_000_000
"""Size up to which a file is read."""


def read_small_text(path: str) -> str | None:
    """Return the text of a regular file; None when it is too large, not text or not readable."""
    try:
        # O_NONBLOCK: a pipe of that name must not block the hook.
        fd = open_unheld(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return None
        with open(fd, "rb", closefd=False) as file:
            return file.read(MAX_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    finally:
        os.close(fd)
