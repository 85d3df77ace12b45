"""`state.db`: heads and projections in SQLite. Everything in it can be computed from the log."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from verdikt.errors import LedgerError
from verdikt.ledger.data_directory import create_database_file
from verdikt.model.chain_head import ChainHead
from verdikt.observe.held_databases import HeldDatabase

_SCHEMA = """
CREATE TABLE IF NOT EXISTS heads (
    session TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash TEXT NOT NULL, folded TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (
    session TEXT, name TEXT, version INTEGER NOT NULL, seq INTEGER NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (session, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS lag (
    session TEXT, name TEXT, seq INTEGER NOT NULL, PRIMARY KEY (session, name)
) WITHOUT ROWID;
PRAGMA user_version = 1;
"""
_VERSION = 1
WAL_LIMIT_BYTES = 200_000
"""Size of the write-ahead log at which it is truncated."""

# At a process's first write, then at every eighth: a hook that writes once still checks.
_WAL_CHECK_INTERVAL = 8
# Parallel hooks write to one database; each waits for its turn instead of failing.
_BUSY_TIMEOUT_SECONDS = 30
_TABLES = ("heads", "state", "lag")


class HeadRow(NamedTuple):
    """A session's recorded head, and the labels (`name:version`) of the projections that are folded up to it."""

    head: ChainHead
    current_labels: frozenset[str]


class StateRow(NamedTuple):
    """A stored state: the projection's version, the seq of the entry that changed it last, and the state as JSON."""

    version: int
    seq: int
    text: str


@dataclass(slots=True)
class IndexedSession:
    """What this process knows of a session in `state.db`. A projection is *stale* there when the log is ahead of it."""

    states: dict[str, Any] = field(default_factory=dict)
    """The projections' states at the log's head; folding replaces them and never changes them in place."""
    stale_seqs: dict[str, int] = field(default_factory=dict)
    """The stale projections, each with the seq of the entry that changed it last."""
    last_stored_seq: int | None = None
    """The seq up to which every state was stored when this process last stored them; None when it has not yet."""
    head: ChainHead | None = None
    """The recorded head; None when there is none, or it has not been read."""
    current_labels: frozenset[str] = frozenset()
    """The labels of the projections that are stored as they were at `head`."""
    stale_at_head: frozenset[str] = frozenset()
    """The projections that are marked as stale at `head`."""
    last_written_head: ChainHead | None = None
    """The last head that this process wrote to the log, whatever happened to the file since."""
    database_identity: tuple[int, int] | None = None
    """Device and inode of the `state.db` that all of this was read from."""

    def note_head(self, head: ChainHead | None, labels: frozenset[str], stale: Iterable[str] = ()) -> None:
        """Note which head is recorded now, and which projections are stored up to it."""
        self.head, self.current_labels, self.stale_at_head = head, labels, frozenset(stale)


class StateDatabase:
    """One connection to `state.db`, shared by the threads of a process. A context manager; see `close`."""

    def __init__(self, path: Path, *, readonly: bool = False, wal_limit_bytes: int = WAL_LIMIT_BYTES) -> None:
        self.path = path
        self._path_text = str(path)
        self._wal_path = f"{path}-wal"
        self._readonly = readonly
        self._wal_limit_bytes = wal_limit_bytes
        self._lock = threading.RLock()
        self._writes = 0
        self._connection: sqlite3.Connection | None = None
        self._held: HeldDatabase | None = None
        self._pid = os.getpid()
        self._file_identity: tuple[int, int] | None = None

    def __enter__(self) -> StateDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def hold_connection(self) -> Iterator[StateDatabase]:
        """Hold the connection; turn database errors into `LedgerError`."""
        with self._lock:
            try:
                self._connect()
                yield self
            except sqlite3.Error as error:
                raise self._translate_error(error) from error

    @contextmanager
    def write_transaction(self) -> Iterator[StateDatabase]:
        """Run the block in one transaction: committed when it ends, rolled back when it raises."""
        with self._lock:
            try:
                connection = self._connect()
                # The write lock is taken at once: upgrading a read transaction fails when another process writes.
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self
                except BaseException:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._translate_error(error) from error

    def read_head(self, session: str) -> HeadRow | None:
        """Return the head that was recorded last, if any."""
        row = self._execute("SELECT seq, hash, folded FROM heads WHERE session = ?", session).fetchone()
        return None if row is None else HeadRow(ChainHead(row[0], row[1]), frozenset(row[2].split()))

    def read_heads(self) -> dict[str, ChainHead]:
        """Return every session's head."""
        rows = self._execute("SELECT session, seq, hash FROM heads ORDER BY session")
        return {session: ChainHead(seq, hash) for session, seq, hash in rows}

    def put_head(self, session: str, head: ChainHead, labels: frozenset[str]) -> None:
        """Record a session's head."""
        self._execute(
            "INSERT INTO heads VALUES (?, ?, ?, ?) ON CONFLICT (session)"
            " DO UPDATE SET seq = excluded.seq, hash = excluded.hash, folded = excluded.folded",
            session,
            head.seq,
            head.hash,
            " ".join(sorted(labels)),
        )

    def move_head(self, session: str, expected: ChainHead, head: ChainHead, labels: frozenset[str]) -> bool:
        """Record a session's head if the recorded one is still `expected`; return whether it was."""
        moved = self._execute(
            "UPDATE heads SET seq = ?, hash = ?, folded = ? WHERE session = ? AND seq = ? AND hash = ?",
            head.seq,
            head.hash,
            " ".join(sorted(labels)),
            session,
            expected.seq,
            expected.hash,
        )
        return moved.rowcount == 1

    def read_state(self, session: str, name: str) -> StateRow | None:
        """Return a projection's stored state, if any."""
        row = self._execute(
            "SELECT version, seq, state FROM state WHERE session = ? AND name = ?", session, name
        ).fetchone()
        return None if row is None else StateRow(*row)

    def put_state(self, session: str, name: str, row: StateRow) -> None:
        """Store a projection's state."""
        self._execute(
            "INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?, ?)", session, name, row.version, row.seq, row.text
        )

    def read_lag(self, session: str) -> Mapping[str, int]:
        """Return the projections left behind by a process that did not know them, and the seq they are folded up to."""
        return dict(self._execute("SELECT name, seq FROM lag WHERE session = ?", session).fetchall())

    def read_projections(self, session: str) -> dict[str, tuple[int, str | None]]:
        """Return by label the seq a projection is folded up to and its stored state, all of one moment."""
        # One snapshot: another process may store a newer state between two reads.
        self._execute("BEGIN")
        try:
            row = self.read_head(session)
            folded_seqs = {**self.read_lag(session), **dict.fromkeys(row.current_labels, row.head.seq)} if row else {}
            rows = {label: self.read_state(session, label.partition(":")[0]) for label in folded_seqs}
        finally:
            self._execute("COMMIT")
        return {
            label: (folded_seqs[label], stored_row.text if stored_row else None)
            for label, stored_row in rows.items()
            if stored_row is None or label.endswith(f":{stored_row.version}")
        }

    def put_lag(self, session: str, name: str, seq: int) -> None:
        """Remember up to which seq a projection is folded; an earlier mark stays."""
        self._execute("INSERT OR IGNORE INTO lag VALUES (?, ?, ?)", session, name, seq)

    def drop_lag(self, session: str, name: str) -> None:
        """Remove the mark: the projection has caught up."""
        self._execute("DELETE FROM lag WHERE session = ? AND name = ?", session, name)

    def forget_session(self, session: str) -> None:
        """Delete every row of a session."""
        for table in _TABLES:
            self._execute(f"DELETE FROM {table} WHERE session = ?", session)

    def dump_tables(self) -> dict[str, list[tuple[object, ...]]]:
        """Return every row of every table, in order: databases with equal contents have equal dumps."""
        return {table: self._execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in _TABLES}

    def read_identity(self) -> tuple[int, int] | None:
        """Return device and inode of the file now at the path; None when there is none."""
        try:
            stat = os.stat(self._path_text)
        except OSError:
            return None
        return stat.st_dev, stat.st_ino

    def truncate_long_wal(self) -> None:
        """Truncate the write-ahead log when it is long, because every new process reads all of it.

        SQLite by itself restarts the log only in a process that writes again after a checkpoint, which a hook never
        does. A process that writes often checks the size only now and then.
        """
        self._writes += 1
        if self._writes % _WAL_CHECK_INTERVAL != 1:
            return
        try:
            if os.stat(self._wal_path).st_size < self._wal_limit_bytes:
                return
        except OSError:
            return
        self.truncate_wal()

    def truncate_wal(self) -> None:
        """Truncate the write-ahead log, unless another connection is reading it."""
        with self._lock, suppress(sqlite3.OperationalError):
            if self._connection is not None:
                # Another reader is no reason to wait: the next process tries again.
                self._connection.execute("PRAGMA busy_timeout = 0")
                try:
                    self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                finally:
                    self._connection.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_SECONDS * 1000}")

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        if os.getpid() != self._pid:
            self.reset_after_fork()
        with self._lock:
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    self._connection.close()
            if self._held is not None:
                self._held.release()
            self._connection = self._held = None

    def reset_after_fork(self) -> None:
        """Forget a connection that belongs to the parent process, without touching it."""
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._parent_connection = self._connection  # SQLite forbids even closing it here
        self._connection = self._held = None

    def _execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        assert self._connection is not None
        return self._connection.execute(statement, values)

    def _connect(self) -> sqlite3.Connection:
        # `ledger reindex` may have moved the file aside.
        if self._connection is not None and self._file_identity == self.read_identity():
            return self._connection
        self.close()
        connection = self._open_readonly() if self._readonly else _open_database(str(self.path))
        try:
            self._prepare_connection(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._file_identity = connection, self.read_identity()
        self._held = HeldDatabase(self._path_text)
        return connection

    def _open_readonly(self) -> sqlite3.Connection:
        """Return a connection that changes nothing, also on a read-only file system."""
        from urllib.parse import quote  # brings ipaddress, and only a check of the database needs it

        uri = f"file:{quote(str(self.path.absolute()))}"
        connection = _open_database(f"{uri}?mode=ro")
        try:
            connection.execute("PRAGMA user_version")
        except sqlite3.OperationalError:
            connection.close()
            # On a read-only file system SQLite cannot create the files it needs for locking.
            return _open_database(f"{uri}?immutable=1")
        return connection

    def _prepare_connection(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > _VERSION:
            raise LedgerError(f"`{self.path}` was written by a newer verdikt (version {version}): upgrade to use it")
        if self._readonly:
            return
        connection.execute("PRAGMA journal_mode = WAL")
        # A power cut may lose the newest heads, which the log gives back; it cannot damage the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # `truncate_long_wal` does it
        if sys.version_info >= (3, 12):
            # A hook would wait for the disk when it exits; `truncate_long_wal` pays that once for many hooks.
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE)
        if version < _VERSION:
            connection.executescript(_SCHEMA)

    def _translate_error(self, error: sqlite3.Error) -> LedgerError:
        """Return a `LedgerError` with the database's message and what to do about it."""
        advice = (
            "free some space and try again"
            if "full" in str(error)
            else "its directory was removed: put it back, or start this program again for a new log"
            if not self.path.parent.exists()
            else "make it writable"
            if "readonly" in str(error) or "unable to open" in str(error)
            else "run `verdikt ledger reindex` to rebuild it from the log"
        )
        return LedgerError(f"cannot use `{self.path}`: {error}; {advice}")


def _open_database(path: str) -> sqlite3.Connection:
    uri = path.startswith("file:")
    if not uri:
        with suppress(OSError):  # SQLite reports the same problem with more detail
            create_database_file(path)
    return sqlite3.connect(path, timeout=_BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False, uri=uri)
