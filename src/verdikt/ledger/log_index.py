"""The index of the log in `state.db` (heads and projections), reconciled with the log files."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from json import loads as load
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from verdikt.errors import LedgerError
from verdikt.ledger.chain_reader import GAP_LOST, GAP_REWRITTEN
from verdikt.ledger.log_file import read_last_archived_line
from verdikt.ledger.projections import index_by_name
from verdikt.ledger.state_database import IndexedSession, StateRow
from verdikt.ledger.store import head_to_record
from verdikt.model.canonical_json import encode_canonical
from verdikt.model.chain_head import ChainHead
from verdikt.model.entry import decode_entry

if TYPE_CHECKING:
    from verdikt.ledger.log_file import LogFile
    from verdikt.ledger.log_reader import LogReader
    from verdikt.ledger.projections import Projection
    from verdikt.ledger.state_database import HeadRow, StateDatabase
    from verdikt.ledger.store import LogWriter

STORE_INTERVAL = 64
"""Number of entries after which a process that keeps writing to a session stores its projections again.

The next process folds the entries after the last stored state, so this bounds how many it may have to read.
"""


class PendingGap(NamedTuple):
    """Something found wrong on opening a session, to be written into it first."""

    body: dict[str, Any]
    artifacts: Mapping[str, bytes] = MappingProxyType({})


class Reconciliation(NamedTuple):
    """What was found on opening a session."""

    gaps: list[PendingGap]
    torn_bytes: int
    """Length of the incomplete line at the end of the file."""
    stale_seqs: dict[str, int]
    """The projections that changed since they were stored, each with the seq of the entry that changed it last."""


class LogIndex:
    """Each session's head and projections in `state.db`. Only a copy: all of it can be computed from the log."""

    def __init__(self, state: StateDatabase, reader: LogReader, projections: tuple[Projection, ...]) -> None:
        self.projections = index_by_name(projections)
        self._state = state
        self._reader = reader
        self._labels = frozenset(projection.label for projection in projections)
        self._label_cache: dict[frozenset[str], frozenset[str]] = {}
        self._deferred_logs: dict[str, LogFile] = {}
        self._lock = threading.Lock()

    def reset_after_fork(self) -> None:
        """Drop locks, connections and deferred heads that belong to the parent process."""
        self._lock = threading.Lock()
        self._deferred_logs = {}
        self._state.reset_after_fork()

    def reconcile_session(self, session: str, log: LogFile) -> Reconciliation:
        """Compare the end of the file with the recorded head, and fold the projections up to it."""
        entry, damaged, torn = log.read_last_entry()
        with self._state.hold_connection() as db:
            row = db.read_head(session)
        recorded_head = row.head if row else ChainHead()
        if (
            log.indexed.last_written_head is not None
            and recorded_head == log.indexed.head
            and log.indexed.last_written_head.seq > recorded_head.seq
        ):
            # This process wrote entries after the recorded head, and the row is unchanged since.
            recorded_head = log.indexed.last_written_head
        gaps: list[PendingGap] = []
        head = ChainHead(entry.seq, entry.hash) if entry else self._find_last_head(session, damaged)
        if damaged:
            gaps.append(PendingGap({"reason": "damaged", "line": damaged[:80].decode(errors="replace")}))
            head = recorded_head if recorded_head.seq > head.seq else ChainHead(head.seq + 1, head.hash)
        elif recorded_head.seq > head.seq:
            gaps.append(PendingGap({"reason": GAP_LOST, "after": head.seq, "head": head_to_record(recorded_head)}))
            head = recorded_head
        elif recorded_head.seq and not self._is_continuation(session, recorded_head, head):
            gaps.append(PendingGap({"reason": GAP_REWRITTEN, "head": head_to_record(recorded_head)}))
        if torn:
            gaps.append(PendingGap({"reason": "torn", "bytes": len(torn)}, {"torn": torn}))
        states, stale_seqs = self._catch_up(session, row, head)
        log.indexed = IndexedSession(
            states,
            last_written_head=log.indexed.last_written_head,
            database_identity=self._state.read_identity(),
        )
        log.indexed.note_head(row.head if row else None, row.current_labels if row else frozenset())
        log.head, log.size = head, os.fstat(log.fd).st_size
        return Reconciliation(gaps, len(torn), stale_seqs)

    def commit_update(
        self, log: LogFile, writer: LogWriter, write_log: Callable[[], None], *, defer_head: bool
    ) -> None:
        """Write the log entries, the head and, now and then, the projections in one transaction of `state.db`.

        With `defer_head`, an update that stores no projections leaves its head for `record_heads`.
        """
        indexed = log.indexed
        states, stale_seqs = {**indexed.states, **writer.states}, {**indexed.stale_seqs, **writer.change_seqs}
        store_states = indexed.last_stored_seq is None or writer.head.seq - indexed.last_stored_seq >= STORE_INTERVAL
        if store_states or not defer_head:
            self._commit_transaction(log, writer, write_log, states, stale_seqs, store_states=store_states)
        else:
            write_log()
            with self._lock:
                self._deferred_logs[writer.session_id] = log
        log.head = indexed.last_written_head = writer.head
        indexed.states, indexed.stale_seqs = states, {} if store_states else stale_seqs

    def record_heads(self) -> None:
        """Write deferred heads into `state.db`; one that cannot be written now is tried again next time."""
        if not self._deferred_logs or self._state.read_identity() is None:
            return  # a missing database is made by `FileStore`, which reports it in the log
        with self._lock:
            unrecorded, self._deferred_logs = self._deferred_logs, {}
        unfinished = unrecorded
        try:
            with self._state.write_transaction() as db:
                recorded = {
                    session: log
                    for session, log in unrecorded.items()
                    if log.run_if_idle(partial(self._record_head, db, session))
                }
            unfinished = {session: log for session, log in unrecorded.items() if session not in recorded}
            self._state.truncate_long_wal()
        except LedgerError:
            pass
        if unfinished:
            with self._lock:
                self._deferred_logs = {**unfinished, **self._deferred_logs}

    def flush_projections(self, logs: Iterable[tuple[str, LogFile]]) -> None:
        """Store the stale projections of sessions; on failure they are folded again later."""
        for session, log in logs:
            if log.indexed.stale_seqs:
                with suppress(LedgerError), log:
                    # If another process has written meanwhile, it has stored the projections.
                    if (
                        log.indexed.stale_seqs
                        and log.is_unchanged()
                        and log.indexed.database_identity == self._state.read_identity()
                    ):
                        assert log.head is not None
                        with self._state.write_transaction() as db:
                            self._store_projections(db, session, log, log.indexed.states, log.indexed.stale_seqs)
                            db.put_head(session, log.head, self._labels)
                        log.indexed.stale_seqs, log.indexed.last_stored_seq = {}, log.head.seq
                        log.indexed.note_head(log.head, self._labels)

    def refold_session(self, session: str, head: ChainHead) -> None:
        """Forget what is stored about a session, and fold it again from the log up to `head`."""
        with self._state.write_transaction() as db:
            db.forget_session(session)
            states, changed = self._catch_up(session, None, head)
            self._put_states(db, session, states, changed)
            db.put_head(session, head, self._labels)

    def move_damaged_aside(self, now: float) -> None:
        """Rename a `state.db` that cannot be read."""
        if self._state.read_identity() is None:
            return  # connecting would create it, and its loss would go unreported
        try:
            with self._state.hold_connection() as db:
                db.dump_tables()
        except LedgerError:
            self._state.close()
            path = self._state.path
            path.rename(path.with_name(f"state.db.damaged-{int(now)}"))
            # SQLite would apply the old write-ahead log to the new database.
            for ending in ("-wal", "-shm"):
                path.with_name(f"state.db{ending}").unlink(missing_ok=True)

    def _find_last_head(self, session: str, damaged_line: bytes) -> ChainHead:
        """Return where the chain ends when the hot file has no readable last line."""
        if not damaged_line:
            line = read_last_archived_line(self._reader.ledger, session)
            entry = decode_entry(line) if line else None
        else:
            entry = None
            for entry in self._reader.read_intact_entries(session):  # noqa: B007 - the last one is wanted
                pass
        return ChainHead(entry.seq, entry.hash) if entry else ChainHead()

    def _is_continuation(self, session: str, earlier_head: ChainHead, head: ChainHead) -> bool:
        """Return whether the chain that ends at `head` passes through the head that was recorded before."""
        if earlier_head.seq == head.seq:
            return earlier_head.hash == head.hash
        following = next(self._reader.read_intact_entries(session, since=earlier_head.seq), None)
        return following is not None and following.prev == earlier_head.hash

    def _catch_up(self, session: str, row: HeadRow | None, head: ChainHead) -> tuple[dict[str, Any], dict[str, int]]:
        """Return every projection's state at the head, and the seq at which those changed that `state.db` lacks."""
        states: dict[str, Any] = {}
        folded_seqs: dict[str, int] = {}
        with self._state.hold_connection() as db:
            lag = db.read_lag(session)
            for name, projection in self.projections.items():
                stored = db.read_state(session, name)
                folded_seq = (
                    row.head.seq if row and projection.label in row.current_labels else lag.get(projection.label, 0)
                )
                # A mark beyond the head belongs to entries that the log lacks: the state beside it proves nothing.
                is_usable = folded_seq <= head.seq and (not stored or stored.version == projection.version)
                folded_seqs[name] = folded_seq if is_usable else 0
                states[name] = load(stored.text) if stored and folded_seqs[name] else projection.create_initial_state()
        changed: dict[str, int] = {}
        # One pass over the entries that the least advanced projection lacks.
        if any(folded_seq < head.seq for folded_seq in folded_seqs.values()):
            for entry in self._reader.read_intact_entries(session, since=min(folded_seqs.values())):
                for name, projection in self.projections.items():
                    if folded_seqs[name] < entry.seq <= head.seq and projection.applies_to(entry):
                        states[name] = projection.fold(states[name], entry)
                        changed[name] = entry.seq
        return states, changed

    def _commit_transaction(
        self,
        log: LogFile,
        writer: LogWriter,
        write_log: Callable[[], None],
        states: Mapping[str, Any],
        stale_seqs: Mapping[str, int],
        *,
        store_states: bool,
    ) -> None:
        folded = self._labels if store_states else self._select_current_labels(frozenset(stale_seqs))
        with self._state.write_transaction() as db:
            if store_states:
                self._store_projections(db, writer.session_id, log, states, stale_seqs)
            else:
                self._put_lags(db, writer.session_id, log, stale_seqs)
            db.put_head(writer.session_id, writer.head, folded)
            # Inside the transaction: if the log cannot be written, the head is rolled back.
            write_log()
        log.indexed.note_head(writer.head, folded, () if store_states else stale_seqs)
        if store_states:
            log.indexed.last_stored_seq = writer.head.seq

    def _record_head(self, db: StateDatabase, session: str, log: LogFile) -> None:
        """Advance a recorded head, unless another process did: then the next update reads what that one wrote."""
        if log.head is None or log.indexed.head is None or log.head == log.indexed.head:
            return
        folded = self._select_current_labels(frozenset(log.indexed.stale_seqs))
        # Compare and set: another process may have recorded a newer head.
        if db.move_head(session, log.indexed.head, log.head, folded):
            self._put_lags(db, session, log, log.indexed.stale_seqs)
            log.indexed.note_head(log.head, folded, log.indexed.stale_seqs)
        else:
            log.head = None

    def _store_projections(
        self, db: StateDatabase, session: str, log: LogFile, states: Mapping[str, Any], stale_seqs: Mapping[str, int]
    ) -> None:
        """Store every stale state, and mark up to where projections are folded that only other processes know."""
        self._put_states(db, session, states, stale_seqs)
        if log.indexed.current_labels != self._labels:
            # Projections of another version of verdikt: it continues from the mark instead of refolding everything.
            for label in log.indexed.current_labels - self._labels:
                assert log.indexed.head is not None
                db.put_lag(session, label, log.indexed.head.seq)
        # Always: another process may have recorded its head, with marks, since this one read the session.
        for label in self._labels:
            db.drop_lag(session, label)

    def _put_states(
        self, db: StateDatabase, session: str, states: Mapping[str, Any], changed: Mapping[str, int]
    ) -> None:
        for name, seq in changed.items():
            text = encode_canonical(states[name]).decode()
            db.put_state(session, name, StateRow(self.projections[name].version, seq, text))

    def _put_lags(self, db: StateDatabase, session: str, log: LogFile, stale_seqs: Mapping[str, int]) -> None:
        """Mark up to where the states are folded that have become stale since the head was last recorded."""
        assert log.indexed.head is not None
        for name in stale_seqs.keys() - log.indexed.stale_at_head:
            db.put_lag(session, self.projections[name].label, log.indexed.head.seq)

    def _select_current_labels(self, stale: frozenset[str]) -> frozenset[str]:
        """Return the labels of the projections that are not stale."""
        current_labels = self._label_cache.get(stale)
        if current_labels is None:
            labels = {self.projections[name].label for name in stale}
            current_labels = self._label_cache[stale] = self._labels - labels
        return current_labels
