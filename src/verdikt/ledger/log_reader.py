"""Reading the log's files, archives included, without a lock: what is complete is seen, what is being written is not."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from verdikt.errors import ChainBroken
from verdikt.ledger.chain_reader import read_chain
from verdikt.ledger.segment import (
    find_offset,
    iterate_archives,
    iterate_lines,
    list_session_archives,
    parse_seq,
    read_tail,
)
from verdikt.ledger.session_filename import decode_session_filename, encode_session_filename
from verdikt.ledger.store import ChainHead
from verdikt.model.entry import decode_entry

if TYPE_CHECKING:
    from verdikt.model.entry import Entry


class LogReader:
    """The sessions under `ledger/`."""

    def __init__(self, ledger: Path) -> None:
        self.ledger = ledger

    def hot_file_path(self, session: str) -> Path:
        """The session's hot file."""
        return self.ledger / f"{encode_session_filename(session)}.jsonl"

    def has_session(self, session: str) -> bool:
        """Whether there is a file of the session, hot or archived."""
        return self.hot_file_path(session).exists() or bool(
            list_session_archives(self.ledger, encode_session_filename(session))
        )

    def read_entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """The entries after seq `since`, oldest first, each checked against the one before; `ChainBroken` where one fails."""
        try:
            yield from read_chain(self.read_lines(session, since=since), session)
        except ChainBroken as error:
            raise ChainBroken(f"session `{session}`: {error}; run `verdikt ledger verify`") from error

    def read_intact_entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """The entries after seq `since` whose own hash holds; damaged lines are passed over."""
        for line in self.read_lines(session, since=since):
            try:
                yield decode_entry(line)
            except ChainBroken:
                continue

    def read_lines(self, session: str, *, since: int = 0) -> Iterator[bytes]:
        """The lines after seq `since` as they are written, archives first; nothing is checked."""
        # The hot file is opened first: what rotation takes out of it after that is in the archives listed later.
        fd = _open_if_exists(self.hot_file_path(session))
        try:
            first = next((parse_seq(line) for line in iterate_lines(fd)), None) if fd is not None else None
            if first is None or first > since + 1:
                for archive in list_session_archives(self.ledger, encode_session_filename(session)):
                    if archive.last_seq > since:
                        yield from _drop_lines_until(archive.read_lines(), since)
                        since = archive.last_seq
            if fd is not None:
                inside = first is not None and first <= since
                yield from _drop_lines_until(
                    iterate_lines(fd, offset=find_offset(fd, os.fstat(fd).st_size, since) if inside else 0), since
                )
        finally:
            if fd is not None:
                os.close(fd)

    def read_entry(self, session: str, seq: int) -> Entry | None:
        """One entry, its own hash checked; None when there is none."""
        found = next(self.read_intact_entries(session, since=seq - 1), None)
        return found if found is not None and found.seq == seq else None

    def read_head(self, session: str) -> ChainHead:
        """The last complete entry's place; seq 0 when there is none."""
        line = self.read_last_line(session)
        if not line:
            return ChainHead()
        entry = decode_entry(line)
        return ChainHead(entry.seq, entry.hash)

    def read_last_line(self, session: str) -> bytes:
        """The last complete line, of the newest archive when the hot file has none."""
        fd = _open_if_exists(self.hot_file_path(session))
        if fd is not None:
            try:
                line, _ = read_tail(fd, os.fstat(fd).st_size)
            finally:
                os.close(fd)
            if line:
                return line
        return self.read_last_archived_line(session)

    def read_torn_tail(self, session: str) -> bytes:
        """What stands after the last newline of the hot file while nobody is writing."""
        fd = _open_if_exists(self.hot_file_path(session))
        if fd is None:
            return b""
        try:
            fcntl.flock(fd, fcntl.LOCK_SH)
            return read_tail(fd, os.fstat(fd).st_size)[1]
        finally:
            os.close(fd)

    def read_last_archived_line(self, session: str) -> bytes:
        """The last line of the newest archive."""
        line = b""
        for archive in list_session_archives(self.ledger, encode_session_filename(session))[-1:]:
            for line in archive.read_lines():  # noqa: B007 - the last one is wanted
                pass
        return line

    def list_sessions(self) -> list[str]:
        """Every session that has a file with something in it, sorted."""
        found = {name for name, _ in iterate_archives(self.ledger)}
        found |= {path.name.removesuffix(".jsonl") for path in self.list_hot_files() if path.stat().st_size > 0}
        return sorted(filter(None, map(self.find_session_id, found)))

    def find_session_id(self, filename: str) -> str | None:
        """The session that a file's name stands for; None when it is not one of ours."""
        return decode_session_filename(filename) or self._read_session_id(filename)

    def list_hot_files(self) -> list[Path]:
        """The hot files, sorted."""
        try:
            with os.scandir(self.ledger) as directory:
                return sorted(Path(e.path) for e in directory if e.name.endswith(".jsonl") and e.is_file())
        except FileNotFoundError:
            return []

    def _read_session_id(self, filename: str) -> str | None:
        """The session id of a file whose name was too long to keep it, as its first entry says."""
        fd = _open_if_exists(self.ledger / f"{filename}.jsonl")
        candidates = (
            iterate_lines(fd) if fd is not None else list_session_archives(self.ledger, filename)[0].read_lines()
        )
        try:
            session = decode_entry(next(candidates)).session
        except (StopIteration, ChainBroken):
            return None
        finally:
            if fd is not None:
                os.close(fd)
        return session if encode_session_filename(session) == filename else None


def _drop_lines_until(numbered_lines: Iterator[bytes], since: int) -> Iterator[bytes]:
    """Drops the lines up to seq `since` at the beginning; later ones are passed on whatever they claim."""
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
