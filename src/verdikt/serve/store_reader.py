"""What people may look at: the reads of one person, bound to an organisation and to the machines that they see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import zstandard
from sqlalchemy import func, select, text

from verdikt.model.chain_head import ChainHead
from verdikt.serve import schema
from verdikt.serve.entry_search import (
    EntryPage,
    SessionPage,
    count_visible_verdicts,
    find_sessions,
    read_arrivals,
    read_index,
    search_entries,
    session_to_record,
)
from verdikt.serve.fleet_reads import (
    FleetQuery,
    MachineRow,
    count_rewritten_sessions,
    list_machines,
    select_machines,
)
from verdikt.serve.ingest import HOUR_MICROSECONDS

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from verdikt.serve.database import Database
    from verdikt.team.search_query import SearchQuery

_ALL_MACHINES = FleetQuery()
MAX_SEGMENT_BYTES = 16 << 20
"""Most bytes that the lines of one segment may have; more means that the database was changed by something else."""


class StoredChain(NamedTuple):
    """A chain as it is stored: its session, generation, head, and up to where it is signed."""

    id: int
    machine: int
    session: str
    generation: int
    head: ChainHead
    signed_seq: int


class StoreReader:
    """Reads for a person: of one organisation, and of those of its machines that the person sees; None for all.

    Every statement says so itself, and PostgreSQL shows it nothing else, whatever it forgets.
    """

    def __init__(self, database: Database, organisation: int, machines: frozenset[int] | None) -> None:
        self._database = database
        self._organisation = organisation
        self._machines = machines

    @property
    def sees_all(self) -> bool:
        """Return whether every machine of the organisation is shown."""
        return self._machines is None

    @property
    def visibility(self) -> tuple[int, frozenset[int] | None]:
        """What decides what is shown: readers with the same one read the same."""
        return self._organisation, self._machines

    def _begin(self) -> AbstractContextManager[Connection]:
        return self._database.begin_read_of(self._organisation, self._machines)

    def list_machines(self, query: FleetQuery = _ALL_MACHINES) -> list[MachineRow]:
        """Return machines by name; with a limit, one more when there is another page."""
        with self._begin() as connection:
            return list_machines(connection, self._organisation, self._machines, query)

    def find_machine(self, machine: int) -> bool:
        """Return whether the person sees a machine."""
        if self._machines is not None and machine not in self._machines:
            return False
        table = schema.machine
        query = select(table.c.id).where(table.c.organisation == self._organisation, table.c.id == machine)
        with self._begin() as connection:
            return connection.execute(query).scalar() is not None

    def read_fleet(self) -> tuple[list[MachineRow], int]:
        """Return all machines without what they sent, and the number of sessions with another history."""
        with self._begin() as connection:
            rewritten = count_rewritten_sessions(connection, self._organisation, self._machines)
            return select_machines(connection, self._organisation, self._machines), rewritten

    def read_chain(self, chain: int) -> StoredChain | None:
        """Return a chain; None when there is none with this id that the person sees."""
        table = schema.chain
        query = select(table).where(table.c.organisation == self._organisation, table.c.id == chain)
        if self._machines is not None:
            query = query.where(table.c.machine.in_(self._machines))
        with self._begin() as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            return None
        head = ChainHead(row["seq"], row["hash"].hex())
        return StoredChain(row["id"], row["machine"], row["session"], row["generation"], head, row["signed_seq"])

    def read_lines(self, chain: int, *, since: int = 0, limit: int | None = None) -> Iterator[bytes]:
        """Yield the lines of a chain after seq `since`, byte for byte as they were sent."""
        if self.read_chain(chain) is None:
            return
        table = schema.segment
        decompressor = zstandard.ZstdDecompressor()
        yielded = 0
        while True:
            query = (
                select(table.c.first, table.c.last, table.c.body)
                .where(table.c.chain == chain, table.c.last > since)
                .order_by(table.c.first)
                .limit(20)
            )
            # A transaction per page: a reader that is slow holds nothing open.
            with self._begin() as connection:
                segments = connection.execute(query).all()
            if not segments:
                return
            for first, last, body in segments:
                data = decompressor.decompress(body, max_output_size=MAX_SEGMENT_BYTES)
                for seq, line in enumerate(data.split(b"\n")[:-1], start=first):
                    if seq > since:
                        yield line + b"\n"
                        yielded += 1
                        if yielded == limit:
                            return
                since = last

    def read_forks(self, chain: int) -> list[tuple[int, int, bytes]]:
        """Return the evidence against a chain: entry, time of arrival, and the lines that contradict it."""
        if self.read_chain(chain) is None:
            return []
        table = schema.fork
        query = select(table.c.seq, table.c.received, table.c.body).where(table.c.chain == chain)
        decompressor = zstandard.ZstdDecompressor()
        with self._begin() as connection:
            return [
                (seq, received, decompressor.decompress(body, max_output_size=MAX_SEGMENT_BYTES))
                for seq, received, body in connection.execute(query.order_by(table.c.received))
            ]

    def search_entries(self, query: SearchQuery, cursor: str = "", limit: int = 100) -> EntryPage:
        """Return a page of the entries that a query selects, newest first."""
        with self._begin() as connection:
            return search_entries(connection, self._organisation, query, cursor, limit, visible=self._machines)

    def find_sessions(self, query: SearchQuery, cursor: str = "", limit: int = 50) -> SessionPage:
        """Return a page of the sessions that have an entry which a query selects, the last active first."""
        with self._begin() as connection:
            return find_sessions(connection, self._organisation, query, cursor, limit, visible=self._machines)

    def read_session(self, chain: int) -> dict[str, Any] | None:
        """Return a session with its counts; None when there is none with this id that the person sees."""
        chains, machines = schema.chain, schema.machine
        query = (
            select(chains, machines.c.name.label("machine_name"))
            .join(machines, machines.c.id == chains.c.machine)
            .where(chains.c.organisation == self._organisation, chains.c.id == chain)
        )
        if self._machines is not None:
            query = query.where(chains.c.machine.in_(self._machines))
        with self._begin() as connection:
            row = connection.execute(query).mappings().one_or_none()
        return session_to_record(row) if row is not None else None

    def read_index(self, chain: int, since: int, limit: int) -> list[dict[str, Any]]:
        """Return the index rows of a chain after an entry, oldest first."""
        with self._begin() as connection:
            return read_index(connection, self._organisation, chain, since, limit, visible=self._machines)

    def read_feed_position(self) -> str:
        """Return the position after everything that is there now."""
        with self._begin() as connection:
            if self._database.is_postgresql:
                return f"{connection.execute(text('SELECT pg_snapshot_xmin(pg_current_snapshot())')).scalar()}.0"
            table = schema.entry
            return str(connection.execute(select(func.coalesce(func.max(table.c.n), 0))).scalar())

    def read_feed(self, position: str, limit: int = 200) -> tuple[str, list[dict[str, Any]]]:
        """Return the entries that arrived after a position, oldest first, and the position after them."""
        is_postgresql = self._database.is_postgresql
        with self._begin() as connection:
            return read_arrivals(
                connection, self._organisation, position, limit, visible=self._machines, postgresql=is_postgresql
            )

    def count_verdicts(self, since: int, until: int) -> list[tuple[int, int, int]]:
        """Return (hour in microseconds, verdict, number of decisions) between two times."""
        first, last = since // HOUR_MICROSECONDS, until // HOUR_MICROSECONDS
        table = schema.tally
        if self._machines is None:
            query = (
                select(table.c.hour, table.c.verdict, func.sum(table.c["count"]))
                .where(table.c.organisation == self._organisation, table.c.hour >= first, table.c.hour <= last)
                .group_by(table.c.hour, table.c.verdict)
                .order_by(table.c.hour, table.c.verdict)
            )
        else:
            # Tallies are of the whole organisation. Those who see a part of it get what they can look at, counted.
            query = count_visible_verdicts(self._organisation, self._machines, first, last)
        with self._begin() as connection:
            return [
                (hour * HOUR_MICROSECONDS, verdict, int(count)) for hour, verdict, count in connection.execute(query)
            ]
