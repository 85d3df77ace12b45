"""Reading the log's files, archives included, without a lock: complete lines are seen, a line being written is not."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator, Iterator
from contextlib import closing
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING

from verdikt.errors import ChainBroken
from verdikt.ledger.chain_reader import read_chain
from verdikt.ledger.data_directory import decode_session_filename, encode_session_filename
from verdikt.ledger.log_file import (
    CHUNK_BYTES,
    hot_file_path,
    iterate_archives,
    list_session_archives,
    read_last_archived_line,
    read_tail,
)
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import decode_entry

if TYPE_CHECKING:
    from verdikt.model.entry import Entry


class LogReader:
    """The sessions under `ledger/`."""

    def __init__(self, ledger: Path) -> None:
        self.ledger = ledger

    def hot_file_path(self, session: str) -> Path:
        """Return the path of the session's hot file."""
        return hot_file_path(self.ledger, session)

    def has_session(self, session: str) -> bool:
        """Return whether the session has a file, hot or archived."""
        return self.hot_file_path(session).exists() or bool(
            list_session_archives(self.ledger, encode_session_filename(session))
        )

    def read_entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """Yield the entries after seq `since`, oldest first; raise `ChainBroken` at one that does not follow."""
        # Closed here: the traceback of an error would keep the file open until cycles of objects are collected.
        with closing(self.read_lines(session, since=since)) as lines:
            try:
                yield from read_chain(lines, session)
            except ChainBroken as error:
                raise ChainBroken(f"session `{session}`: {error}; run `verdikt ledger verify`") from error

    def read_intact_entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """Yield the entries after seq `since` whose own hash is right; skip damaged lines."""
        for line in self.read_lines(session, since=since):
            try:
                yield decode_entry(line)
            except ChainBroken:
                continue

    def read_lines(self, session: str, *, since: int = 0) -> Generator[bytes, None, None]:
        """Yield the lines after seq `since` as they are in the files, archives first; nothing is verified."""
        # The hot file is opened first: what rotation takes out of it after that is in the archives listed later.
        fd = _open_if_exists(self.hot_file_path(session))
        try:
            first_seq = next((parse_seq(line) for line in iterate_lines(fd)), None) if fd is not None else None
            if first_seq is None or first_seq > since + 1:
                for archive in list_session_archives(self.ledger, encode_session_filename(session)):
                    if archive.last_seq > since:
                        yield from _drop_lines_until(archive.read_lines(), since)
                        since = archive.last_seq
            if fd is not None:
                starts_inside = first_seq is not None and first_seq <= since
                offset = find_offset(fd, os.fstat(fd).st_size, since) if starts_inside else 0
                yield from _drop_lines_until(iterate_lines(fd, offset=offset), since)
        finally:
            if fd is not None:
                os.close(fd)

    def read_entry(self, session: str, seq: int) -> Entry | None:
        """Return one entry, its own hash verified; None when there is none."""
        entry = next(self.read_intact_entries(session, since=seq - 1), None)
        return entry if entry is not None and entry.seq == seq else None

    def read_head(self, session: str) -> ChainHead:
        """Return where the chain ends after the last complete entry; seq 0 when there is none."""
        line = self.read_last_line(session)
        if not line:
            return ChainHead()
        entry = decode_entry(line)
        return ChainHead(entry.seq, entry.hash)

    def read_last_line(self, session: str) -> bytes:
        """Return the last complete line, of the newest archive when the hot file has none."""
        fd = _open_if_exists(self.hot_file_path(session))
        if fd is not None:
            try:
                line, _ = read_tail(fd, os.fstat(fd).st_size)
            finally:
                os.close(fd)
            if line:
                return line
        return read_last_archived_line(self.ledger, session)

    def read_torn_tail(self, session: str) -> bytes:
        """Return the bytes after the last newline of the hot file, once no process is writing it."""
        fd = _open_if_exists(self.hot_file_path(session))
        if fd is None:
            return b""
        try:
            # A writer holds the exclusive lock: under the shared one, an incomplete line is a torn one.
            fcntl.flock(fd, fcntl.LOCK_SH)
            return read_tail(fd, os.fstat(fd).st_size)[1]
        finally:
            os.close(fd)

    def list_sessions(self) -> list[str]:
        """Return every session that has a file which is not empty, sorted."""
        names = {name for name, _ in iterate_archives(self.ledger)}
        names |= {path.name.removesuffix(".jsonl") for path in self.list_hot_files() if path.stat().st_size > 0}
        # Names of very long ids hold only a digest; their first entry has the id.
        return sorted(filter(None, map(self.find_session_id, names)))

    def find_session_id(self, filename: str) -> str | None:
        """Return the session that a file belongs to; None when the file is foreign."""
        return decode_session_filename(filename) or self._read_session_id(filename)

    def list_hot_files(self) -> list[Path]:
        """Return the hot files, sorted."""
        try:
            with os.scandir(self.ledger) as directory:
                return sorted(Path(e.path) for e in directory if e.name.endswith(".jsonl") and e.is_file())
        except FileNotFoundError:
            return []

    def _read_session_id(self, filename: str) -> str | None:
        """Return the session id that the first entry of a file names; for names that end in a long id's digest."""
        fd = _open_if_exists(self.ledger / f"{filename}.jsonl")
        lines = iterate_lines(fd) if fd is not None else list_session_archives(self.ledger, filename)[0].read_lines()
        try:
            session = decode_entry(next(lines)).session
        except (StopIteration, ChainBroken):
            return None
        finally:
            if fd is not None:
                os.close(fd)
        return session if encode_session_filename(session) == filename else None


