"""The index of texts of an organisation, in PostgreSQL: rare words are found without reading every entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text

from verdikt.errors import ServiceError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from verdikt.serve.database import Database

_PARTITIONS_WITHOUT = text(
    """
    SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'entry'::regclass AND NOT EXISTS (
        SELECT FROM pg_inherits AS attached JOIN pg_index ON indexrelid = attached.inhrelid
        WHERE attached.inhparent = to_regclass(:name) AND indrelid = pg_inherits.inhrelid)
    ORDER BY 1
    """
)


def create_text_index(database: Database, organisation: int) -> None:
    """Create the index, a partition at a time, while machines go on sending; an attempt that broke off goes on."""
    name = f"entry_text_{organisation}"
    form = f"USING gin (summary gin_trgm_ops) WHERE organisation = {organisation}"
    with _require_postgresql(database).begin_alone() as connection:
        _create_extension(connection)
        # Of the whole table first: partitions of later months get theirs by it.
        connection.execute(text(f"CREATE INDEX IF NOT EXISTS {name} ON ONLY entry {form}"))
        for partition in list(connection.execute(_PARTITIONS_WITHOUT, {"name": name}).scalars()):
            part = f"{partition}_text_{organisation}"
            # An attempt that broke off leaves an index that is no use.
            connection.execute(text(f"DROP INDEX IF EXISTS {part}"))
            connection.execute(text(f"CREATE INDEX CONCURRENTLY {part} ON {partition} {form}"))
            connection.execute(text(f"ALTER INDEX {name} ATTACH PARTITION {part}"))


def drop_text_index(database: Database, organisation: int) -> None:
    """Remove the index, with those of all partitions."""
    with _require_postgresql(database).begin_alone() as connection:
        connection.execute(text(f"DROP INDEX IF EXISTS entry_text_{organisation}"))


def _require_postgresql(database: Database) -> Database:
    if not database.is_postgresql:
        raise ServiceError("expected a PostgreSQL database: SQLite has no index of texts, and reads every entry")
    return database


def _create_extension(connection: Connection) -> None:
    available = text("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'")
    if connection.execute(available).scalar() is None:
        raise ServiceError("this PostgreSQL has no `pg_trgm`: install its contrib package")
    connection.execute(text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
