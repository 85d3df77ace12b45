"""The embedded store: `ledger/<session>.jsonl` as the log, `artifacts/` beside it, `state.db` for what is computed from it."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import contextmanager, suppress
from functools import partial

from verdikt.errors import KeyringError, LedgerError
from verdikt.ledger.artifact import Artifacts
from verdikt.ledger.home import make_private
from verdikt.ledger.index import LogIndex
from verdikt.ledger.log import LogFile
from verdikt.ledger.path import DataPath
from verdikt.ledger.reader import Reader
from verdikt.ledger.state import LONG_WAL, StateDb
from verdikt.ledger.store import OPERATOR, Writer
from verdikt.model.canonical import canonical
from verdikt.model.entry import EntryKind
from verdikt.model.notation import load
from verdikt.observe.clock import SystemClock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Any, TypeVar

    from verdikt.ledger.index import Wrong
    from verdikt.ledger.keys import Keyring
    from verdikt.ledger.later import Later
    from verdikt.ledger.projection import Projection
    from verdikt.ledger.store import Head, Signer
    from verdikt.model.entry import Entry
    from verdikt.observe.clock import Clock

    T = TypeVar("T")

CHECKPOINT_EVERY = 256
"""How many entries may stand in a session before the next signed checkpoint."""

_OPEN_FILES = 64


def open_store(home: Path, clock: Clock | None = None, projections: tuple[Projection, ...] = ()) -> FileStore:
    """The store in a data directory, made if need be. Cheap: nothing is read before it is asked for."""
    return FileStore(home, clock, projections)


class FileStore:
    """The log in files. Appending costs the same whatever the length; many threads and processes may append at once."""

    def __init__(
        self,
        home: Path,
        clock: Clock | None = None,
        projections: tuple[Projection, ...] = (),
        *,
        durable: bool = True,
        checkpoint_every: int = CHECKPOINT_EVERY,
        long_wal: int = LONG_WAL,
        later: Later | None = None,
    ) -> None:
        """With `later`, threads may put off their wait for the disk, and heads are recorded when `record` is called."""
        self.home = make_private(DataPath(home))
        self.reader = Reader(make_private(self.home / "ledger"))
        self.artifacts = Artifacts(self.home / "artifacts")
        self.state = StateDb(self.home / "state.db", long_wal=long_wal)
        self.clock = clock or SystemClock()
        self._index = LogIndex(self.state, self.reader, projections)
        self._durable = durable
        self._later = later
        self._checkpoint_every = checkpoint_every
        self._keyring: Keyring | None = None
        self._logs: OrderedDict[str, LogFile] = OrderedDict()
        self._lock = threading.Lock()
        self._pid = os.getpid()

    @property
    def keyring(self) -> Keyring:
        """The keys that sign this log."""
        if self._keyring is None:
            from verdikt.ledger.keys import Keyring

            self._keyring = Keyring(self.home / "keys", self.clock)
        return self._keyring

    def append(
        self,
        session: str,
        kind: EntryKind | str,
        body: Mapping[str, Any],
        *,
        sign: bool = False,
        artifacts: Mapping[str, bytes] | None = None,
    ) -> Entry:
        """Adds one entry and returns it once it is on the disk; `LedgerError` when it could not be written."""
        return self.update(session, lambda log: log.append(kind, body, sign=sign, artifacts=artifacts))

    def update(self, session: str, fn: Callable[[Writer], T]) -> T:
        """Runs `fn` alone on the session: what it reads stays true until what it appends is in the log, all or nothing."""
        database = self._database()
        log = self._log(session)
        with log.locked():
            try:
                writer, torn = self._begin(session, log, database)
                before = writer.head.seq
                result = fn(writer)
                if writer.head.seq // self._checkpoint_every > before // self._checkpoint_every:
                    # Without a key the log goes on; `verify` tells how much of it no signature covers.
                    with suppress(KeyringError):
                        writer.append(EntryKind.CHECKPOINT, {"reason": "interval"})
                if writer.lines or writer.changed:
                    self._commit(log, writer, torn)
            except BaseException:
                log.head = None  # what was found wrong on opening it is not written yet: the next one looks again
                raise
            written = log.written
        if writer.lines and not (self._later and self._later.takes(log, written)):
            log.sync(written)
            self.state.tidy()
        return result

    def entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """The entries after seq `since`, oldest first, each checked against the one before; `ChainBroken` where one fails."""
        return self.reader.entries(session, since=since)

    def head(self, session: str) -> Head:
        """The last entry's place; seq 0 when there is none."""
        return self.reader.head(session)

    def sessions(self) -> list[str]:
        """Every session with at least one entry, sorted."""
        return self.reader.sessions()

    def project(self, name: str, session: str) -> Any:
        """The state of a projection after the last entry; the caller's own copy."""
        if name in self._index.projections and not self.reader.exists(session):
            return self._index.projections[name].fresh()
        return load(canonical(self.update(session, lambda log: log.project(name))))

    def artifact(self, session: str, seq: int, name: str) -> bytes:
        """What was kept under that name with that entry."""
        return self.artifacts.read(session, seq, name)

    def checkpoint(self, session: str, reason: str = "session_end") -> Entry:
        """A signed entry that covers everything before it."""
        return self.append(session, EntryKind.CHECKPOINT, {"reason": reason})

    @contextmanager
    def exclusive(self, session: str) -> Iterator[None]:
        """Alone on the session's files, to replace them; what is remembered of them is looked at anew afterwards."""
        log = self._log(session)
        with log.locked():
            try:
                yield
            finally:
                log.head = None

    def shorten(self, session: str) -> None:
        """Takes account of archives that were deleted: the projections are folded from what remains, if anything does."""
        if self.reader.path(session).exists():
            with self.exclusive(session):
                self._index.refold(session, self.reader.head(session))
        elif self.reader.exists(session):
            self._index.refold(session, self.reader.head(session))
        else:
            with self.state.writing() as db:
                db.forget(session)

    def reindex(self) -> int:
        """Rebuilds `state.db` from the log; how many sessions it took.

        A head that the log no longer reaches is written into the log as a gap before it is forgotten, and a session whose
        file is gone keeps its head, so rebuilding hides nothing.
        """
        self._index.set_damaged_aside(self.clock.now())
        self._database()
        sessions = self.sessions()
        for session in sessions:
            if not self.reader.path(session).exists():
                self._index.refold(session, self.reader.head(session))
                continue
            log = self._log(session)
            with self.exclusive(session):
                log.head = None
                writer, torn = self._begin(session, log, self.state.identity())
                if writer.lines or writer.changed:
                    self._commit(log, writer, torn)
                self._index.refold(session, writer.head)
            log.sync(log.written)
        return len(sessions)

    def record(self) -> None:
        """Puts heads that were put off into `state.db`; what cannot be put there now is next time, and the log has it anyway."""
        self._index.record()

    def flush(self) -> None:
        """Stores the projections of every open session that `state.db` is behind with; what cannot be is folded later."""
        with self._lock:
            logs = list(self._logs.items())
        self._index.flush(logs)

    def close(self) -> None:
        """Lets go of every file."""
        if os.getpid() == self._pid:
            self.record()
            self.flush()
        with self._lock:
            logs = list(self._logs.values())
            self._logs.clear()
        # Not under our lock, which an update that a log waits for may want.
        for log in logs:
            log.close()
        self.state.close()

    def _log(self, session: str) -> LogFile:
        if os.getpid() != self._pid:
            # A fork shares our descriptors, and with them our locks: the child needs its own.
            self._pid, self._lock, self._logs = os.getpid(), threading.Lock(), OrderedDict()
            self._index.abandon()
        with self._lock:
            log = self._logs.get(session)
            if log is None:
                log = LogFile(self.reader.path(session), durable=self._durable)
                self._logs[session] = log
                if len(self._logs) > _OPEN_FILES:
                    self._logs.popitem(last=False)[1].retire()
            else:
                self._logs.move_to_end(session)
            return log

    def _begin(self, session: str, log: LogFile, database: tuple[int, int] | None) -> tuple[Writer, int]:
        """A writer at the end of the session, with a gap entry for whatever was found wrong there."""
        wrong: list[Wrong] = []
        stale: dict[str, int] = {}
        torn = 0
        if not log.unchanged() or log.database != database or database is None:
            wrong, torn, stale = self._index.reconcile(session, log)
        assert log.head is not None
        writer = Writer(
            session,
            log.head,
            now=self.clock.now,
            signer=self._signer,
            projections=self._index.projections,
            load=log.states.__getitem__,
        )
        for name, seq in stale.items():
            writer.project(name)
            writer.changed[name] = seq
        for each in wrong:
            writer.append(EntryKind.GAP, each.body, artifacts=each.artifacts or None)
        return writer, torn

    def _signer(self) -> Signer:
        return self.keyring.current()

    def _commit(self, log: LogFile, writer: Writer, torn: int) -> None:
        write = partial(self._write, log, writer, torn)
        self._index.commit(log, writer, write, put_off=bool(self._later))

    def _write(self, log: LogFile, writer: Writer, torn: int) -> None:
        if not writer.lines:
            return
        for seq, artifacts in writer.artifacts:
            try:
                self.artifacts.write(writer.session, seq, artifacts, durable=self._durable)
            except OSError as error:
                raise LedgerError(
                    f"cannot write artifacts in `{self.artifacts.directory}`: {error.strerror}; free some space or make it writable"
                ) from error
        log.write(b"".join(writer.lines), over=torn)

    def _database(self) -> tuple[int, int] | None:
        """Which `state.db` there is. One that had to be begun anew is told in the log: heads that only it knew went with it."""
        database = self.state.identity()
        if database is not None:
            return database
        sessions = self.reader.sessions()
        with self.state.reading():
            pass
        if sessions:
            self.append(OPERATOR, EntryKind.GAP, {"reason": "state.db was missing", "sessions": len(sessions)})
        return self.state.identity()