def parse_seq(line: bytes) -> int | None:
    """Return the seq that a line claims, or None when it is not an entry."""
    try:
        seq = loads(line)["seq"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return seq if isinstance(seq, int) else None


def iterate_lines(fd: int, *, offset: int = 0) -> Iterator[bytes]:
    """Yield the complete lines from an offset on, newlines included."""
    incomplete: list[bytes] = []
    while chunk := os.pread(fd, CHUNK_BYTES * 4, offset):
        offset += len(chunk)
        if b"\n" not in chunk:
            incomplete.append(chunk)
            continue
        # Lines are joined once they are complete: a line may be longer than a chunk.
        first, *parts = chunk.split(b"\n")
        yield b"".join([*incomplete, first, b"\n"])
        incomplete = [parts.pop()]
        for part in parts:
            yield part + b"\n"


def find_offset(fd: int, size: int, since: int) -> int:
    """Return the offset of a line near seq `since` + 1 and not after it, by binary search."""
    low, high = 0, size
    while high - low > CHUNK_BYTES:
        middle = (low + high) // 2
        located = _find_line_after(fd, middle, high)
        if located is None:
            high = middle
            continue
        offset, seq = located
        if seq is None:
            return 0  # damage: the caller reads from the beginning and finds it
        if seq <= since + 1:
            low = offset
        else:
            high = middle
    return low


def _find_line_after(fd: int, offset: int, limit: int) -> tuple[int, int | None] | None:
    """Return offset and seq of the first line that begins after an offset and before the limit."""
    data = b""
    position = offset
    begin = -1
    while position < limit or begin >= 0:
        chunk = os.pread(fd, CHUNK_BYTES, position)
        if not chunk:
            return None
        position += len(chunk)
        data += chunk
        if begin < 0:
            begin = data.find(b"\n") + 1 or -1
            if begin >= 0 and offset + begin >= limit:
                return None
        if begin >= 0 and (end := data.find(b"\n", begin)) >= 0:
            return offset + begin, parse_seq(data[begin : end + 1])
    return None


def _drop_lines_until(numbered_lines: Iterator[bytes], since: int) -> Iterator[bytes]:
    """Drop the leading lines up to seq `since`; later lines pass, whatever seq they claim."""
    for line in numbered_lines:
        if since and (parse_seq(line) or since + 1) <= since:
            continue
        yield line
        yield from numbered_lines


def _open_if_exists(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
