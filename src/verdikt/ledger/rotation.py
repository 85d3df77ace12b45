"""Rotation: moves the old part of a log into archives, without a break in any chain.

A session is cut in three steps, each of which may be the last one before a power cut:

1. a signed `rotation` entry says where the cut will be: first and last seq, and the hash at the cut;
2. the lines up to there go into `_archive/<YYYY-MM>/<session>.<first>-<last>.jsonl.gz`, written beside it and renamed;
3. the hot file is replaced in one step by one without those lines, or removed when none remain.

Between 2 and 3 the lines are in both files: readers take each once, and the next rotation begins with step 3.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from verdikt.errors import LedgerError
from verdikt.ledger.archive import Archiver, write_gzip
from verdikt.ledger.data_directory import encode_session_filename, sync_directory
from verdikt.ledger.files import FileStore
from verdikt.ledger.log_file import ArchiveSegment, iterate_archives
from verdikt.ledger.log_reader import iterate_lines
from verdikt.ledger.store import OPERATOR
from verdikt.ledger.unsent_archives import UnsentArchives
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import Entry, EntryKind, decode_entry

ROTATION_LOG = "_rotate.log"
"""One line for each rotation."""

DAY_SECONDS = 86_400
ACTIVE_SECONDS = 3_600
"""Files touched more recently than this belong to a session that may be running, and are left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationPolicy:
    """When to archive, how much to leave in the hot file, when to delete."""

    hot_days: float = 30
    max_hot_bytes: int = 50_000_000
    keep_lines: int = 10_000
    keep_days: float = 365

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "RotationPolicy":
        """Return the defaults, with `EG_HOT_DAYS` and `EG_MAX_HOT_BYTES` where they are set."""
        defaults = cls()
        return cls(
            hot_days=_parse_number(env, "EG_HOT_DAYS", defaults.hot_days),
            max_hot_bytes=int(_parse_number(env, "EG_MAX_HOT_BYTES", defaults.max_hot_bytes)),
        )


@dataclass(slots=True)
class RotationReport:
    """The result of one rotation, by path; `active` files were skipped because they may be in use."""

    archived: list[Path] = field(default_factory=list)
    trimmed: list[Path] = field(default_factory=list)
    deleted: list[Path] = field(default_factory=list)
    active: list[Path] = field(default_factory=list)
    failed: dict[Path, str] = field(default_factory=dict)

    def to_record(self) -> dict[str, Any]:
        """Return the result as plain data."""
        paths = {name: [str(path) for path in getattr(self, name)] for name in ("archived", "trimmed", "deleted")}
        return {
            **paths,
            "active": [str(path) for path in self.active],
            "failed": {str(path): why for path, why in self.failed.items()},
        }


def rotate(store: FileStore, policy: RotationPolicy | None = None) -> RotationReport:
    """Archive what is old, trim what is too long, delete what is very old; leave running sessions alone."""
    try:
        return _Rotation(store, policy or RotationPolicy()).run()
    except OSError as error:
        raise LedgerError(
            f"cannot rotate `{error.filename or store.home}`: {error.strerror};"
            " nothing is lost, try again when it is writable"
        ) from error


def is_rotation_due(store: FileStore, policy: RotationPolicy) -> bool:
    """Return whether a session that is not in use is old or long enough to be rotated. Costs one `stat` per session."""
    now = store.clock.now()
    for path in store.reader.list_hot_files():
        try:
            stat = path.stat()
        except OSError:
            continue  # rotated by another process meanwhile
        age = now - stat.st_mtime
        is_large = stat.st_size > policy.max_hot_bytes
        if age > ACTIVE_SECONDS and stat.st_size and (is_large or age > policy.hot_days * DAY_SECONDS):
            return True
    return False


