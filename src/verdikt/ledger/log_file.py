"""The files of one session's log: the hot file with its lock and its durable writes, and the archives."""

from __future__ import annotations

import errno
import fcntl
import gzip
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from verdikt.errors import ChainBroken, LedgerError
from verdikt.ledger.data_directory import encode_session_filename, sync_directory, sync_file, write_all
from verdikt.ledger.state_database import IndexedSession
from verdikt.model.entry import decode_entry
from verdikt.model.lazy_regex import compile_lazily
from verdikt.observe.clock import SystemClock

if TYPE_CHECKING:
    from verdikt.model.chain_head import ChainHead
    from verdikt.model.entry import Entry

LOCK_TIMEOUT_SECONDS = 8.0
"""How long to wait for a session's lock: less than a host waits for its hook, so that the hook can still report it."""

CHUNK_BYTES = 1 << 16
_LOCK_RETRY_SECONDS = 0.01
_ARCHIVE_FILENAME = compile_lazily(r"(.+)\.([0-9]+)-([0-9]+)\.jsonl\.gz")


class LogFile:
    """A session's `.jsonl`, opened for appending. One thread of one process holds its lock at a time."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self.path = path
        self.head: ChainHead | None = None
        """Where the chain ended when we last held the lock; None when the file must be read again."""
        self.size = -1
        self._size_at_lock = -1
        self.indexed = IndexedSession()
        """What this process knows of the session in `state.db`."""
        self._path_text = str(path)
        self._durable = durable
        self._close_when_unlocked = False
        self._thread_lock = threading.RLock()
        self._busy = False
        self._sync_condition = threading.Condition()
        self._syncing = False
        self._waiters = 0
        self._writes_begun = 0
        self.write_count = 0
        """Number of writes so far; read under the lock, it is the argument for `sync`."""
        self._sync_count = self._writeback_count = 0
        self._lost_count = 0
        self._fd = -1

    def __enter__(self) -> None:
        """Exclude other threads and processes from the file now at the path."""
        if not self._thread_lock.acquire(timeout=LOCK_TIMEOUT_SECONDS):
            raise LedgerError(f"`{self.path}` is still being written for another call; check the disk")
        # The lock is reentrant only so that this thread gets here, and an error instead of waiting for itself.
        if self._busy:
            self._thread_lock.release()
            raise LedgerError(f"an update of `{self.path.name}` is already under way in this thread")
        self._busy = True
        try:
            self._lock_current_file()
        except BaseException:
            self._release_lock()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        finally:
            self._release_lock()

    def _release_lock(self) -> None:
        self._busy = False
        try:
            if self._close_when_unlocked:
                self.close()
        finally:
            self._thread_lock.release()

    def run_if_idle(self, action: Callable[[LogFile], None]) -> bool:
        """Call `action` unless an update is under way in this process; return whether it was called."""
        if not self._thread_lock.acquire(blocking=False):
            return False
        try:
            if not self._busy:
                action(self)
            return not self._busy
        finally:
            self._thread_lock.release()

    def close_when_idle(self) -> None:
        """Close the file, now or when the lock is released."""
        self._close_when_unlocked = True
        if self._thread_lock.acquire(blocking=False):
            try:
                if not self._busy:
                    self.close()
            finally:
                self._thread_lock.release()

    @property
    def fd(self) -> int:
        """Return the open file's descriptor."""
        return self._fd

    def is_unchanged(self) -> bool:
        """Return whether the file was not written since this process last wrote it. Call it under the lock."""
        return self.head is not None and self._size_at_lock == self.size

    def read_last_entry(self) -> tuple[Entry | None, bytes, bytes]:
        """Return the last entry, its line when it is damaged, and the torn bytes after it."""
        line, torn = read_tail(self._fd, os.fstat(self._fd).st_size)
        if torn:
            with suppress(ChainBroken):
                entry = decode_entry(torn + b"\n")  # complete except for its newline: nothing is lost
                os.write(self._fd, b"\n")
                return entry, b"", b""
        if not line:
            return None, b"", torn
        try:
            return decode_entry(line), b"", torn
        except ChainBroken:
            return None, line, torn
        except LedgerError as error:
            raise LedgerError(f"cannot append to `{self.path}`: {error}") from error

    def append_bytes(self, data: bytes, *, torn_bytes: int = 0) -> None:
        """Append all bytes or none, in place of the last `torn_bytes` bytes."""
        size = os.fstat(self._fd).st_size
        self._writes_begun += 1
        try:
            if torn_bytes:
                self._replace_tail(data, size - torn_bytes)
            else:
                write_all(self._fd, data)
        except OSError as error:
            if not torn_bytes:
                with suppress(OSError):
                    os.ftruncate(self._fd, size)
            self.head = None
            raise LedgerError(f"cannot write `{self.path}`: {error.strerror}; {_suggest_fix(error)}") from error
        self.size = size - torn_bytes + len(data)
        self.write_count = self._writes_begun

    def start_writeback(self) -> None:
        """Ask the system to begin writing, where it can, so that a later `sync` waits less."""
        # Only once before each sync: later lines go to the same block, which would be written again each time.
        if self._durable and self._writeback_count <= self._sync_count and hasattr(os, "posix_fadvise"):
            self._writeback_count = self.write_count
            # Linux starts writeback of pages that are declared unneeded, and keeps them until they are on the disk.
            with suppress(OSError):
                os.posix_fadvise(self._fd, max(self._size_at_lock, 0), 0, os.POSIX_FADV_DONTNEED)

    def sync(self, write_count: int) -> None:
        """Wait until that many writes are on the disk; one thread calls fsync for all that have written."""
        if not self._durable or not write_count:
            return
        with self._sync_condition:
            # The first thread to get here syncs; the others sleep, and are woken together when it is done.
            while self._syncing and self._sync_count < write_count and self._lost_count < write_count:
                self._wait_for_sync()
            if self._lost_count >= write_count:
                raise LedgerError(f"cannot write `{self.path}`: an earlier write failed; check the disk")
            if self._sync_count >= write_count:
                return
            self._syncing = True
        target_count, is_synced = self.write_count, False
        try:
            if self._fd >= 0:
                os.fsync(self._fd)
            else:
                sync_file(self.path)  # closed in between: any descriptor syncs the file's data
            is_synced = True
        except OSError as error:
            raise LedgerError(f"cannot write `{self.path}`: {error.strerror}; {_suggest_fix(error)}") from error
        finally:
            with self._sync_condition:
                self._syncing = False
                if is_synced:
                    self._sync_count = max(self._sync_count, target_count)
                else:
                    # After a failed fsync the kernel drops the pages that it could not write, those of lines begun
                    # meanwhile included: a later success proves nothing about them.
                    self._lost_count, self.head = self._writes_begun, None
                if self._waiters:
                    self._sync_condition.notify_all()

    def _wait_for_sync(self) -> None:
        self._waiters += 1
        self._sync_condition.wait()
        self._waiters -= 1

    def close(self) -> None:
        """Close the file; the next lock opens it again."""
        with self._thread_lock:
            self._close_file()

    def _close_file(self) -> None:
        """Close the file once no thread syncs it."""
        with self._sync_condition:
            while self._syncing:
                self._wait_for_sync()
            if self._fd >= 0:
                os.close(self._fd)
            self._fd = -1

    def _lock_current_file(self) -> None:
        while True:
            if self._fd < 0:
                self._open_file()
            self._acquire_flock()
            try:
                at_path = os.stat(self._path_text)
            except FileNotFoundError:
                at_path = None
            opened = os.fstat(self._fd)
            if at_path is not None and at_path.st_ino == opened.st_ino and at_path.st_dev == opened.st_dev:
                self._size_at_lock = opened.st_size
                return
            # Rotation put another file in its place while we waited for the lock.
            self._close_file()

    def _acquire_flock(self) -> None:
        """Lock the file against other processes, or raise `LedgerError` while the hook can still answer."""
        for attempt in range(int(LOCK_TIMEOUT_SECONDS / _LOCK_RETRY_SECONDS)):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                SystemClock().sleep(min(_LOCK_RETRY_SECONDS, 0.0005 * (attempt + 1)))
            else:
                return
        raise LedgerError(f"`{self.path}` is locked by another process; see who holds it with `fuser`, and end that")

    def _open_file(self) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
        self.head = None
        try:
            try:
                self._fd = os.open(self.path, flags)
            except FileNotFoundError:
                self._fd = os.open(self.path, flags | os.O_CREAT, 0o600)
            # Also for an empty file that was there: its creator may have been killed before its name was on the disk.
            if self._durable and not os.fstat(self._fd).st_size:
                sync_directory(self.path.parent)
        except OSError as error:
            raise LedgerError(f"cannot open `{self.path}`: {error.strerror}; {_suggest_fix(error)}") from error

    def _replace_tail(self, data: bytes, offset: int) -> None:
        # Not through the appending descriptor, which ignores offsets. The torn bytes are overwritten before the rest of
        # them is cut off, so that a kill in between leaves a torn line again, and never loses an entry.
        fd = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.lseek(fd, offset, os.SEEK_SET)
            write_all(fd, data)
            os.ftruncate(fd, offset + len(data))
        finally:
            os.close(fd)


