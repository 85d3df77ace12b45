"""What a file holds, as a digest."""

import os
import stat

from verdikt.model.canonical_json import sha256_hex

MAX_BYTES = 16 * 1024 * 1024
"""Bytes of a file that are read; a larger one has no digest."""


def digest_file(path: str) -> str:
    """SHA-256 of a regular file's contents; empty when there is none, or it is too large."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return ""
        with open(fd, "rb", closefd=False) as file:
            return sha256_hex(file.read(MAX_BYTES + 1))
    except OSError:
        return ""
    finally:
        os.close(fd)
