"""Partitions of the two tables that grow, in PostgreSQL: what arrives in a month is a table that can be detached."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import text

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from verdikt.serve.database import Database

DAY_MICROSECONDS = 86_400_000_000
_MICROSECONDS = 1_000_000
# Any number, the same in every replica: a month begins for all of them at once.
_ADVISORY_LOCK = 7_305_419

_SELECT_END = text(
    r"""
    SELECT max((regexp_match(pg_get_expr(relpartbound, pg_class.oid), 'TO \(''?(\d+)'))[1]::bigint)
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = to_regclass(:table)
    """
)


class _PartitionedTable(NamedTuple):
    """A table by time of arrival: how many microseconds its key counts in, and what is unique within a partition.

    That a line is stored once rests on the locked head of its chain: an index over all partitions cannot be unique
    without the time of arrival.
    """

    name: str
    unit: int
    unique: str


_TABLES = (_PartitionedTable("entry", DAY_MICROSECONDS, "chain, seq"), _PartitionedTable("segment", 1, "chain, first"))


def ensure_partitions(database: Database, now: int) -> int:
    """Create the partitions that lines of this time need, and return the time from which on others are needed."""
    with database.begin_write() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        return min(_extend(connection, table, now) for table in _TABLES)


def _extend(connection: Connection, table: _PartitionedTable, now: int) -> int:
    """Let the partitions of a table reach beyond a time; return how far they reach."""
    end = int(connection.execute(_SELECT_END, {"table": table.name}).scalar() or 0)
    if now < end * table.unit:
        return end * table.unit
    month = datetime.fromtimestamp(now / _MICROSECONDS, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    following = (month + timedelta(days=31)).replace(day=1)
    new_end = int(following.timestamp()) * _MICROSECONDS // table.unit
    name = f"{table.name}_{month:%Y_%m}"
    # Attaching a table waits for no reader and no writer, unlike creating it as a partition.
    for statement in (
        f"CREATE TABLE {name} (LIKE {table.name} INCLUDING DEFAULTS INCLUDING STORAGE)",
        f"CREATE UNIQUE INDEX {name}_by_chain ON {name} ({table.unique})",
        # Seen by way of the whole table, which has the policies; by itself it shows nothing.
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table.name} ATTACH PARTITION {name} FOR VALUES FROM ({end}) TO ({new_end})",
    ):
        connection.execute(text(statement))
    return new_end * table.unit
