"""Session state in one SQLite file, shared by every process of a user."""

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from verdikt.errors import LedgerError, SessionError
from verdikt.ledger.data_directory import create_database_file, get_data_directory, make_private_directory
from verdikt.model.session_state import SessionState
from verdikt.observe.held_databases import HeldDatabase

_SCHEMA = """
CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS incident (number INTEGER PRIMARY KEY, what TEXT NOT NULL);
"""
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "action_count": int,
    "block_count": int,
    "consecutive_blocks": int,
    "risk": (int, float),
    "history": list,
    "slots": dict,
}


class SQLiteSessionStore:
    """Session store that outlives the process; safe for many threads and processes writing at once.

    A damaged file is moved aside, and a new one is made with the rows that can still be read. The caller that finds the
    damage gets a `SessionError`, which the engine turns into a block: an action is never judged by counters that were
    just lost. A context manager; `close` may be called again and again.
    """

    def __init__(self, path: str | Path | None = None, *, timeout_seconds: float = 10.0) -> None:
        self.path = Path(path) if path is not None else get_data_directory(os.environ) / "sessions.db"
        """The file: as given, or `sessions.db` where verdikt keeps its data."""
        self._is_private = path is None
        self._timeout_seconds = timeout_seconds
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None
        self._held: HeldDatabase | None = None
        self._identity: tuple[int, int, int] = (0, 0, 0)
        self._parent_connections: list[sqlite3.Connection] = []

    def __enter__(self) -> "SQLiteSessionStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def open(self, session_id: str) -> Iterator[SessionState]:
        """Yield the state of one session, locked until the block ends; save it if the block ends without an error."""
        if self._connection is not None and self._identity[0] != os.getpid():
            # A lock that another thread held when the process forked would never be released here.
            self._lock = RLock()
        with self._lock:
            with self._translate_errors():
                connection = self._ensure_connection()
                connection.execute("BEGIN IMMEDIATE")
            try:
                with self._translate_errors():
                    state = self._load_state(connection, session_id)
                yield state
                with self._translate_errors():
                    self._save_state(connection, session_id, state)
                    connection.execute("COMMIT")
            finally:
                if connection is self._connection and connection.in_transaction:
                    connection.rollback()

    def incidents(self) -> list[str]:
        """Return what was ever found damaged in this store, oldest first."""
        with self._lock, self._translate_errors():
            return [what for (what,) in self._ensure_connection().execute("SELECT what FROM incident ORDER BY number")]

    def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        with self._lock:
            if self._connection is not None and self._identity[0] == os.getpid():
                self._connection.close()
            if self._held is not None:
                self._held.release()
            self._connection = self._held = None

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn foreign errors into `SessionError`; move a damaged file aside first."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None) or 0
            self.close()
            # The low byte is the primary code; the rest are details.
            if code & 0xFF in _DAMAGE_CODES:
                raise SessionError(self._move_aside(str(error))) from error
            raise SessionError(
                f"cannot use session store `{self.path}`: {error}; see who else uses it, or give another path"
            ) from error
        except (OSError, LedgerError) as error:
            raise SessionError(
                f"cannot use session store `{self.path}`: {error}; make it writable or set VERDIKT_HOME"
            ) from error

    def _ensure_connection(self) -> sqlite3.Connection:
        """Return this process's connection to the file now at the path, not to one that another process moved aside."""
        if self._connection is not None:
            if self._identity[0] != os.getpid():
                self._parent_connections.append(self._connection)  # SQLite forbids even closing it here
                self._connection = None
            elif self._identity == self._read_identity():
                return self._connection
            else:
                self.close()
        if self._is_private:
            make_private_directory(self.path.parent)
        else:
            # A directory that the caller chose keeps its mode.
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock_store() as fd:
            was_made = os.fstat(fd).st_size > 0
            is_lost = was_made and not (self.path.exists() and self.path.stat().st_size)
            connection = self._open_connection()
            if is_lost:
                # Without this, an agent could delete the file and start every budget again, unnoticed.
                _record_incident(connection, f"{self.path} was missing or empty and was made again")
            if not was_made:
                os.write(fd, b"made\n")
        if is_lost:
            raise SessionError(f"session store `{self.path}` was missing or empty and was made again; try again")
        return connection

    def _open_connection(self) -> sqlite3.Connection:
        """Return a connection to the file at the path, which is made if it is missing."""
        create_database_file(self.path)
        self._identity = self._read_identity()
        self._connection = connection = sqlite3.connect(
            self.path, timeout=self._timeout_seconds, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_SCHEMA)
        self._held = HeldDatabase(str(self.path))
        return connection

    def _read_identity(self) -> tuple[int, int, int]:
        """Return process id, device and inode, which together identify what a connection belongs to."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return os.getpid(), 0, 0
        return os.getpid(), status.st_dev, status.st_ino

    @contextmanager
    def _lock_store(self) -> Iterator[int]:
        """Let one process at a time make or move the file. The lock file is empty until the store was first made."""
        fd = os.open(f"{self.path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield fd
        finally:
            os.close(fd)

    def _load_state(self, connection: sqlite3.Connection, session_id: str) -> SessionState:
        row = connection.execute("SELECT state FROM session WHERE id = ?", (_encode_key(session_id),)).fetchone()
        if row is None:
            return SessionState(session_id)
        state = _decode_state(session_id, row[0])
        if state is None:
            what = f"session {_encode_key(session_id)} could not be read and was started again: {row[0]!r:.500}"
            # The incident is committed before the error is raised, or it would be rolled back with the transaction.
            connection.execute("DELETE FROM session WHERE id = ?", (_encode_key(session_id),))
            _record_incident(connection, what)
            connection.execute("COMMIT")
            raise SessionError(
                f"the state of this session in `{self.path}` was damaged and has been started again; try again"
            )
        return state

    def _save_state(self, connection: sqlite3.Connection, session_id: str, state: SessionState) -> None:
        fields = {name: getattr(state, name) for name in _FIELDS}
        try:
            text = json.dumps(fields, separators=(",", ":"))
        except (TypeError, ValueError, RecursionError) as error:
            raise SessionError(
                f"expected plain data in the session's slots, found what JSON does not hold: {error}"
            ) from error
        connection.execute(
            "INSERT INTO session VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
            (_encode_key(session_id), text),
        )

    def _move_aside(self, why: str) -> str:
        """Move a damaged file away, make a new one with the readable rows of the old, and return a message."""
        identity, path = self._identity, self.path
        with self._lock_store():
            # Another process found the damage first and has replaced the file.
            if identity != self._read_identity():
                return f"session store `{path}` was damaged and has been replaced; try again"
            number = 1
            while os.path.exists(aside := f"{path}.damaged-{number}"):
                number += 1
            rows = _salvage_rows(path)
            for suffix in ("", "-wal", "-shm"):
                if os.path.exists(f"{path}{suffix}"):
                    os.rename(f"{path}{suffix}", f"{aside}{suffix}")
            connection = self._open_connection()
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR IGNORE INTO session VALUES (?, ?)", rows)
            _record_incident(connection, f"the file was damaged ({why}); moved to {aside}, {len(rows)} sessions kept")
            connection.execute("COMMIT")
        return f"session store `{path}` was damaged: moved to `{aside}`, {len(rows)} sessions kept; try again"


def _encode_key(session_id: str) -> str:
    """Return the id as ASCII: SQLite text holds neither NUL nor lone surrogates."""
    return json.dumps(session_id)


def _record_incident(connection: sqlite3.Connection, description: str) -> None:
    """Append a description to the list of incidents."""
    text = description.encode("ascii", "backslashreplace").decode()
    connection.execute("INSERT INTO incident (what) VALUES (?)", (text,))


def _decode_state(session_id: str, text: Any) -> SessionState | None:
    """Return the state that a row holds, or None when it does not hold one."""
    try:
        fields = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
    if not isinstance(fields, Mapping) or fields.keys() != _FIELDS.keys():
        return None
    # A state of the wrong shape would make a guard fail later, far from the cause.
    if not all(isinstance(fields[name], kind) for name, kind in _FIELDS.items()):
        return None
    if not all(isinstance(entry, dict) for entry in fields["history"]):
        return None
    return SessionState(session_id, **fields)


def _salvage_rows(path: Path) -> list[tuple[str, str]]:
    """Return the rows of a damaged file up to where it cannot be read."""
    rows: list[tuple[str, str]] = []
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            for id, state in connection.execute("SELECT id, state FROM session"):
                if isinstance(id, str) and isinstance(state, str):
                    rows.append((id, state))
        finally:
            connection.close()
    except sqlite3.Error:
        pass  # what was read before stays
    return rows
