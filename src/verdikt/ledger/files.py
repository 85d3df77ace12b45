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
from verdikt.ledger.link import LOST, REWRITTEN
from verdikt.ledger.log import LogFile
from verdikt.ledger.path import DataPath
from verdikt.ledger.projection import by_name
from verdikt.ledger.reader import Reader
from verdikt.ledger.state import LONG_WAL, StateDb, StateRow
from verdikt.ledger.store import OPERATOR, Head, Writer
from verdikt.model.canonical import canonical
from verdikt.model.entry import EntryKind, decode
from verdikt.model.notation import load
from verdikt.model.value import Record, field
from verdikt.observe.clock import SystemClock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Any, TypeVar

    from verdikt.ledger.keys import Keyring
    from verdikt.ledger.later import Later
    from verdikt.ledger.projection import Projection
    from verdikt.ledger.state import HeadRow
    from verdikt.ledger.store import Signer
    from verdikt.model.entry import Entry
    from verdikt.observe.clock import Clock

    T = TypeVar("T")

CHECKPOINT_EVERY = 256
"""How many entries may stand in a session before the next signed checkpoint."""

STORE_EVERY = 32
"""Entries after which a process that goes on writing to a session stores its projections again; its head it always does.

Whoever comes next folds what was left, so this bounds what a new process may have to read.
"""

_OPEN_FILES = 64


def open_store(home: Path, clock: Clock | None = None, projections: tuple[Projection, ...] = ()) -> FileStore:
    """The store in a data directory, made if need be. Cheap: nothing is read before it is asked for."""
    return FileStore(home, clock, projections)


