"""Reading a log file: its tail, its lines, its lines from a given entry on; and the archives before it."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from json import loads as load
from pathlib import Path

from verdikt.errors import LedgerError
from verdikt.model.lazy_regex import compile_lazily

_CHUNK = 1 << 16
_ARCHIVE_FILENAME = compile_lazily(r"(.+)\.([0-9]+)-([0-9]+)\.jsonl\.gz")


def read_tail(fd: int, size: int) -> tuple[bytes, bytes]:
    """The last complete line (newline included) and the torn bytes after it, reading no more than these need."""
    start, torn, line = size, b"", b""
    chunks: list[bytes] = []  # last one first; joined once, because a line may be long
    complete = False
    while start > 0:
        step = min(_CHUNK, start)
        start -= step
        chunk = _read_at(fd, step, start)
        if not complete and (end := chunk.rfind(b"\n")) >= 0:
            torn = b"".join([chunk[end + 1 :], *reversed(chunks)])
            complete, chunks, chunk = True, [], chunk[: end + 1]
            begin = chunk.rfind(b"\n", 0, end)
        else:
            begin = chunk.rfind(b"\n") if complete else -1
        if complete and begin >= 0:
            chunks.append(chunk[begin + 1 :])
            break
        chunks.append(chunk)
    if complete:
        line = b"".join(reversed(chunks))
    else:
        torn = b"".join(reversed(chunks))
    return line, torn


def iterate_lines(fd: int, *, offset: int = 0) -> Iterator[bytes]:
    """The complete lines from an offset on, newlines included."""
    begun: list[bytes] = []
    while chunk := os.pread(fd, _CHUNK * 4, offset):
        offset += len(chunk)
        if b"\n" not in chunk:
            begun.append(chunk)
            continue
        first, *parts = chunk.split(b"\n")
        yield b"".join([*begun, first, b"\n"])
        begun = [parts.pop()]
        for part in parts:
            yield part + b"\n"


def find_offset(fd: int, size: int, since: int) -> int:
    """The offset of a line with a seq of at most `since` + 1, near it; found by halving, so in few reads."""
    low, high = 0, size
    while high - low > _CHUNK:
        middle = (low + high) // 2
        found = _find_line_after(fd, middle, high)
        if found is None:
            high = middle
            continue
        at, seq = found
        if seq is None:
            return 0  # damage: let the caller read from the beginning and meet it
        if seq <= since + 1:
            low = at
        else:
            high = middle
    return low


def parse_seq(line: bytes) -> int | None:
    """The seq that a line claims, or None when it is no entry."""
    try:
        seq = load(line)["seq"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return seq if isinstance(seq, int) else None


def _find_line_after(fd: int, offset: int, limit: int) -> tuple[int, int | None] | None:
    """The first line that begins after an offset and before the limit: where, and its seq."""
    data = b""
    at = offset
    begin = -1
    while at < limit or begin >= 0:
        chunk = os.pread(fd, _CHUNK, at)
        if not chunk:
            return None
        at += len(chunk)
        data += chunk
        if begin < 0:
            begin = data.find(b"\n") + 1 or -1
            if begin >= 0 and offset + begin >= limit:
                return None
        if begin >= 0 and (end := data.find(b"\n", begin)) >= 0:
            return offset + begin, parse_seq(data[begin : end + 1])
    return None


def _read_at(fd: int, count: int, offset: int) -> bytes:
    parts = []
    while count > 0 and (part := os.pread(fd, count, offset)):
        parts.append(part)
        count -= len(part)
        offset += len(part)
    return b"".join(parts)


class ArchiveSegment:
    """One archived stretch of a session's log: `<name>.<first>-<last>.jsonl.gz`."""

    def __init__(self, path: Path, first: int, last: int) -> None:
        self.path = path
        self.first_seq = first
        self.last_seq = last

    def read_lines(self) -> Iterator[bytes]:
        """Its lines, newlines included."""
        try:
            with gzip.open(self.path, "rb") as file:
                yield from file
        except (OSError, EOFError, zlib.error) as error:
            raise LedgerError(f"cannot read `{self.path}`: {error}; restore it from a backup") from error


def list_session_archives(ledger: Path, filename: str) -> list[ArchiveSegment]:
    """A session's archives, oldest first."""
    return sorted(
        (found for owner, found in iterate_archives(ledger) if owner == filename),
        key=lambda a: (a.first_seq, a.last_seq),
    )


def iterate_archives(ledger: Path) -> Iterator[tuple[str, ArchiveSegment]]:
    """Every archive, with the file name of its session."""
    try:
        months = sorted(entry.name for entry in os.scandir(ledger / "_archive") if entry.is_dir())
    except FileNotFoundError:
        return
    for month in months:
        for file in sorted(os.listdir(ledger / "_archive" / month)):
            if match := _ARCHIVE_FILENAME.fullmatch(file):
                yield match[1], ArchiveSegment(ledger / "_archive" / month / file, int(match[2]), int(match[3]))
