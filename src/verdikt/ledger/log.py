"""One session's file while it is open: its lock, its tail, and the durable write at its end."""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import suppress

from verdikt.errors import ChainBroken, LedgerError
from verdikt.ledger.home import sync_directory, sync_file, write_all
from verdikt.ledger.segment import tail
from verdikt.model.entry import decode
from verdikt.observe.clock import SystemClock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from verdikt.ledger.store import Head
    from verdikt.model.entry import Entry


WAIT_SECONDS = 8.0
"""How long a session's lock is waited for: less than a hook has, so that whoever keeps it only makes the hook say so."""

_NAP_SECONDS = 0.01


class LogFile:
    """A session's `.jsonl`, opened for appending. Its lock is held by one thread of one process at a time."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self.path = path
        self.head: Head | None = None
        """Where the chain ended when we last held the lock; None when nobody looked yet."""
        self.size = -1
        self._found = -1
        self.states: dict[str, Any] = {}
        """The projections' states at `head`; whoever folds them makes new ones."""
        self.behind: dict[str, int] = {}
        """The projections whose state in `state.db` is older, each with the entry that changed it last."""
        self.stored: int | None = None
        """The entry up to which `state.db` held every state when we last wrote them; None when we did not yet."""
        self.folded: frozenset[str] = frozenset()
        """Which projections `state.db` holds folded up to `head`."""
        self.recorded: Head | None = None
        """The head that `state.db` has; None when it has none, or nobody looked yet."""
        self.marked: frozenset[str] = frozenset()
        """The projections that `state.db` says are behind that head."""
        self.known: Head | None = None
        """The last head that we wrote, whatever became of the file since."""
        self.database: tuple[int, int] | None = None
        """Which `state.db` that was."""
        self._place = str(path)
        self._durable = durable
        self._retired = False
        self._thread = threading.RLock()
        self._busy = False
        self._told = threading.Condition()
        self._syncing = False
        self._waiters = 0
        self._begun = 0
        self.written = 0
        """How many writes there were; read under the lock, it is what to `sync` for."""
        self._synced = self._hastened = 0
        self._lost = 0
        self._fd = -1

    def locked(self) -> LogFile:
        """Inside `with`: alone on the session, against threads and processes; on the file that stands at the path now."""
        return self

    def __enter__(self) -> None:
        if not self._thread.acquire(timeout=WAIT_SECONDS):
            raise LedgerError(f"`{self.path}` is still being written for another call; check the disk")
        if self._busy:
            self._thread.release()
            raise LedgerError(f"an update of `{self.path.name}` is already under way in this thread")
        self._busy = True
        try:
            self._lock_file()
        except BaseException:
            self._unlock()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        finally:
            self._unlock()

    def _unlock(self) -> None:
        self._busy = False
        try:
            if self._retired:
                self.close()
        finally:
            self._thread.release()

    def quietly(self, work: Callable[[LogFile], None]) -> bool:
        """Does something while no update is under way in this process; False, and nothing is done, while one is."""
        if not self._thread.acquire(blocking=False):
            return False
        try:
            if not self._busy:
                work(self)
            return not self._busy
        finally:
            self._thread.release()

    def retire(self) -> None:
        """Closes the file, now or when whoever holds its lock lets go."""
        self._retired = True
        if self._thread.acquire(blocking=False):
            try:
                if not self._busy:
                    self.close()
            finally:
                self._thread.release()

    @property
    def fd(self) -> int:
        """The open file."""
        return self._fd

    def unchanged(self) -> bool:
        """Whether nobody wrote since we last did, so that what we remember is still true. Only under the lock."""
        return self.head is not None and self._found == self.size

    def last(self) -> tuple[Entry | None, bytes, bytes]:
        """The last entry, its line when it is damaged, and the torn bytes after it."""
        line, torn = tail(self._fd, os.fstat(self._fd).st_size)
        if torn:
            with suppress(ChainBroken):
                entry = decode(torn + b"\n")  # whole but for its newline: nothing is lost
                os.write(self._fd, b"\n")
                return entry, b"", b""
        if not line:
            return None, b"", torn
        try:
            return decode(line), b"", torn
        except ChainBroken:
            return None, line, torn
        except LedgerError as error:
            raise LedgerError(f"cannot append to `{self.path}`: {error}") from error

    def write(self, data: bytes, *, over: int = 0) -> None:
        """Adds bytes at the end, in place of the last `over` torn ones; all of them or none."""
        size = os.fstat(self._fd).st_size
        self._begun += 1
        try:
            if over:
                self._replace(data, size - over)
            else:
                write_all(self._fd, data)
        except OSError as error:
            if not over:
                with suppress(OSError):
                    os.ftruncate(self._fd, size)
            self.head = None
            raise LedgerError(f"cannot write `{self.path}`: {error.strerror}; {_advice(error)}") from error
        self.size = size - over + len(data)
        self.written = self._begun

    def hasten(self) -> None:
        """Has the system begin with what was written, if it can, so that a `sync` in a while waits less.

        Once until then: what follows goes to the same block, which would be written again each time.
        """
        if self._durable and self._hastened <= self._synced and hasattr(os, "posix_fadvise"):
            self._hastened = self.written
            # Linux begins to write whatever is said not to be needed, and keeps it until it is on the disk.
            with suppress(OSError):
                os.posix_fadvise(self._fd, max(self._found, 0), 0, os.POSIX_FADV_DONTNEED)

    def sync(self, wanted: int) -> None:
        """Returns when that many writes are on the disk; one caller waits for the disk for all who have written."""
        if not self._durable or not wanted:
            return
        with self._told:
            # Whoever finds nobody at it does it; the others are woken when it is done, and need not take turns.
            while self._syncing and self._synced < wanted and self._lost < wanted:
                self._wait()
            if self._lost >= wanted:
                raise LedgerError(f"cannot write `{self.path}`: an earlier write failed; check the disk")
            if self._synced >= wanted:
                return
            self._syncing = True
        upto, done = self.written, False
        try:
            if self._fd >= 0:
                os.fsync(self._fd)
            else:
                sync_file(self.path)  # closed in between: the data is in the file, whoever asks for it
            done = True
        except OSError as error:
            raise LedgerError(f"cannot write `{self.path}`: {error.strerror}; {_advice(error)}") from error
        finally:
            with self._told:
                self._syncing = False
                if done:
                    self._synced = max(self._synced, upto)
                else:
                    # The kernel forgets what it could not write, lines that were begun meanwhile among it: for all of
                    # those a later success proves nothing.
                    self._lost, self.head = self._begun, None
                if self._waiters:
                    self._told.notify_all()

    def _wait(self) -> None:
        self._waiters += 1
        self._told.wait()
        self._waiters -= 1

    def _shut(self) -> None:
        """Closes the file, when nobody waits for the disk with it."""
        with self._told:
            while self._syncing:
                self._wait()
            if self._fd >= 0:
                os.close(self._fd)
            self._fd = -1

    def close(self) -> None:
        """Lets go of the file."""
        with self._thread:
            self._shut()

    def _lock_file(self) -> None:
        while True:
            if self._fd < 0:
                self._open()
            self._take()
            try:
                there = os.stat(self._place)
            except FileNotFoundError:
                there = None
            here = os.fstat(self._fd)
            if there is not None and there.st_ino == here.st_ino and there.st_dev == here.st_dev:
                self._found = here.st_size
                return
            # rotation put another file in its place while we waited
            self._shut()

    def _take(self) -> None:
        """The lock of the file, against other processes; whoever keeps it must not keep a hook from answering."""
        for attempt in range(int(WAIT_SECONDS / _NAP_SECONDS)):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                SystemClock().sleep(min(_NAP_SECONDS, 0.0005 * (attempt + 1)))
            else:
                return
        raise LedgerError(f"`{self.path}` is locked by another process; see who holds it with `fuser`, and end that")

    def _open(self) -> None:
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
            raise LedgerError(f"cannot open `{self.path}`: {error.strerror}; {_advice(error)}") from error

    def _replace(self, data: bytes, at: int) -> None:
        # Not through the appending descriptor, which ignores offsets. Written over the torn bytes before the rest of them
        # is cut off, so that being killed in between leaves a torn line again and never an entry less.
        fd = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.lseek(fd, at, os.SEEK_SET)
            write_all(fd, data)
            os.ftruncate(fd, at + len(data))
        finally:
            os.close(fd)


def _advice(error: OSError) -> str:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "free some space and try again; nothing written before is lost"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "make it writable for this user, or set VERDIKT_HOME to another directory"
    return "check the disk"
