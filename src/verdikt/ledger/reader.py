"""Reading the log's files, archives included, without a lock: what is complete is seen, what is being written is not."""

from __future__ import annotations

import fcntl
import os

from verdikt.errors import ChainBroken
from verdikt.ledger.link import linked
from verdikt.ledger.name import file_name, session_id
from verdikt.ledger.path import DataPath
from verdikt.ledger.segment import all_archives, archives, lines, seek, seq_of, tail
from verdikt.ledger.store import Head
from verdikt.model.entry import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdikt.model.entry import Entry


class Reader:
    """The sessions under `ledger/`."""

    def __init__(self, ledger: Path) -> None:
        self.ledger = ledger

    def path(self, session: str) -> Path:
        """The session's hot file."""
        return self.ledger / f"{file_name(session)}.jsonl"

    def exists(self, session: str) -> bool:
        """Whether there is a file of the session, hot or archived."""
        return self.path(session).exists() or bool(archives(self.ledger, file_name(session)))

    def entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """The entries after seq `since`, oldest first, each checked against the one before; `ChainBroken` where one fails."""
        try:
            yield from linked(self.lines(session, since=since), session)
        except ChainBroken as error:
            raise ChainBroken(f"session `{session}`: {error}; run `verdikt ledger verify`") from error

    def legible(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """The entries after seq `since` whose own hash holds; damaged lines are passed over."""
        for line in self.lines(session, since=since):
            try:
                yield decode(line)
            except ChainBroken:
                continue

    def lines(self, session: str, *, since: int = 0) -> Iterator[bytes]:
        """The lines after seq `since` as they are written, archives first; nothing is checked."""
        # The hot file is opened first: what rotation takes out of it after that is in the archives listed later.
        fd = _open(self.path(session))
        try:
            first = next((seq_of(line) for line in lines(fd)), None) if fd is not None else None
            if first is None or first > since + 1:
                for archive in archives(self.ledger, file_name(session)):
                    if archive.last > since:
                        yield from _after(archive.lines(), since)
                        since = archive.last
            if fd is not None:
                inside = first is not None and first <= since
                yield from _after(lines(fd, offset=seek(fd, os.fstat(fd).st_size, since) if inside else 0), since)
        finally:
            if fd is not None:
                os.close(fd)

    def entry(self, session: str, seq: int) -> Entry | None:
        """One entry, its own hash checked; None when there is none."""
        found = next(self.legible(session, since=seq - 1), None)
        return found if found is not None and found.seq == seq else None

    def head(self, session: str) -> Head:
        """The last complete entry's place; seq 0 when there is none."""
        line = self.last_line(session)
        if not line:
            return Head()
        entry = decode(line)
        return Head(entry.seq, entry.hash)

    def last_line(self, session: str) -> bytes:
        """The last complete line, of the newest archive when the hot file has none."""
        fd = _open(self.path(session))
        if fd is not None:
            try:
                line, _ = tail(fd, os.fstat(fd).st_size)
            finally:
                os.close(fd)
            if line:
                return line
        return self.last_archived(session)

    def torn(self, session: str) -> bytes:
        """What stands after the last newline of the hot file while nobody is writing."""
        fd = _open(self.path(session))
        if fd is None:
            return b""
        try:
            fcntl.flock(fd, fcntl.LOCK_SH)
            return tail(fd, os.fstat(fd).st_size)[1]
        finally:
            os.close(fd)

    def last_archived(self, session: str) -> bytes:
        """The last line of the newest archive."""
        line = b""
        for archive in archives(self.ledger, file_name(session))[-1:]:
            for line in archive.lines():  # noqa: B007 - the last one is wanted
                pass
        return line

    def sessions(self) -> list[str]:
        """Every session that has a file with something in it, sorted."""
        found = {name for name, _ in all_archives(self.ledger)}
        found |= {path.name.removesuffix(".jsonl") for path in self.hot() if path.stat().st_size > 0}
        return sorted(filter(None, map(self.session_of, found)))

    def session_of(self, name: str) -> str | None:
        """The session that a file's name stands for; None when it is not one of ours."""
        return session_id(name) or self._claimed(name)

    def hot(self) -> list[Path]:
        """The hot files, sorted."""
        try:
            with os.scandir(self.ledger) as directory:
                return sorted(DataPath(e.path) for e in directory if e.name.endswith(".jsonl") and e.is_file())
        except FileNotFoundError:
            return []

    def _claimed(self, name: str) -> str | None:
        """The session id of a file whose name was too long to keep it, as its first entry says."""
        fd = _open(self.ledger / f"{name}.jsonl")
        candidates = lines(fd) if fd is not None else archives(self.ledger, name)[0].lines()
        try:
            session = decode(next(candidates)).session
        except (StopIteration, ChainBroken):
            return None
        finally:
            if fd is not None:
                os.close(fd)
        return session if file_name(session) == name else None


def _after(found: Iterator[bytes], since: int) -> Iterator[bytes]:
    """Drops the lines up to seq `since` at the beginning; later ones are passed on whatever they claim."""
    for line in found:
        if since and (seq_of(line) or since + 1) <= since:
            continue
        yield line
        yield from found


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
