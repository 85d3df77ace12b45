"""A connection pool to SQLite or PostgreSQL, with the transactions that the store needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from verdikt.errors import ServiceError, WireError

READ_TIMEOUT = "60s"
"""How long PostgreSQL works on one statement for people: a search that reads everything must not do so for ever."""

_LOCK_TIMEOUT_SECONDS = 20
_WRITES = "verdikt_writes"
# Without an encoding, a cluster that was made in the C locale gives the driver bytes where it expects text.
_CONNECT_ARGUMENTS = {"connect_timeout": 10, "client_encoding": "utf8"}
# NUL, which the driver itself refuses; a number out of range; text that the encoding has not.
_VALUE_STATES = (None, "22003", "22021", "22P05")
_CANCELLED = "57014"
_BECOME_READER = text(
    "SELECT set_config('role', 'verdikt_reader', true), set_config('verdikt.organisation', :organisation, true), "
    "set_config('verdikt.machines', :machines, true), set_config('jit', 'off', true), "
    "set_config('statement_timeout', :timeout, true)"
)
"""Lets the rest of a transaction run as a role that may do less.

Without compiling: what the policies might cost at most makes PostgreSQL spend a second on it, for a page of 100 rows.
"""


class Database:
    """One database; safe for threads. A write transaction in SQLite holds its only lock from the beginning."""

    def __init__(self, url: str) -> None:
        self.url = parse_url(url)
        self.is_postgresql = self.url.get_backend_name() == "postgresql"
        self.engine = _create_postgresql(self.url) if self.is_postgresql else _create_sqlite(self.url)
        self.ingest_engine = _create_ingest(self.url) if self.is_postgresql else self.engine

    @contextmanager
    def begin_read(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that sees one state of the database."""
        with _translate_errors(self.engine), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def begin_read_of(self, organisation: int, machines: frozenset[int] | None = None) -> Iterator[Connection]:
        """Yield a connection for people: PostgreSQL shows it the rows of one organisation, whatever is asked.

        Of what machines sent, it shows that of the machines that are named, or of all.
        """
        with self.begin_read() as connection:
            if self.is_postgresql:
                settings = {"organisation": str(organisation), "machines": _name_set(machines)}
                connection.execute(_BECOME_READER, settings | {"timeout": READ_TIMEOUT})
            yield connection

    @contextmanager
    def begin_ingest(self) -> Iterator[Connection]:
        """Yield a connection that stores what machines sent, and in PostgreSQL cannot read it."""
        with self._begin_write_on(self.ingest_engine) as connection:
            yield connection

    @contextmanager
    def begin_write(self) -> Iterator[Connection]:
        """Yield a connection whose changes are committed when the block ends without an error."""
        with self._begin_write_on(self.engine) as connection:
            yield connection

    @contextmanager
    def _begin_write_on(self, engine: Engine) -> Iterator[Connection]:
        with (
            _translate_errors(engine),
            engine.connect().execution_options(**{_WRITES: True}) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def begin_alone(self) -> Iterator[Connection]:
        """Yield a connection each of whose statements is a transaction: some of PostgreSQL work in no other way."""
        engine = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        with _translate_errors(engine), engine.connect() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()
        self.ingest_engine.dispose()


def _name_set(machines: frozenset[int] | None) -> str:
    """Return a set of machines as the policies of the tables read it."""
    return "*" if machines is None else f"{{{','.join(map(str, sorted(machines)))}}}"


def parse_url(url: str) -> URL:
    """Return the URL of a database that the service can use; raise `ServiceError` for any other."""
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError, NoSuchModuleError):
        backend = ""
    if backend not in ("sqlite", "postgresql"):
        raise ServiceError("expected `sqlite:///FILE` or `postgresql://USER@HOST/DATABASE` as database, found another")
    return parsed.set(drivername="postgresql+psycopg") if backend == "postgresql" else parsed


@contextmanager
def _translate_errors(engine: Engine) -> Iterator[None]:
    """Turn an error of the driver into ours; the URL is shown without its password."""
    # COPY is the driver's own: its errors come without the wrapping of the others.
    driver_error: type[Exception] = engine.dialect.loaded_dbapi.Error
    try:
        yield
    except NoConnectionLeft as error:
        raise ServiceError("every connection to the database is in use") from error
    except (DBAPIError, driver_error) as error:
        original = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(original, engine.dialect.loaded_dbapi.DataError) and _is_unstorable(original):
            raise WireError("expected values that can be stored: text without NUL, numbers of 64 bits") from error
        if getattr(original, "sqlstate", None) == _CANCELLED:
            raise WireError("this takes too long: search for less, such as `since:7d`") from error
        reason = str(original).strip().splitlines()[0] if str(original or "").strip() else type(error).__name__
        raise ServiceError(f"the database {engine.url.render_as_string()} failed: {reason}") from error


def _is_unstorable(error: Exception) -> bool:
    """Return whether a value that was sent is at fault: another attempt with it would fail as well."""
    return getattr(error, "sqlstate", None) in _VALUE_STATES


def _create_postgresql(url: URL) -> Engine:
    return create_engine(url, pool_size=8, max_overflow=8, pool_pre_ping=True, connect_args=_CONNECT_ARGUMENTS)


def _create_ingest(url: URL) -> Engine:
    """Return an engine whose connections have the role for storing from their beginning, where there is one.

    They are not tried before use: one that broke fails a group of requests, which machines repeat, and that costs less
    than a question before each group.
    """
    engine = create_engine(url, pool_size=2, max_overflow=6, connect_args=_CONNECT_ARGUMENTS)
    driver: Any = engine.dialect.loaded_dbapi

    @event.listens_for(engine, "connect")
    def take_role(connection: Any, _: object) -> None:
        # The driver's compiled one: the one that it takes else for COPY is Python, for each hash of each entry.
        connection.adapters.register_dumper(bytes, driver.types.string.BytesBinaryDumper)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT rolbypassrls AND pg_has_role(oid, 'MEMBER') FROM pg_roles WHERE rolname = 'verdikt_ingest'"
            )
            if (cursor.fetchone() or (False,))[0]:
                cursor.execute("SET ROLE verdikt_ingest")
        connection.commit()

    return engine


def _create_sqlite(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": _LOCK_TIMEOUT_SECONDS, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        # The driver's own transactions begin too late, at the first write; ours are begun below.
        connection.isolation_level = None
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", "cache_size = -16000"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A transaction that reads first and writes later could fail when another wrote in between.
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
