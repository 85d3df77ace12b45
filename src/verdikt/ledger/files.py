"""The store in files: `ledger/<session>.jsonl` is the log, `artifacts/` its outputs, `state.db` the projections."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from json import loads as load
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from verdikt.errors import KeyringError, LedgerError
from verdikt.ledger.artifact_store import ArtifactStore
from verdikt.ledger.chain_reader import GAP_DATABASE
from verdikt.ledger.data_directory import make_private_directory
from verdikt.ledger.log_file import LogFile, hot_file_path
from verdikt.ledger.log_index import LogIndex
from verdikt.ledger.log_reader import LogReader
from verdikt.ledger.state_database import WAL_LIMIT_BYTES, StateDatabase
from verdikt.ledger.store import OPERATOR, LogWriter, head_to_record
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import EntryKind
from verdikt.observe.clock import SystemClock
from verdikt.observe.watched_files import AnswerCache

if TYPE_CHECKING:
    from verdikt.ledger.group_commit import GroupCommit
    from verdikt.ledger.keys import Keyring
    from verdikt.ledger.projections import Projection
    from verdikt.ledger.store import Signer
    from verdikt.model.entry import Entry
    from verdikt.observe.clock import Clock

CHECKPOINT_INTERVAL = 256
"""Number of entries of a session from one signed checkpoint to the next."""

# Open log files that a store keeps. A process has 1,024 descriptors on most systems, and the host needs some too.
_MAX_OPEN_FILES = 64

# Grants and pauses that hold at the same time; a person seldom gives more than a few.
_MAX_OPERATOR_ENTRIES = 32


def open_store(home: Path, clock: Clock | None = None, projections: tuple[Projection, ...] = ()) -> FileStore:
    """Return the store in a data directory, which is created if it does not exist. Opening reads no log."""
    return FileStore(home, clock, projections)


class FileStore:
    """The log in files. Appending costs the same at any length; threads and processes may append concurrently."""

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
        """Open a store. With `group_commit`, threads may defer their fsync, and heads wait for `record_heads`."""
        self.home = make_private_directory(Path(home))
        self.reader = LogReader(make_private_directory(self.home / "ledger"))
        self.artifacts = ArtifactStore(self.home / "artifacts")
        self.state = StateDatabase(self.home / "state.db", wal_limit_bytes=wal_limit_bytes)
        self.clock = clock or SystemClock()
        self._index = LogIndex(self.state, self.reader, projections)
        self._durable = durable
        self._group_commit = group_commit
        self._checkpoint_every = checkpoint_every
        self.operator_entries: AnswerCache[tuple[Entry, list[Entry]] | None] = AnswerCache(_MAX_OPERATOR_ENTRIES)
        """Entries of the operator that were verified, each with those that follow it."""
        self._keyring: Keyring | None = None
        self._introduced_kids: set[str] = set()
        self._logs: OrderedDict[str, LogFile] = OrderedDict()
        self._lock = threading.Lock()
        self._pid = os.getpid()

    @property
    def keyring(self) -> Keyring:
        """The key ring that signs this log."""
        if self._keyring is None:
            from verdikt.ledger.keys import Keyring  # decisions are not signed one by one, so most calls need no key

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
        """Add one entry and return it once it is on the disk; raise `LedgerError` when it could not be written."""
        with self.session(session) as log:
            return log.append(kind, body, sign=sign, artifacts=artifacts)

    @contextmanager
    def session(self, session_id: str) -> Iterator[LogWriter]:
        """Lock one session for a `with` block; its entries are on the disk, all or none, when the block has ended."""
        database_identity = self._ensure_database()
        log = self._open_log(session_id)
        with log:
            try:
                writer, torn_bytes = self._open_writer(session_id, log, database_identity)
                first_seq = writer.head.seq
                is_new = first_seq == 0
                yield writer
                self._append_due_checkpoint(writer, first_seq)
                if writer.lines or writer.change_seqs:
                    self._commit_entries(log, writer, torn_bytes)
            except BaseException:
                # Damage that was found on opening has not been written as a gap yet: the next block must look again.
                log.head = None
                raise
            write_count = log.write_count
        # Outside the lock, so that other threads append meanwhile and one fsync serves all of them.
        if writer.lines and not (self._group_commit and self._group_commit.defer_sync(log, write_count)):
            log.sync(write_count)
            self.state.truncate_long_wal()
        if writer.lines and (is_new or writer.signed_entries):
            self._repeat_in_operator_log(writer, is_new=is_new)

    def read_entries(self, session: str, *, since: int = 0) -> Iterator[Entry]:
        """Yield the entries after seq `since`, oldest first; raise `ChainBroken` at the first that does not verify."""
        return self.reader.read_entries(session, since=since)

    def read_head(self, session: str) -> ChainHead:
        """Return the head of a session's chain; seq 0 when it has no entries."""
        return self.reader.read_head(session)

    def list_sessions(self) -> list[str]:
        """Return the ids of all sessions that have at least one entry, sorted."""
        return self.reader.list_sessions()

    def read_projection(self, name: str, session: str) -> Any:
        """Return a copy of the state of a projection after the last entry."""
        # Locking a session creates its file: one that was never written to must not appear by being read.
        if name in self._index.projections and not self.reader.has_session(session):
            return self._index.projections[name].create_initial_state()
        with self.session(session) as log:
            state = log.read_projection(name)
        return load(encode_canonical(state))

    def read_artifact(self, session: str, seq: int, name: str) -> bytes:
        """Return the artifact that was stored under that name with that entry."""
        return self.artifacts.read_artifact(session, seq, name)

    def append_checkpoint(self, session: str, reason: str = "session_end") -> Entry:
        """Append a signed entry that covers everything before it."""
        return self.append(session, EntryKind.CHECKPOINT, {"reason": reason})

    @contextmanager
    def lock_session(self, session: str) -> Iterator[None]:
        """Lock a session's files for a block that replaces them; they are read again afterwards."""
        log = self._open_log(session)
        with log:
            try:
                yield
            finally:
                log.head = None

    def refold_session(self, session: str) -> None:
        """Rebuild a session's projections from the files that remain, after archives were deleted."""
        if self.reader.hot_file_path(session).exists():
            with self.lock_session(session):
                self._index.refold_session(session, self.reader.read_head(session))
        elif self.reader.has_session(session):
            self._index.refold_session(session, self.reader.read_head(session))
        else:
            with self.state.write_transaction() as db:
                db.forget_session(session)

    def reindex(self) -> int:
        """Rebuild `state.db` from the log and return the number of sessions.

        A head that the log no longer reaches is written into the log as a gap before it is dropped, and a session whose
        file is missing keeps its head, so rebuilding hides no loss.
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
                writer, torn_bytes = self._open_writer(session, log, self.state.read_identity())
                if writer.lines or writer.change_seqs:
                    self._commit_entries(log, writer, torn_bytes)
                self._index.refold_session(session, writer.head)
            log.sync(log.write_count)
        return len(sessions)

    def record_heads(self) -> None:
        """Write deferred heads to `state.db`; a head that cannot be written now stays deferred, and the log has it."""
        if os.getpid() == self._pid:  # a forked child must not write the parent's
            self._index.record_heads()

    def flush_projections(self) -> None:
        """Write the projections of all open sessions to `state.db`; what cannot be written is folded later."""
        with self._lock:
            logs = list(self._logs.items())
        self._index.flush_projections(logs)

    def close(self) -> None:
        """Write what was deferred, and close every file; a later use opens them again."""
        if os.getpid() == self._pid:
            self.record_heads()
            self.flush_projections()
        with self._lock:
            logs = list(self._logs.values())
            self._logs.clear()
        # Not under our lock: closing waits for a session block, which may need the lock to open another session.
        for log in logs:
            log.close()
        self.state.close()
        self.artifacts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _open_log(self, session: str) -> LogFile:
        if os.getpid() != self._pid:
            # A forked child shares the parent's descriptors, and with them its file locks: it needs its own.
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

    def _open_writer(
        self, session: str, log: LogFile, database_identity: tuple[int, int] | None
    ) -> tuple[LogWriter, int]:
        """Return a writer at the end of a session, with gap entries for damage found, and the number of torn bytes."""
        reconciliation = None
        if not log.is_unchanged() or log.indexed.database_identity != database_identity or database_identity is None:
            reconciliation = self._index.reconcile_session(session, log)
        assert log.head is not None
        writer = LogWriter(
            session,
            log.head,
            now=self.clock.now,
            signer=self._load_signer,
            projections=self._index.projections,
            load_state=log.indexed.states.__getitem__,
            introduce_key=self._introduce_key,
        )
        if reconciliation is None:
            return writer, 0
        for name, seq in reconciliation.stale_seqs.items():
            writer.read_projection(name)
            writer.change_seqs[name] = seq
        for gap in reconciliation.gaps:
            writer.append(EntryKind.GAP, gap.body, artifacts=gap.artifacts or None)
        return writer, reconciliation.torn_bytes

    def _load_signer(self) -> Signer:
        return self.keyring.get_signing_key()

    def _append_due_checkpoint(self, writer: LogWriter, first_seq: int) -> None:
        if writer.head.seq // self._checkpoint_every > first_seq // self._checkpoint_every:
            # Without a key the log goes on; `verify` reports how much of it no signature covers.
            with suppress(KeyringError):
                writer.append(EntryKind.CHECKPOINT, {"reason": "interval"})

    def _repeat_in_operator_log(self, writer: LogWriter, *, is_new: bool) -> None:
        """Introduce a new session, and repeat the session's checkpoints.

        After the session's own entries, so that a session which the operator's log names has existed.
        """
        if writer.session_id == OPERATOR:
            for entry in writer.signed_entries:
                if entry.kind is EntryKind.KEY_ROTATION:
                    self.keyring.note_introduction(str(entry.body["new"]), entry.seq)
            return
        checkpoints = [entry for entry in writer.signed_entries if entry.kind is EntryKind.CHECKPOINT]
        if not (is_new or checkpoints):
            return
        with self.session(OPERATOR) as operator:
            if is_new:
                operator.append(EntryKind.SESSION, {"session": writer.session_id, **head_to_record(writer.head)})
            for entry in checkpoints:
                head = head_to_record(ChainHead(entry.seq, entry.hash))
                operator.append(EntryKind.CHECKPOINT, {"reason": "repeated", "session": writer.session_id, **head})

    def _introduce_key(self, writer: LogWriter, kid: str) -> None:
        """Introduce a key in the operator's log before its first signature."""
        if kid in self._introduced_kids or any(e.body.get("new") == kid for e in writer.signed_entries):
            return
        # The note is checked once: the keys may have been copied here without the log that introduces them.
        noted = self.reader.read_entry(OPERATOR, self.keyring.find_introduction(kid))
        self._introduced_kids.add(kid)
        if noted is not None and noted.body.get("new") == kid:
            return
        key = next(key for key in self.keyring.list_keys() if key.kid == kid)
        body = {"old": "", "new": kid, "algorithm": key.algorithm, "public": key.public, "lost": False}
        if writer.session_id == OPERATOR:
            writer.append(EntryKind.KEY_ROTATION, body)
        else:
            self.append(OPERATOR, EntryKind.KEY_ROTATION, body)

    def _commit_entries(self, log: LogFile, writer: LogWriter, torn_bytes: int) -> None:
        write = partial(self._write_entries, log, writer, torn_bytes)
        self._index.commit_update(log, writer, write, defer_head=bool(self._group_commit))

    def _write_entries(self, log: LogFile, writer: LogWriter, torn_bytes: int) -> None:
        if not writer.lines:
            return
        # Artifacts first: an entry whose artifact is missing would look like tampering.
        for seq, artifacts in writer.artifacts:
            try:
                self.artifacts.write_artifacts(writer.session_id, seq, artifacts, durable=self._durable)
            except OSError as error:
                raise LedgerError(
                    f"cannot write artifacts in `{self.artifacts.directory}`: {error.strerror};"
                    " free some space or make it writable"
                ) from error
        log.append_bytes(b"".join(writer.lines), torn_bytes=torn_bytes)

    def _ensure_database(self) -> tuple[int, int] | None:
        """Return the identity of `state.db`, which is created if it is missing.

        Its loss is recorded as a gap when there is a log, because deferred heads that only it held are lost with it.
        """
        database_identity = self.state.read_identity()
        if database_identity is not None:
            return database_identity
        sessions = self.reader.list_sessions()
        with self.state.hold_connection():
            pass
        if sessions:
            self.append(OPERATOR, EntryKind.GAP, {"reason": GAP_DATABASE, "sessions": len(sessions)})
        return self.state.read_identity()