def rotate_and_record(store: FileStore, policy: RotationPolicy) -> RotationReport:
    """Rotate, and append what was done to `_rotate.log`."""
    report = rotate(store, policy)
    line = {"ts": int(store.clock.now() * 1_000_000), **report.to_record()}
    # For runs without a terminal, whose output is thrown away.
    with open(store.home / ROTATION_LOG, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return report


class _Rotation:
    def __init__(self, store: FileStore, policy: RotationPolicy) -> None:
        self._store = store
        self._reader = store.reader
        self._policy = policy
        self._now = store.clock.now()
        self._month = datetime.fromtimestamp(self._now, UTC).strftime("%Y-%m")
        self._report = RotationReport()

    def run(self) -> RotationReport:
        archived: dict[str, int] = {}
        for name, archive in iterate_archives(self._reader.ledger):
            archived[name] = max(archived.get(name, 0), archive.last_seq)
        for path in self._reader.list_hot_files():
            try:
                self._rotate_session(path, archived.get(path.stem, 0))
            except (LedgerError, OSError) as error:
                self._report.failed[path] = str(error)
        archiver = Archiver(
            self._store.home, self._now, self._month, self._policy.hot_days * DAY_SECONDS, ACTIVE_SECONDS
        )
        names = {name for name, _ in iterate_archives(self._reader.ledger)} - {
            path.stem for path in self._reader.list_hot_files()
        }
        self._report.archived += archiver.pack_artifacts(names)
        self._report.archived += archiver.compress_files("contracts", nested=True)
        self._report.archived += archiver.compress_files("overrides", nested=False)
        self._expire_sessions()
        self._report.deleted += archiver.delete_expired(self._policy.keep_days * DAY_SECONDS)
        return self._report

    def _rotate_session(self, path: Path, last_archived_seq: int) -> None:
        stat = path.stat()
        age = self._now - stat.st_mtime
        session = self._reader.find_session_id(path.stem)
        if session is None or stat.st_size == 0:
            return
        seqs = _HotFileLines(path).read_seqs()
        if not seqs:
            return  # the first write was cut short; the next append repairs it
        # Archived lines still in the hot file: the last rotation was stopped between steps 2 and 3.
        is_half_done = seqs[0] <= last_archived_seq
        # The operator's log introduces keys and sessions, and is read from its beginning.
        is_aged = session != OPERATOR and age > self._policy.hot_days * DAY_SECONDS
        if not (is_half_done or is_aged or stat.st_size > self._policy.max_hot_bytes):
            return
        if age < ACTIVE_SECONDS:
            self._report.active.append(path)
            return
        if is_half_done:
            self._finish_cut(session, path, last_archived_seq)
        elif is_aged:
            self._cut_session(session, path, keep_lines=0)
        else:
            self._cut_session(session, path, keep_lines=self._policy.keep_lines)

    def _finish_cut(self, session: str, path: Path, last_archived_seq: int) -> None:
        """Do step 3 of a rotation that was stopped after step 2."""
        with self._store.lock_session(session):
            hot_lines = _HotFileLines(path)
            self._replace_hot_file(path, hot_lines.find_end_offset(last_archived_seq), path.stat())
        (self._report.trimmed if path.exists() else self._report.archived).append(path)

    def _cut_session(self, session: str, path: Path, *, keep_lines: int) -> None:
        original_stat = path.stat()
        seqs = list(_HotFileLines(path).read_seqs())
        if len(seqs) <= keep_lines:
            return
        last = seqs[-keep_lines - 1] if keep_lines else seqs[-1]
        cut = self._reader.read_entry(session, last)
        if cut is None:
            raise LedgerError(f"entry {last} of `{path}` is damaged: run `verdikt ledger verify`")
        body = {"first": seqs[0], "last": last, "head": {"seq": cut.seq, "hash": cut.hash}, "month": self._month}
        # Step 1. Appending takes the lock, so the file is locked again for the cut.
        announced = self._store.append(session, EntryKind.ROTATION, body)
        with self._store.lock_session(session):
            hot_lines = _HotFileLines(path)
            hot_seqs = list(hot_lines.read_seqs())
            # One more entry may be the checkpoint that the rotation entry itself triggered.
            if hot_seqs[-1] > announced.seq + 1:
                self._report.active.append(path)  # the session is in use again: next time
                return
            # When nothing stays hot, the entry that says so goes into the archive too.
            last_archived = last if keep_lines else hot_seqs[-1]
            name = f"{encode_session_filename(session)}.{seqs[0]}-{last_archived}.jsonl.gz"
            write_gzip(
                self._reader.ledger / "_archive" / self._month / name, hot_lines.read_until(last_archived), self._now
            )
            self._replace_hot_file(path, hot_lines.find_end_offset(last_archived), original_stat)
        (self._report.trimmed if keep_lines else self._report.archived).append(path)

    def _replace_hot_file(self, path: Path, offset: int, original_stat: os.stat_result) -> None:
        """Replace the hot file by its content from an offset on, or remove it when that is empty."""
        if path.stat().st_size > offset:
            temporary = path.with_suffix(".tmp")
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with open(fd, "wb") as file:
                file.writelines(_read_chunks(path, offset, None))
                file.flush()
                os.fsync(fd)
            # Being cut is no use of the session: it must not look active because of it.
            os.utime(temporary, ns=(original_stat.st_atime_ns, original_stat.st_mtime_ns))
            temporary.replace(path)
        else:
            path.unlink()
        sync_directory(path.parent)

    def _expire_sessions(self) -> None:
        """Record in the operator's log where each chain will begin, then delete its oldest archives."""
        expired_archives = self._choose_expired_archives()
        cuts: dict[str, ChainHead] = {}
        for archive in expired_archives:
            entry = _read_last_entry(archive)
            if entry.seq > cuts.get(entry.session, ChainHead()).seq:
                cuts[entry.session] = ChainHead(entry.seq, entry.hash)
        if not cuts:
            return
        body = {"expired": {session: {"seq": head.seq, "hash": head.hash} for session, head in sorted(cuts.items())}}
        # Recorded and durable before anything is deleted, or the missing entries would look like tampering.
        self._store.append(OPERATOR, EntryKind.ROTATION, body)
        for archive in expired_archives:
            archive.path.unlink()
            self._report.deleted.append(archive.path)
        for session in cuts:
            self._store.refold_session(session)

    def _choose_expired_archives(self) -> list[ArchiveSegment]:
        """Return the archives that are to go; what a service does not have yet stays, as long as there is room."""
        limit = self._policy.keep_days * DAY_SECONDS
        # The operator's log stays: it introduces keys and sessions.
        archives = [named for named in iterate_archives(self._reader.ledger) if named[0] != OPERATOR]
        expired = [named for named in archives if self._now - named[1].path.stat().st_mtime > limit]
        unsent = UnsentArchives(self._store.home)
        dropped = unsent.choose_dropped(archives, expired)
        if dropped:
            self._record_dropped([archive for _, archive in dropped])
        return [named[1] for named in expired if named in dropped or not unsent.has(named)]

    def _record_dropped(self, archives: list[ArchiveSegment]) -> None:
        """Say in a signed entry what goes before it was sent; before it goes."""
        sessions: dict[str, dict[str, int]] = {}
        for archive in archives:
            span = sessions.setdefault(_read_last_entry(archive).session, {"first": archive.first_seq, "last": 0})
            span["first"] = min(span["first"], archive.first_seq)
            span["last"] = max(span["last"], archive.last_seq)
        self._store.append(OPERATOR, EntryKind.GAP, {"reason": "unsent", "sessions": sessions}, sign=True)


class _HotFileLines:
    """The complete lines of a hot file, by seq."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._end_offsets: dict[int, int] = {}

    def read_seqs(self) -> list[int]:
        """Return the seq of each line; raise `LedgerError` at a damaged one: damaged logs are evidence and stay."""
        if not self._end_offsets:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            end = 0
            try:
                for line in iterate_lines(fd):
                    end += len(line)
                    self._end_offsets[decode_entry(line).seq] = end
            except LedgerError as error:
                raise LedgerError(f"`{self._path}` is damaged and stays as it is: {error}") from error
            finally:
                os.close(fd)
        return list(self._end_offsets)

    def find_end_offset(self, seq: int) -> int:
        """Return the offset after the last line with a seq of at most this."""
        self.read_seqs()
        return max((end for line_seq, end in self._end_offsets.items() if line_seq <= seq), default=0)

    def read_until(self, last_seq: int) -> Iterator[bytes]:
        """Yield the bytes of the lines up to a seq."""
        return _read_chunks(self._path, 0, self.find_end_offset(last_seq))


def _read_chunks(path: Path, begin: int, end: int | None) -> Iterator[bytes]:
    """Yield a stretch of a file in pieces: a log may be larger than the memory."""
    with open(path, "rb") as file:
        file.seek(begin)
        while chunk := file.read(1 << 20 if end is None else min(1 << 20, end - file.tell())):
            yield chunk


def _read_last_entry(archive: ArchiveSegment) -> Entry:
    entry: Entry | None = None
    for line in archive.read_lines():
        entry = decode_entry(line)
    if entry is None:
        raise LedgerError(f"`{archive.path}` is empty: restore it from a backup")
    return entry


def _parse_number(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        raise LedgerError(f"expected a number in {name}, found `{text}`") from None
    if not 0 <= value < float("inf"):
        raise LedgerError(f"expected a number of 0 or more in {name}, found `{text}`")
    return value
