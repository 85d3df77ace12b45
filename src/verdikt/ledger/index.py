"""What `state.db` says of the log, the heads and the projections, brought in line with what the log says."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from functools import partial

from verdikt.errors import LedgerError
from verdikt.ledger.link import LOST, REWRITTEN
from verdikt.ledger.projection import by_name
from verdikt.ledger.state import StateRow
from verdikt.ledger.store import Head
from verdikt.model.canonical import canonical
from verdikt.model.entry import decode
from verdikt.model.notation import load
from verdikt.model.value import Record, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from verdikt.ledger.log import LogFile
    from verdikt.ledger.projection import Projection
    from verdikt.ledger.reader import Reader
    from verdikt.ledger.state import HeadRow, StateDb
    from verdikt.ledger.store import Writer

STORE_EVERY = 32
"""Entries after which a process that goes on writing to a session stores its projections again; its head it always does.

Whoever comes next folds what was left, so this bounds what a new process may have to read.
"""


class Wrong(Record):
    """Something that was found wrong on opening a session, to be written into it first."""

    body: dict[str, Any]
    artifacts: dict[str, bytes] = field(default_factory=dict)


class LogIndex:
    """Each session's head and projections in `state.db`. Only a copy: the log is what counts, and gives all of it back."""

    def __init__(self, state: StateDb, reader: Reader, projections: tuple[Projection, ...]) -> None:
        self.projections = by_name(projections)
        self._state = state
        self._reader = reader
        self._labels = frozenset(projection.label for projection in projections)
        self._folded: dict[frozenset[str], frozenset[str]] = {}
        self._unrecorded: dict[str, LogFile] = {}
        self._lock = threading.Lock()

    def abandon(self) -> None:
        """Lets go of what belongs to the process we were forked from."""
        self._lock = threading.Lock()
        self._state.abandon()

    def reconcile(self, session: str, log: LogFile) -> tuple[list[Wrong], int, dict[str, int]]:
        """Compares the file's end with the recorded head, and brings the projections up to it.

        What is wrong there, how many bytes at its end are torn, and which projections changed since they were stored.
        """
        entry, damaged, torn = log.last()
        with self._state.reading() as db:
            row = db.head(session)
        known = row.head if row else Head()
        if log.known is not None and known == log.recorded and log.known.seq > known.seq:
            known = log.known  # written since the row was, which nobody has touched
        wrong: list[Wrong] = []
        head = Head(entry.seq, entry.hash) if entry else self._before(session, damaged)
        if damaged:
            wrong.append(Wrong({"reason": "damaged", "line": damaged[:80].decode(errors="replace")}))
            head = known if known.seq > head.seq else Head(head.seq + 1, head.hash)
        elif known.seq > head.seq:
            wrong.append(Wrong({"reason": LOST, "after": head.seq, "head": _plain(known)}))
            head = known
        elif known.seq and not self._continues(session, known, head):
            wrong.append(Wrong({"reason": REWRITTEN, "head": _plain(known)}))
        if torn:
            wrong.append(Wrong({"reason": "torn", "bytes": len(torn)}, {"torn": torn}))
        log.states, stale = self._catch_up(session, row, head)
        log.behind, log.stored = {}, None
        log.folded, log.recorded, log.marked = (
            row.folded if row else frozenset(),
            row.head if row else None,
            frozenset(),
        )
        log.head, log.size = head, os.fstat(log.fd).st_size
        log.database = self._state.identity()
        return wrong, len(torn), stale

    def commit(self, log: LogFile, writer: Writer, write: Callable[[], None], *, put_off: bool) -> None:
        """The log, the head and now and then the projections, in one transaction of `state.db`; the log is what counts.

        With `put_off`, a head alone is left for `record`.
        """
        states, behind = {**log.states, **writer.states}, {**log.behind, **writer.changed}
        complete = log.stored is None or writer.head.seq - log.stored >= STORE_EVERY
        if complete or not put_off:
            self._put(log, writer, write, states, behind, complete=complete)
        else:
            write()
            with self._lock:
                self._unrecorded[writer.session] = log
        log.head = log.known = writer.head
        log.states, log.behind = states, {} if complete else behind

    def record(self) -> None:
        """Puts heads that were put off into `state.db`; what cannot be put there now is next time, and the log has it anyway."""
        if not self._unrecorded or self._state.identity() is None:
            return  # one that is missing is begun anew by who tells of it in the log
        with self._lock:
            unrecorded, self._unrecorded = self._unrecorded, {}
        left = unrecorded
        try:
            with self._state.writing() as db:
                recorded = {
                    session: log
                    for session, log in unrecorded.items()
                    if log.quietly(partial(self._record, db, session))
                }
            left = {session: log for session, log in unrecorded.items() if session not in recorded}
            self._state.tidy()
        except LedgerError:
            pass
        if left:
            with self._lock:
                self._unrecorded = {**left, **self._unrecorded}

    def flush(self, logs: Iterable[tuple[str, LogFile]]) -> None:
        """Stores the projections of sessions that `state.db` is behind with; what cannot be is folded later."""
        for session, log in logs:
            if log.behind:
                with suppress(LedgerError), log.locked():
                    # If somebody else has written meanwhile, they have caught up.
                    if log.behind and log.unchanged() and log.database == self._state.identity():
                        assert log.head is not None
                        with self._state.writing() as db:
                            self._store(db, session, log, log.states, log.behind)
                            db.put_head(session, log.head, self._labels)
                        log.behind, log.folded, log.stored = {}, self._labels, log.head.seq
                        log.recorded, log.marked = log.head, frozenset()

    def refold(self, session: str, head: Head) -> None:
        """Forgets what is there of a session, and folds it from the log up to `head`."""
        with self._state.writing() as db:
            db.forget(session)
            states, changed = self._catch_up(session, None, head)
            self._put_states(db, session, states, changed)
            db.put_head(session, head, self._labels)

    def set_damaged_aside(self, now: float) -> None:
        """Moves a `state.db` that cannot be read out of the way."""
        try:
            with self._state.reading() as db:
                db.contents()
        except LedgerError:
            self._state.close()
            path = self._state.path
            path.rename(path.with_name(f"state.db.damaged-{int(now)}"))
            for ending in ("-wal", "-shm"):
                path.with_name(f"state.db{ending}").unlink(missing_ok=True)

    def _before(self, session: str, damaged: bytes) -> Head:
        """Where the chain ends when the hot file has no legible last line."""
        if not damaged:
            line = self._reader.last_archived(session)
            entry = decode(line) if line else None
        else:
            entry = None
            for entry in self._reader.legible(session):  # noqa: B007 - the last one is wanted
                pass
        return Head(entry.seq, entry.hash) if entry else Head()

    def _continues(self, session: str, known: Head, head: Head) -> bool:
        """Whether the chain that ends at `head` goes through the head that was recorded before."""
        if known.seq == head.seq:
            return known.hash == head.hash
        following = next(self._reader.legible(session, since=known.seq), None)
        return following is not None and following.prev == known.hash

    def _catch_up(self, session: str, row: HeadRow | None, head: Head) -> tuple[dict[str, Any], dict[str, int]]:
        """Every projection's state at the head; and which of them changed since they were stored, by which entry."""
        states: dict[str, Any] = {}
        since: dict[str, int] = {}
        with self._state.reading() as db:
            lag = db.lag(session)
            for name, projection in self.projections.items():
                stored = db.state(session, name)
                folded = row.head.seq if row and projection.label in row.folded else lag.get(projection.label, 0)
                # A mark beyond the head was made by somebody else: what stands beside it proves nothing.
                usable = folded <= head.seq and (not stored or stored.version == projection.version)
                since[name] = folded if usable else 0
                states[name] = load(stored.text) if stored and since[name] else projection.fresh()
        changed: dict[str, int] = {}
        if any(folded < head.seq for folded in since.values()):
            for entry in self._reader.legible(session, since=min(since.values())):
                for name, projection in self.projections.items():
                    if since[name] < entry.seq <= head.seq and projection.concerns(entry):
                        states[name] = projection.fold(states[name], entry)
                        changed[name] = entry.seq
        return states, changed

    def _put(
        self,
        log: LogFile,
        writer: Writer,
        write: Callable[[], None],
        states: Mapping[str, Any],
        behind: Mapping[str, int],
        *,
        complete: bool,
    ) -> None:
        folded = self._labels if complete else self._others(frozenset(behind))
        with self._state.writing() as db:
            if complete:
                self._store(db, writer.session, log, states, behind)
            else:
                self._put_lags(db, writer.session, log, behind)
            db.put_head(writer.session, writer.head, folded)
            write()
        log.folded, log.recorded, log.marked = folded, writer.head, frozenset() if complete else frozenset(behind)
        log.stored = writer.head.seq if complete else log.stored

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

    def _put_states(self, db: StateDb, session: str, states: Mapping[str, Any], changed: Mapping[str, int]) -> None:
        for name, seq in changed.items():
            text = canonical(states[name]).decode()
            db.put_state(session, name, StateRow(self.projections[name].version, seq, text))

    def _put_lags(self, db: StateDb, session: str, log: LogFile, behind: Mapping[str, int]) -> None:
        """Marks up to where the states in `state.db` are folded that were not behind when its head was recorded."""
        assert log.recorded is not None
        for name in behind.keys() - log.marked:
            db.put_lag(session, self.projections[name].label, log.recorded.seq)

    def _others(self, behind: frozenset[str]) -> frozenset[str]:
        """The labels of the projections that are not behind."""
        found = self._folded.get(behind)
        if found is None:
            labels = {self.projections[name].label for name in behind}
            found = self._folded[behind] = self._labels - labels
        return found


def _plain(head: Head) -> dict[str, Any]:
    return {"seq": head.seq, "hash": head.hash}
