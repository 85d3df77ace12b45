"""Bring a database to the schema of this version, or say that it is not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from verdikt.errors import ServiceError

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

    from verdikt.serve.database import Database

SCHEMA_VERSION = "0007"
"""The revision of the newest module in `migrations/versions`."""

# Any number, the same in every replica: they start at once, and one of them migrates.
_ADVISORY_LOCK = 7_305_417


def read_schema_version(connection: Connection) -> str:
    """Return the revision of a database; empty when it has no tables of ours."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")


def migrate(database: Database) -> None:
    """Bring the database to the newest revision, under a lock."""
    # The importer and replicas ask at every start: Alembic, which is slow to import, is loaded when it is needed.
    with database.begin_write() as connection:
        if database.is_postgresql:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        if read_schema_version(connection) == SCHEMA_VERSION:
            return
        if database.is_postgresql:
            _check_encoding(connection)
        from alembic import command

        command.upgrade(build_config(connection), "head")


def _check_encoding(connection: Connection) -> None:
    """Raise `ServiceError` unless PostgreSQL knows what a character is: searches count and compare characters."""
    encoding = str(connection.execute(text("SHOW server_encoding")).scalar())
    if encoding != "UTF8":
        raise ServiceError(
            f"expected a database in UTF8, found {encoding}:"
            " create it with `CREATE DATABASE verdikt OWNER verdikt ENCODING 'UTF8' TEMPLATE template0`"
        )


def check_schema(database: Database) -> None:
    """Raise `ServiceError` unless the database has exactly the schema of this version."""
    with database.begin_read() as connection:
        version = read_schema_version(connection)
    if version != SCHEMA_VERSION:
        state = f"version {version}" if version else "empty"
        raise ServiceError(
            f"expected a database of version {SCHEMA_VERSION}, found it {state}: run `verdikt serve migrate`"
        )


def build_config(connection: Connection) -> Config:
    """Return Alembic's configuration for a connection of ours; there is no file of it."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