class _Gap(Record):
    """Something that was found wrong on opening a session, to be written into it first."""

    body: dict[str, Any]
    artifacts: dict[str, bytes] = field(default_factory=dict)


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
        self._projections = by_name(projections)
        self._labels = frozenset(projection.label for projection in projections)
        self._folded: dict[frozenset[str], frozenset[str]] = {}
        self._durable = durable
        self._later = later
        self._unrecorded: dict[str, LogFile] = {}
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
        if name in self._projections and not self.reader.exists(session):
            return self._projections[name].fresh()
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
                self._refold(session, self.reader.head(session))
        elif self.reader.exists(session):
            self._refold(session, self.reader.head(session))
        else:
            with self.state.writing() as db:
                db.forget(session)

    def reindex(self) -> int:
        """Rebuilds `state.db` from the log; how many sessions it took.

        A head that the log no longer reaches is written into the log as a gap before it is forgotten, and a session whose
        file is gone keeps its head, so rebuilding hides nothing.
        """
        self._set_damaged_state_aside()
        self._database()
        sessions = self.sessions()
        for session in sessions:
            if not self.reader.path(session).exists():
                self._refold(session, self.reader.head(session))
                continue
            log = self._log(session)
            with self.exclusive(session):
                log.head = None
                writer, torn = self._begin(session, log, self.state.identity())
                if writer.lines or writer.changed:
                    self._commit(log, writer, torn)
                self._refold(session, writer.head)
            log.sync(log.written)
        return len(sessions)

    def _refold(self, session: str, head: Head) -> None:
        with self.state.writing() as db:
            db.forget(session)
            states, changed = self._catch_up(session, None, head)
            self._put_states(db, session, states, changed)
            db.put_head(session, head, self._labels)

    def _put_states(self, db: StateDb, session: str, states: Mapping[str, Any], changed: Mapping[str, int]) -> None:
        for name, seq in changed.items():
            text = canonical(states[name]).decode()
            db.put_state(session, name, StateRow(self._projections[name].version, seq, text))

    def _set_damaged_state_aside(self) -> None:
        try:
            with self.state.reading() as db:
                db.contents()
        except LedgerError:
            self.state.close()
            aside = self.state.path.with_name(f"state.db.damaged-{int(self.clock.now())}")
            self.state.path.rename(aside)
            for ending in ("-wal", "-shm"):
                self.state.path.with_name(f"state.db{ending}").unlink(missing_ok=True)

    def record(self) -> None:
        """Puts heads that were put off into `state.db`; what cannot be put there now is next time, and the log has it anyway."""
        if not self._unrecorded or self.state.identity() is None:
            return  # one that is missing is begun anew by who tells of it in the log
        with self._lock:
            unrecorded, self._unrecorded = self._unrecorded, {}
        left = unrecorded
        try:
            with self.state.writing() as db:
                recorded = {
                    session: log
                    for session, log in unrecorded.items()
                    if log.quietly(partial(self._record, db, session))
                }
            left = {session: log for session, log in unrecorded.items() if session not in recorded}
            self.state.tidy()
        except LedgerError:
            pass
        if left:
            with self._lock:
                self._unrecorded = {**left, **self._unrecorded}

    def _record(self, db: StateDb, session: str, log: LogFile) -> None:
        """Moves a head on, unless somebody else has: then they knew more, and the next update looks at what they wrote."""
        if log.head is None or log.recorded is None or log.head == log.recorded:
            return
        folded = self._others(frozenset(log.behind))
        if db.move_head(session, log.recorded, log.head, folded):
            self._put_lags(db, session, log, log.behind)
            log.folded, log.recorded, log.marked = folded, log.head, frozenset(log.behind)
        else:
            log.head = None

    def flush(self) -> None:
        """Stores the projections of every open session that `state.db` is behind with; what cannot be is folded later."""
        with self._lock:
            logs = list(self._logs.items())
        for session, log in logs:
            if log.behind:
                with suppress(LedgerError), log.locked():
                    # If somebody else has written meanwhile, they have caught up.
                    if log.behind and log.unchanged() and log.database == self.state.identity():
                        assert log.head is not None
                        with self.state.writing() as db:
                            self._store(db, session, log, log.states, log.behind)
                            db.put_head(session, log.head, self._labels)
                        log.behind, log.folded, log.stored = {}, self._labels, log.head.seq
                        log.recorded, log.marked = log.head, frozenset()

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
            self.state.abandon()
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
        gaps, torn, stale = ([], 0, {})  # type: tuple[list[_Gap], int, dict[str, int]]
        if not log.unchanged() or log.database != database or database is None:
            gaps, torn, stale = self._reconcile(session, log)
        assert log.head is not None
        writer = Writer(
            session,
            log.head,
            now=self.clock.now,
            signer=self._signer,
            projections=self._projections,
            load=log.states.__getitem__,
        )
        for name, seq in stale.items():
            writer.project(name)
            writer.changed[name] = seq
        for gap in gaps:
            writer.append(EntryKind.GAP, gap.body, artifacts=gap.artifacts or None)
        return writer, torn

    def _signer(self) -> Signer:
        return self.keyring.current()

    def _reconcile(self, session: str, log: LogFile) -> tuple[list[_Gap], int, dict[str, int]]:
        """Compares the file's end with the recorded head, and brings the projections up to it."""
        entry, damaged, torn = log.last()
        with self.state.reading() as db:
            row = db.head(session)
        known = row.head if row else Head()
        if log.known is not None and known == log.recorded and log.known.seq > known.seq:
            known = log.known  # written since the row was, which nobody has touched
        gaps: list[_Gap] = []
        head = Head(entry.seq, entry.hash) if entry else self._before(session, damaged)
        if damaged:
            gaps.append(_Gap({"reason": "damaged", "line": damaged[:80].decode(errors="replace")}))
            head = known if known.seq > head.seq else Head(head.seq + 1, head.hash)
        elif known.seq > head.seq:
            gaps.append(_Gap({"reason": LOST, "after": head.seq, "head": _plain(known)}))
            head = known
        elif known.seq and not self._continues(session, known, head):
            gaps.append(_Gap({"reason": REWRITTEN, "head": _plain(known)}))
        if torn:
            gaps.append(_Gap({"reason": "torn", "bytes": len(torn)}, {"torn": torn}))
        log.states, stale = self._catch_up(session, row, head)
        log.behind, log.stored = {}, None
        log.folded, log.recorded, log.marked = (
            row.folded if row else frozenset(),
            row.head if row else None,
            frozenset(),
        )
        log.head, log.size = head, os.fstat(log.fd).st_size
        log.database = self.state.identity()
        return gaps, len(torn), stale

    def _before(self, session: str, damaged: bytes) -> Head:
        """Where the chain ends when the hot file has no legible last line."""
        if not damaged:
            line = self.reader.last_archived(session)
            entry = decode(line) if line else None
        else:
            entry = None
            for entry in self.reader.legible(session):  # noqa: B007 - the last one is wanted
                pass
        return Head(entry.seq, entry.hash) if entry else Head()

    def _continues(self, session: str, known: Head, head: Head) -> bool:
        """Whether the chain that ends at `head` goes through the head that was recorded before."""
        if known.seq == head.seq:
            return known.hash == head.hash
        following = next(self.reader.legible(session, since=known.seq), None)
        return following is not None and following.prev == known.hash

    def _catch_up(self, session: str, row: HeadRow | None, head: Head) -> tuple[dict[str, Any], dict[str, int]]:
        """Every projection's state at the head; and which of them changed since they were stored, by which entry."""
        states: dict[str, Any] = {}
        since: dict[str, int] = {}
        with self.state.reading() as db:
            lag = db.lag(session)
            for name, projection in self._projections.items():
                stored = db.state(session, name)
                folded = row.head.seq if row and projection.label in row.folded else lag.get(projection.label, 0)
                # A mark beyond the head was made by somebody else: what stands beside it proves nothing.
                usable = folded <= head.seq and (not stored or stored.version == projection.version)
                since[name] = folded if usable else 0
                states[name] = load(stored.text) if stored and since[name] else projection.fresh()
        changed: dict[str, int] = {}
        if any(folded < head.seq for folded in since.values()):
            for entry in self.reader.legible(session, since=min(since.values())):
                for name, projection in self._projections.items():
                    if since[name] < entry.seq <= head.seq and projection.concerns(entry):
                        states[name] = projection.fold(states[name], entry)
                        changed[name] = entry.seq
        return states, changed

    def _commit(self, log: LogFile, writer: Writer, torn: int) -> None:
        """The log, the head and now and then the projections, in one transaction of `state.db`; the log is what counts."""
        states, behind = {**log.states, **writer.states}, {**log.behind, **writer.changed}
        complete = log.stored is None or writer.head.seq - log.stored >= STORE_EVERY
        if complete or not self._later:
            self._commit_all(log, writer, torn, states, behind, complete=complete)
        else:
            self._write(log, writer, torn)
            with self._lock:
                self._unrecorded[writer.session] = log
        log.head = log.known = writer.head
        log.states, log.behind = states, {} if complete else behind

    def _commit_all(
        self,
        log: LogFile,
        writer: Writer,
        torn: int,
        states: Mapping[str, Any],
        behind: Mapping[str, int],
        *,
        complete: bool,
    ) -> None:
        folded = self._labels if complete else self._others(frozenset(behind))
        with self.state.writing() as db:
            if complete:
                self._store(db, writer.session, log, states, behind)
            else:
                self._put_lags(db, writer.session, log, behind)
            db.put_head(writer.session, writer.head, folded)
            self._write(log, writer, torn)
        log.folded, log.recorded, log.marked = folded, writer.head, frozenset() if complete else frozenset(behind)
        log.stored = writer.head.seq if complete else log.stored

    def _put_lags(self, db: StateDb, session: str, log: LogFile, behind: Mapping[str, int]) -> None:
        """Marks up to where the states in `state.db` are folded that were not behind when its head was recorded."""
        assert log.recorded is not None
        for name in behind.keys() - log.marked:
            db.put_lag(session, self._projections[name].label, log.recorded.seq)

    def _others(self, behind: frozenset[str]) -> frozenset[str]:
        """The labels of the projections that are not behind."""
        found = self._folded.get(behind)
        if found is None:
            labels = {self._projections[name].label for name in behind}
            found = self._folded[behind] = self._labels - labels
        return found

    def _store(
        self, db: StateDb, session: str, log: LogFile, states: Mapping[str, Any], behind: Mapping[str, int]
    ) -> None:
        """Puts every state that is behind into `state.db`, and the marks of those that only others know."""
        self._put_states(db, session, states, behind)
        if log.folded != self._labels:
            for label in log.folded - self._labels:
                assert log.recorded is not None
                db.put_lag(session, label, log.recorded.seq)
            for label in self._labels:
                db.drop_lag(session, label)

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


def _plain(head: Head) -> dict[str, Any]:
    return {"seq": head.seq, "hash": head.hash}
