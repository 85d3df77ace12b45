"""Replace a file in one step."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import get_ident

DRAFT_SUFFIX = ".tmp"
"""How the name of a file ends that is still being written, or that a killed process left; rotation deletes those."""


def write_atomically(path: str | os.PathLike[str], data: bytes, *, mode: int | None = 0o600) -> None:
    """Replace a file: a reader finds the old content or the whole new one, also after a power cut.

    Each writer has a draft of its own, so that several processes may write the same file at once; the last one stays.
    The file gets exactly this mode; with None, the mode that the process gives to its new files.
    """
    directory, name = os.path.split(os.fspath(path))
    draft = os.path.join(directory, f".{name}.{os.getpid()}-{get_ident()}{DRAFT_SUFFIX}")
    with suppress(FileNotFoundError):
        os.unlink(draft)  # of a killed process that had the same number
    # O_EXCL: neither a link nor a pipe that was put there may lead the content elsewhere, or block.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(draft, flags, 0o666 if mode is None else 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.flush()
            os.fsync(descriptor)  # else a power cut could leave an empty file under the final name
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
