"""The embedded store: `ledger/<session>.jsonl` as the log, `artifacts/` beside it, `state.db` for what is computed from it."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from json import loads as load
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from verdikt.errors import KeyringError, LedgerError
from verdikt.ledger.artifact_store import ArtifactStore
from verdikt.ledger.data_directory import make_private_directory
from verdikt.ledger.keys import Keyring
from verdikt.ledger.log_file import LogFile, hot_file_path
from verdikt.ledger.log_index import LogIndex
from verdikt.ledger.log_reader import LogReader
from verdikt.ledger.state_database import WAL_LIMIT_BYTES, StateDatabase
from verdikt.ledger.store import OPERATOR, LogWriter
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.entry import EntryKind
from verdikt.observe.clock import SystemClock

if TYPE_CHECKING:
    from verdikt.ledger.group_commit import GroupCommit
    from verdikt.ledger.log_index import PendingGap
    from verdikt.ledger.projections import Projection
    from verdikt.ledger.store import ChainHead, Signer
    from verdikt.model.entry import Entry
    from verdikt.observe.clock import Clock

T = TypeVar("T")

CHECKPOINT_INTERVAL = 256
"""How many entries may stand in a session before the next signed checkpoint."""

_MAX_OPEN_FILES = 64


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
        checkpoint_every: int = CHECKPOINT_INTERVAL,
        wal_limit_bytes: int = WAL_LIMIT_BYTES,
        group_commit: GroupCommit | None = None,
    ) -> None:
        """With `later`, threads may put off their wait for the disk, and heads are recorded when `record` is called."""
        self.home = make_private_directory(Path(home))
        self.reader = LogReader(make_private_directory(self.home / "ledger"))
        self.artifacts = ArtifactStore(self.home / "artifacts")
        self.state = StateDatabase(self.home / "state.db", wal_limit_bytes=wal_limit_bytes)
        self.clock = clock or SystemClock()
        self._index = LogIndex(self.state, self.reader, projections)
        self._durable = durable
        self._group_commit = group_commit
        self._checkpoint_every = checkpoint_every
        self._keyring: Keyring | None = None
        self._logs: OrderedDict[str, LogFile] = OrderedDict()
        self._lock = threading.Lock()
        self._pid = os.getpid()

    @property
    def keyring(self) -> Keyring:
        """The keys that sign this log."""
        if self._keyring is None:
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

    def update(self, session: str, fn: Callable[[LogWriter], T]) -> T:
        """Runs `fn` alone on the session: what it reads stays true until what it appends is in the log, all or nothing."""
        database = self._ensure_database()
        log = self._open_log(session)
        with log.lock_file():
            try:
                writer, torn = self._begin_update(session, log, database)
                before = writer.head.seq
                result = fn(writer)
                if writer.head.seq // self._checkpoint_every > before // self._checkpoint_every:
                    # Without a key the log goes on; `verify` tells how much of it no signature covers.
                    with suppress(KeyringError):
                        writer.append(EntryKind.CHECKPOINT, {"reason": "interval"})
                if writer.lines or writer.change_seqs:
                    self._commit_update(log, writer, torn)
            except BaseException:
                log.head = None  # what was found wrong on opening it is not written yet: the next one looks again
                raise
            written = log.write_count
        if writer.lines and not (self._group_commit and self._group_commit.defer_sync(log, written)):
            log.sync(written)
            self.state.truncate_long_wal()
        return result

    def read_entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """The entries after seq `since`, oldest first, each checked against the one before; `ChainBroken` where one fails."""
        return self.reader.read_entries(session, since=since)

    def read_head(self, session: str) -> ChainHead:
        """The last entry's place; seq 0 when there is none."""
        return self.reader.read_head(session)

    def list_sessions(self) -> list[str]:
        """Every session with at least one entry, sorted."""
        return self.reader.list_sessions()

    def read_projection(self, name: str, session: str) -> Any:
        """The state of a projection after the last entry; the caller's own copy."""
        if name in self._index.projections and not self.reader.has_session(session):
            return self._index.projections[name].create_initial_state()
        return load(encode_canonical(self.update(session, lambda log: log.read_projection(name))))

    def read_artifact(self, session: str, seq: int, name: str) -> bytes:
        """What was kept under that name with that entry."""
        return self.artifacts.read_artifact(session, seq, name)

    def append_checkpoint(self, session: str, reason: str = "session_end") -> Entry:
        """A signed entry that covers everything before it."""
        return self.append(session, EntryKind.CHECKPOINT, {"reason": reason})

    @contextmanager
    def lock_session(self, session: str) -> Iterator[None]:
        """Alone on the session's files, to replace them; what is remembered of them is looked at anew afterwards."""
        log = self._open_log(session)
        with log.lock_file():
            try:
                yield
            finally:
                log.head = None

    def refold_session(self, session: str) -> None:
        """Takes account of archives that were deleted: the projections are folded from what remains, if anything does."""
        if self.reader.hot_file_path(session).exists():
            with self.lock_session(session):
                self._index.refold_session(session, self.reader.read_head(session))
        elif self.reader.has_session(session):
            self._index.refold_session(session, self.reader.read_head(session))
        else:
            with self.state.write_transaction() as db:
                db.forget_session(session)

    def reindex(self) -> int:
        """Rebuilds `state.db` from the log; how many sessions it took.

        A head that the log no longer reaches is written into the log as a gap before it is forgotten, and a session whose
        file is gone keeps its head, so rebuilding hides nothing.
        """
        self._index.move_damaged_aside(self.clock.now())
        self._ensure_database()
        sessions = self.list_sessions()
        for session in sessions:
            if not self.reader.hot_file_path(session).exists():
                self._index.refold_session(session, self.reader.read_head(session))
                continue
            log = self._open_log(session)
            with self.lock_session(session):
                log.head = None
                writer, torn = self._begin_update(session, log, self.state.read_identity())
                if writer.lines or writer.change_seqs:
                    self._commit_update(log, writer, torn)
                self._index.refold_session(session, writer.head)
            log.sync(log.write_count)
        return len(sessions)

    def record_heads(self) -> None:
        """Puts heads that were put off into `state.db`; what cannot be put there now is next time, and the log has it anyway."""
        self._index.record_heads()

    def flush_projections(self) -> None:
        """Stores the projections of every open session that `state.db` is behind with; what cannot be is folded later."""
        with self._lock:
            logs = list(self._logs.items())
        self._index.flush_projections(logs)

    def close(self) -> None:
        """Lets go of every file."""
        if os.getpid() == self._pid:
            self.record_heads()
            self.flush_projections()
        with self._lock:
            logs = list(self._logs.values())
            self._logs.clear()
        # Not under our lock, which an update that a log waits for may want.
        for log in logs:
            log.close()
        self.state.close()
        self.artifacts.close()

    def _open_log(self, session: str) -> LogFile:
        if os.getpid() != self._pid:
            # A fork shares our descriptors, and with them our locks: the child needs its own.
            self._pid, self._lock, self._logs = os.getpid(), threading.Lock(), OrderedDict()
            self._index.reset_after_fork()
        with self._lock:
            log = self._logs.get(session)
            if log is None:
                log = LogFile(hot_file_path(self.reader.ledger, session), durable=self._durable)
                self._logs[session] = log
                if len(self._logs) > _MAX_OPEN_FILES:
                    self._logs.popitem(last=False)[1].close_when_idle()
            else:
                self._logs.move_to_end(session)
            return log

    def _begin_update(self, session: str, log: LogFile, database: tuple[int, int] | None) -> tuple[LogWriter, int]:
        """A writer at the end of the session, with a gap entry for whatever was found wrong there."""
        wrong: list[PendingGap] = []
        stale: dict[str, int] = {}
        torn = 0
        if not log.is_unchanged() or log.database_identity != database or database is None:
            wrong, torn, stale = self._index.reconcile_session(session, log)
        assert log.head is not None
        writer = LogWriter(
            session,
            log.head,
            now=self.clock.now,
            signer=self._load_signer,
            projections=self._index.projections,
            load_state=log.states.__getitem__,
        )
        for name, seq in stale.items():
            writer.read_projection(name)
            writer.change_seqs[name] = seq
        for each in wrong:
            writer.append(EntryKind.GAP, each.body, artifacts=each.artifacts or None)
        return writer, torn

    def _load_signer(self) -> Signer:
        return self.keyring.get_signing_key()

    def _commit_update(self, log: LogFile, writer: LogWriter, torn_bytes: int) -> None:
        write = partial(self._write_entries, log, writer, torn_bytes)
        self._index.commit_update(log, writer, write, defer_head=bool(self._group_commit))

    def _write_entries(self, log: LogFile, writer: LogWriter, torn_bytes: int) -> None:
        if not writer.lines:
            return
        for seq, artifacts in writer.artifacts:
            try:
                self.artifacts.write_artifacts(writer.session, seq, artifacts, durable=self._durable)
            except OSError as error:
                raise LedgerError(
                    f"cannot write artifacts in `{self.artifacts.directory}`: {error.strerror}; free some space or make it writable"
                ) from error
        log.append_bytes(b"".join(writer.lines), torn_bytes=torn_bytes)

    def _ensure_database(self) -> tuple[int, int] | None:
        """Which `state.db` there is. One that had to be begun anew is told in the log: heads that only it knew went with it."""
        database = self.state.read_identity()
        if database is not None:
            return database
        sessions = self.reader.list_sessions()
        with self.state.hold_connection():
            pass
        if sessions:
            self.append(OPERATOR, EntryKind.GAP, {"reason": "state.db was missing", "sessions": len(sessions)})
        return self.state.read_identity()
