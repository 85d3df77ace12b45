"""The files of a runs directory: JSON objects, written atomically under a lock."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from verdikt.errors import FindingError
from verdikt.observe.atomic_file import write_atomically

# A longer file was not written by us; it is refused instead of read into memory.
MAX_BYTES = 64 * 1024 * 1024


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    """Write a file atomically, and return when it is on the disk."""
    data = (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
    write_atomically(path, data, mode=None)


@contextmanager
def translate_write_errors(path: Path) -> Iterator[None]:
    """Raise a `FindingError` in place of what the system says about a path."""
    try:
        yield
    except OSError as error:
        raise FindingError(
            f"cannot write `{path}`: {error.strerror}; check the directory, or set VERDIKT_RUNS_DIR"
        ) from error


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold the lock of a file; wait while another process or thread holds it."""
    lock_path = path.with_name(path.name + ".lock")
    while True:
        with open(lock_path, "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                is_current = os.path.samestat(os.fstat(lock.fileno()), os.stat(lock_path))
            except FileNotFoundError:
                is_current = False
            # A purge may have deleted the lock file while we waited: then another process can hold a new one.
            if is_current:
                yield
                return


def read_document(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file; None when there is no file."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise FindingError(f"`{path.name}`: expected at most {MAX_BYTES} bytes, found more")
        document = json.loads(data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise FindingError(
            f"`{path.name}`: expected a JSON object, found a file that cannot be read ({error}); "
            "remove it and review again"
        ) from error
    if not isinstance(document, dict):
        raise FindingError(f"`{path.name}`: expected a JSON object, found something else; remove it and review again")
    return document