def hot_file_path(ledger: Path, session: str) -> Path:
    """Return the path of a session's hot file."""
    return ledger / f"{encode_session_filename(session)}.jsonl"


class ArchiveSegment:
    """One archived stretch of a session's log: `<name>.<first>-<last>.jsonl.gz`."""

    def __init__(self, path: Path, first_seq: int, last_seq: int) -> None:
        self.path = path
        self.first_seq = first_seq
        self.last_seq = last_seq

    def read_lines(self) -> Iterator[bytes]:
        """Yield the lines, newlines included."""
        try:
            with gzip.open(self.path, "rb") as file:
                yield from file
        except (OSError, EOFError, zlib.error) as error:
            raise LedgerError(f"cannot read `{self.path}`: {error}; restore it from a backup") from error


def list_session_archives(ledger: Path, filename: str) -> list[ArchiveSegment]:
    """Return a session's archives, oldest first."""
    return sorted(
        (archive for owner, archive in iterate_archives(ledger) if owner == filename),
        key=lambda archive: (archive.first_seq, archive.last_seq),
    )


def iterate_archives(ledger: Path) -> Iterator[tuple[str, ArchiveSegment]]:
    """Yield every archive, with the file name of its session."""
    try:
        months = sorted(entry.name for entry in os.scandir(ledger / "_archive") if entry.is_dir())
    except FileNotFoundError:
        return
    for month in months:
        for file in sorted(os.listdir(ledger / "_archive" / month)):
            if match := _ARCHIVE_FILENAME.fullmatch(file):
                yield match[1], ArchiveSegment(ledger / "_archive" / month / file, int(match[2]), int(match[3]))


def read_last_archived_line(ledger: Path, session: str) -> bytes:
    """Return the last line of the session's newest archive; empty when it has none."""
    line = b""
    for archive in list_session_archives(ledger, encode_session_filename(session))[-1:]:
        for line in archive.read_lines():  # noqa: B007 - the last one is wanted
            pass
    return line


def read_tail(fd: int, size: int) -> tuple[bytes, bytes]:
    """Return the last complete line (newline included) and the torn bytes after it, reading no more than these need."""
    start, torn, line = size, b"", b""
    chunks: list[bytes] = []  # last one first; joined once, because a line may be long
    complete = False
    while start > 0:
        step = min(CHUNK_BYTES, start)
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


def _read_at(fd: int, count: int, offset: int) -> bytes:
    parts = []
    while count > 0 and (part := os.pread(fd, count, offset)):
        parts.append(part)
        count -= len(part)
        offset += len(part)
    return b"".join(parts)


def _suggest_fix(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "free some space and try again; nothing written before is lost"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "make it writable for this user, or set VERDIKT_HOME to another directory"
    if error.errno == errno.ENOENT:
        return "its directory was removed: put it back, or start this program again for a new log"
    return "check the disk"
