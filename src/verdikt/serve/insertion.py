"""INSERT with ON CONFLICT, which each database spells in its own dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from sqlalchemy import Table

    from verdikt.serve.database import Database


def insert_for(database: Database, table: Table) -> Any:
    """Return an INSERT of the database's dialect, which knows ON CONFLICT."""
    return postgresql.insert(table) if database.is_postgresql else sqlite.insert(table)
