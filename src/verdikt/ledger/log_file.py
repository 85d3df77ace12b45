"""One session's file while it is open: its lock, its tail, and the durable write at its end."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdikt.errors import ChainBroken, LedgerError
from verdikt.ledger.data_directory import sync_directory, sync_file, write_all
from verdikt.ledger.segment import read_tail
from verdikt.model.entry import decode_entry
from verdikt.observe.clock import SystemClock

if TYPE_CHECKING:
    from verdikt.ledger.store import ChainHead
    from verdikt.model.entry import Entry


WAIT_SECONDS = 8.0
"""How long a session's lock is waited for: less than a hook has, so that whoever keeps it only makes the hook say so."""

_LOCK_RETRY_SECONDS = 0.01


class LogFile:
    """A session's `.jsonl`, opened for appending. Its lock is held by one thread of one process at a time."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self.path = path
        self.head: ChainHead | None = None
        """Where the chain ended when we last held the lock; None when nobody looked yet."""
        self.size = -1
        self._size_at_lock = -1
        self.states: dict[str, Any] = {}
        """The projections' states at `head`; whoever folds them makes new ones."""
        self.stale_projections: dict[str, int] = {}
        """The projections whose state in `state.db` is older, each with the entry that changed it last."""
        self.last_stored_seq: int | None = None
        """The entry up to which `state.db` held every state when we last wrote them; None when we did not yet."""
        self.current_labels: frozenset[str] = frozenset()
        """Which projections `state.db` holds folded up to `head`."""
        self.database_head: ChainHead | None = None
        """The head that `state.db` has; None when it has none, or nobody looked yet."""
        self.lagging_projections: frozenset[str] = frozenset()
        """The projections that `state.db` says are behind that head."""
        self.last_written_head: ChainHead | None = None
        """The last head that we wrote, whatever became of the file since."""
        self.database_identity: tuple[int, int] | None = None
        """Which `state.db` that was."""
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
        """How many writes there were; read under the lock, it is what to `sync` for."""
        self._sync_count = self._writeback_count = 0
        self._lost_count = 0
        self._fd = -1

    def lock_file(self) -> LogFile:
        """Inside `with`: alone on the session, against threads and processes; on the file that stands at the path now."""
        return self

    def __enter__(self) -> None:
        if not self._thread_lock.acquire(timeout=WAIT_SECONDS):
            raise LedgerError(f"`{self.path}` is still being written for another call; check the disk")
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
        """Does something while no update is under way in this process; False, and nothing is done, while one is."""
        if not self._thread_lock.acquire(blocking=False):
            return False
        try:
            if not self._busy:
                action(self)
            return not self._busy
        finally:
            self._thread_lock.release()

    def close_when_idle(self) -> None:
        """Closes the file, now or when whoever holds its lock lets go."""
        self._close_when_unlocked = True
        if self._thread_lock.acquire(blocking=False):
            try:
                if not self._busy:
                    self.close()
            finally:
                self._thread_lock.release()

    @property
    def fd(self) -> int:
        """The open file."""
        return self._fd

    def is_unchanged(self) -> bool:
        """Whether nobody wrote since we last did, so that what we remember is still true. Only under the lock."""
        return self.head is not None and self._size_at_lock == self.size

    def read_last_entry(self) -> tuple[Entry | None, bytes, bytes]:
        """The last entry, its line when it is damaged, and the torn bytes after it."""
        line, torn = read_tail(self._fd, os.fstat(self._fd).st_size)
        if torn:
            with suppress(ChainBroken):
                entry = decode_entry(torn + b"\n")  # whole but for its newline: nothing is lost
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
        """Adds bytes at the end, in place of the last `over` torn ones; all of them or none."""
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
        """Has the system begin with what was written, if it can, so that a `sync` in a while waits less.

        Once until then: what follows goes to the same block, which would be written again each time.
        """
        if self._durable and self._writeback_count <= self._sync_count and hasattr(os, "posix_fadvise"):
            self._writeback_count = self.write_count
            # Linux begins to write whatever is said not to be needed, and keeps it until it is on the disk.
            with suppress(OSError):
                os.posix_fadvise(self._fd, max(self._size_at_lock, 0), 0, os.POSIX_FADV_DONTNEED)

    def sync(self, write_count: int) -> None:
        """Returns when that many writes are on the disk; one caller waits for the disk for all who have written."""
        if not self._durable or not write_count:
            return
        with self._sync_condition:
            # Whoever finds nobody at it does it; the others are woken when it is done, and need not take turns.
            while self._syncing and self._sync_count < write_count and self._lost_count < write_count:
                self._wait_for_sync()
            if self._lost_count >= write_count:
                raise LedgerError(f"cannot write `{self.path}`: an earlier write failed; check the disk")
            if self._sync_count >= write_count:
                return
            self._syncing = True
        upto, done = self.write_count, False
        try:
            if self._fd >= 0:
                os.fsync(self._fd)
            else:
                sync_file(self.path)  # closed in between: the data is in the file, whoever asks for it
            done = True
        except OSError as error:
            raise LedgerError(f"cannot write `{self.path}`: {error.strerror}; {_suggest_fix(error)}") from error
        finally:
            with self._sync_condition:
                self._syncing = False
                if done:
                    self._sync_count = max(self._sync_count, upto)
                else:
                    # The kernel forgets what it could not write, lines that were begun meanwhile among it: for all of
                    # those a later success proves nothing.
                    self._lost_count, self.head = self._writes_begun, None
                if self._waiters:
                    self._sync_condition.notify_all()

    def _wait_for_sync(self) -> None:
        self._waiters += 1
        self._sync_condition.wait()
        self._waiters -= 1

    def _close_file(self) -> None:
        """Closes the file, when nobody waits for the disk with it."""
        with self._sync_condition:
            while self._syncing:
                self._wait_for_sync()
            if self._fd >= 0:
                os.close(self._fd)
            self._fd = -1

    def close(self) -> None:
        """Lets go of the file."""
        with self._thread_lock:
            self._close_file()

    def _lock_current_file(self) -> None:
        while True:
            if self._fd < 0:
                self._open_file()
            self._acquire_flock()
            try:
                there = os.stat(self._path_text)
            except FileNotFoundError:
                there = None
            here = os.fstat(self._fd)
            if there is not None and there.st_ino == here.st_ino and there.st_dev == here.st_dev:
                self._size_at_lock = here.st_size
                return
            # rotation put another file in its place while we waited
            self._close_file()

    def _acquire_flock(self) -> None:
        """The lock of the file, against other processes; whoever keeps it must not keep a hook from answering."""
        for attempt in range(int(WAIT_SECONDS / _LOCK_RETRY_SECONDS)):
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
            # Whoever made an empty one may have been killed before its name was on the disk.
            if self._durable and not os.fstat(self._fd).st_size:
                sync_directory(self.path.parent)
        except OSError as error:
            raise LedgerError(f"cannot open `{self.path}`: {error.strerror}; {_suggest_fix(error)}") from error

    def _replace_tail(self, data: bytes, offset: int) -> None:
        # Not through the appending descriptor, which ignores offsets. Written over the torn bytes before the rest of them
        # is cut off, so that being killed in between leaves a torn line again and never an entry less.
        fd = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.lseek(fd, offset, os.SEEK_SET)
            write_all(fd, data)
            os.ftruncate(fd, offset + len(data))
        finally:
            os.close(fd)


def _suggest_fix(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "free some space and try again; nothing written before is lost"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "make it writable for this user, or set VERDIKT_HOME to another directory"
    return "check the disk"
