"""INSERT with ON CONFLICT, which each database spells in its own dialect."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Table

    from verdikt.serve.database import Database


def insert_for(database: Database, table: Table) -> Any:
    """Return an INSERT of the database's dialect, which knows ON CONFLICT."""
    return insert_in(table, is_postgresql=database.is_postgresql)


def insert_in(table: Table, *, is_postgresql: bool) -> Any:
    """Return an INSERT of one of the two dialects."""
    # Importing a dialect's package loads each of its drivers: the service of one person must not wait for PostgreSQL's.
    dialect = import_module(f"sqlalchemy.dialects.{'postgresql' if is_postgresql else 'sqlite'}")
    return dialect.insert(table)
