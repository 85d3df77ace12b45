"""Everything that the service keeps: what machines sent, and who may look at it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import zstandard
from sqlalchemy import func, insert, select, text, update

from verdikt.errors import ServiceError
from verdikt.model.chain_head import ChainHead
from verdikt.serve import schema
from verdikt.serve.database import Database
from verdikt.serve.entry_search import (
    EntryPage,
    SessionPage,
    find_sessions,
    read_arrivals,
    read_index,
    search_entries,
    session_to_record,
)
from verdikt.serve.ingest import HOUR_MICROSECONDS, Ingest, IngestResult, Submission
from verdikt.serve.migration import check_schema, migrate

if TYPE_CHECKING:
    from verdikt.team.search_query import SearchQuery

MAX_SEGMENT_BYTES = 16 << 20
"""Most bytes that the lines of one segment may have; more means that the database was changed by something else."""


class MachineRow(NamedTuple):
    """One machine as the fleet view shows it. Times are microseconds since the epoch."""

    id: int
    name: str
    enrolled: int
    revoked: int | None
    seen: int | None
    version: str
    team: str
    sessions: int
    entries: int
    forks: int
    unsent: int
    problems: int
    lost_hosts: list[str]
    """Hosts that called the machine's hook and no longer do."""


class StoredChain(NamedTuple):
    """A chain as it is stored: its session, generation, head, and up to where it is signed."""

    id: int
    machine: int
    session: str
    generation: int
    head: ChainHead
    signed_seq: int


class TeamStore:
    """The store of the service, on SQLite or PostgreSQL. Safe for threads; a context manager that closes itself."""

    def __init__(self, url: str, *, create: bool = False, shard: int = 0) -> None:
        self.database = Database(url)
        try:
            if create:
                migrate(self.database)
            else:
                check_schema(self.database)
        except BaseException:
            self.database.close()
            raise
        self._ingest = Ingest(self.database, shard=shard)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    # Machines

    def ensure_organisation(self, name: str, now: int) -> int:
        """Return the id of an organisation, created if it is new."""
        table = schema.organisation
        with self.database.begin_write() as connection:
            organisation_id = connection.execute(select(table.c.id).where(table.c.name == name)).scalar()
            if organisation_id is not None:
                return int(organisation_id)
            inserted = connection.execute(insert(table).values(name=name, created=now).returning(table.c.id))
            return int(inserted.scalar_one())

    def add_machine(self, organisation: int, name: str, public_key: bytes, now: int) -> int:
        """Return the id of a machine; one that is known by this name must have the same key."""
        table = schema.machine
        with self.database.begin_write() as connection:
            machine = connection.execute(
                select(table.c.id, table.c.public_key).where(table.c.organisation == organisation, table.c.name == name)
            ).one_or_none()
            if machine is not None:
                # Else a second machine could continue the first one's chains.
                if bytes(machine.public_key) != public_key:
                    raise ServiceError(f"machine `{name}` is enrolled with another key: revoke it first")
                return int(machine.id)
            values = {"organisation": organisation, "name": name, "public_key": public_key, "enrolled": now}
            return int(connection.execute(insert(table).values(**values).returning(table.c.id)).scalar_one())

    def assign_machine(self, machine: int, person: int) -> None:
        """Say whose machine it is: that person confirms what its agents ask, and does not count as another."""
        table = schema.machine
        with self.database.begin_write() as connection:
            connection.execute(update(table).where(table.c.id == machine).values(person=person))

    def revoke_machine(self, organisation: int, machine: int, now: int) -> None:
        """Take a machine's right to send; what it sent stays."""
        table = schema.machine
        with self.database.begin_write() as connection:
            connection.execute(
                update(table)
                .where(table.c.organisation == organisation, table.c.id == machine, table.c.revoked.is_(None))
                .values(revoked=now)
            )

    def list_machines(self, organisation: int, visible: frozenset[int] | None = None) -> list[MachineRow]:
        """Return the machines of an organisation, or those of them that are visible, by name."""
        machines, chains, forks = schema.machine, schema.chain, schema.fork
        fork_counts = (
            select(chains.c.machine, func.count().label("count"))
            .join(forks, forks.c.chain == chains.c.id)
            .group_by(chains.c.machine)
            .subquery()
        )
        query = (
            select(
                machines.c.id,
                machines.c.name,
                machines.c.enrolled,
                machines.c.revoked,
                machines.c.seen.label("reported"),
                machines.c.status,
                func.max(chains.c.received).label("received"),
                machines.c.version,
                machines.c.team,
                func.count(chains.c.id).label("sessions"),
                func.coalesce(func.sum(chains.c.seq), 0).label("entries"),
                func.coalesce(func.max(fork_counts.c.count), 0).label("forks"),
            )
            .outerjoin(chains, chains.c.machine == machines.c.id)
            .outerjoin(fork_counts, fork_counts.c.machine == machines.c.id)
            .where(machines.c.organisation == organisation)
            .group_by(machines.c.id)
            .order_by(machines.c.name)
        )
        if visible is not None:
            query = query.where(machines.c.id.in_(visible))
        with self.database.begin_read_of(organisation) as connection:
            return [_build_machine_row(dict(row)) for row in connection.execute(query).mappings()]

    # Lines

    def ingest(self, submissions: Sequence[Submission], now: int) -> list[IngestResult]:
        """Store what is new, each line once, and return what became of each submission once it is durable."""
        return self._ingest.store(submissions, now) if submissions else []

    def read_heads(self, machine: int) -> dict[str, tuple[int, ChainHead]]:
        """Return generation and head of each session of a machine, as it goes on after forks."""
        table = schema.chain
        query = select(table).where(table.c.machine == machine).order_by(table.c.generation)
        with self.database.begin_read() as connection:
            rows = connection.execute(query).mappings()
            return {row["session"]: (row["generation"], ChainHead(row["seq"], row["hash"].hex())) for row in rows}

    def read_chain(self, organisation: int, chain: int) -> StoredChain | None:
        """Return a chain of an organisation; None when it has none with this id."""
        table = schema.chain
        query = select(table).where(table.c.organisation == organisation, table.c.id == chain)
        with self.database.begin_read_of(organisation) as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            return None
        head = ChainHead(row["seq"], row["hash"].hex())
        return StoredChain(row["id"], row["machine"], row["session"], row["generation"], head, row["signed_seq"])

    def read_lines(self, organisation: int, chain: int, *, since: int = 0, limit: int | None = None) -> Iterator[bytes]:
        """Yield the lines of a chain after seq `since`, byte for byte as they were sent."""
        if self.read_chain(organisation, chain) is None:
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
            with self.database.begin_read_of(organisation) as connection:
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

    def read_forks(self, organisation: int, chain: int) -> list[tuple[int, int, bytes]]:
        """Return the evidence against a chain: entry, time of arrival, and the lines that contradict it."""
        if self.read_chain(organisation, chain) is None:
            return []
        table = schema.fork
        query = select(table.c.seq, table.c.received, table.c.body).where(table.c.chain == chain)
        decompressor = zstandard.ZstdDecompressor()
        with self.database.begin_read_of(organisation) as connection:
            return [
                (seq, received, decompressor.decompress(body, max_output_size=MAX_SEGMENT_BYTES))
                for seq, received, body in connection.execute(query.order_by(table.c.received))
            ]

    # What people look at

    def search_entries(
        self,
        organisation: int,
        query: SearchQuery,
        cursor: str = "",
        limit: int = 100,
        visible: frozenset[int] | None = None,
    ) -> EntryPage:
        """Return a page of the entries that a query selects, newest first, of the machines that are visible."""
        with self.database.begin_read_of(organisation) as connection:
            return search_entries(connection, organisation, query, cursor, limit, visible=visible)

    def find_sessions(
        self,
        organisation: int,
        query: SearchQuery,
        cursor: str = "",
        limit: int = 50,
        visible: frozenset[int] | None = None,
    ) -> SessionPage:
        """Return a page of the sessions that have an entry which a query selects, the last active first."""
        with self.database.begin_read_of(organisation) as connection:
            return find_sessions(connection, organisation, query, cursor, limit, visible=visible)

    def read_session(self, organisation: int, chain: int) -> dict[str, Any] | None:
        """Return a session with its counts; None when the organisation has none with this id."""
        chains, machines = schema.chain, schema.machine
        query = (
            select(chains, machines.c.name.label("machine_name"))
            .join(machines, machines.c.id == chains.c.machine)
            .where(chains.c.organisation == organisation, chains.c.id == chain)
        )
        with self.database.begin_read_of(organisation) as connection:
            row = connection.execute(query).mappings().one_or_none()
        return session_to_record(row) if row is not None else None

    def read_index(self, organisation: int, chain: int, since: int, limit: int) -> list[dict[str, Any]]:
        """Return the index rows of a chain after an entry, oldest first."""
        with self.database.begin_read_of(organisation) as connection:
            return read_index(connection, organisation, chain, since, limit)

    def check(self) -> None:
        """Raise `ServiceError` unless the database answers and has the schema of this version."""
        check_schema(self.database)

    def read_feed_position(self, organisation: int) -> str:
        """Return the position after everything that is there now."""
        with self.database.begin_read_of(organisation) as connection:
            if self.database.is_postgresql:
                return f"{connection.execute(text('SELECT pg_snapshot_xmin(pg_current_snapshot())')).scalar()}.0"
            table = schema.entry
            return str(connection.execute(select(func.coalesce(func.max(table.c.n), 0))).scalar())

    def read_feed(
        self, organisation: int, position: str, limit: int = 200, visible: frozenset[int] | None = None
    ) -> tuple[str, list[dict[str, Any]]]:
        """Return the entries that arrived after a position, oldest first, and the position after them."""
        with self.database.begin_read_of(organisation) as connection:
            return read_arrivals(
                connection, organisation, position, limit, visible=visible, postgresql=self.database.is_postgresql
            )

    def count_verdicts(self, organisation: int, since: int, until: int) -> list[tuple[int, int, int]]:
        """Return (hour in microseconds, verdict, number of decisions) between two times."""
        table = schema.tally
        query = (
            select(table.c.hour, table.c.verdict, func.sum(table.c["count"]))
            .where(table.c.organisation == organisation)
            .where(table.c.hour >= since // HOUR_MICROSECONDS, table.c.hour <= until // HOUR_MICROSECONDS)
            .group_by(table.c.hour, table.c.verdict)
            .order_by(table.c.hour, table.c.verdict)
        )
        with self.database.begin_read_of(organisation) as connection:
            return [
                (hour * HOUR_MICROSECONDS, verdict, int(count)) for hour, verdict, count in connection.execute(query)
            ]


def _build_machine_row(row: dict[str, Any]) -> MachineRow:
    status = json.loads(row.pop("status"))
    # Either sign of life counts.
    seen = max(row.pop("reported") or 0, row.pop("received") or 0) or None
    # PostgreSQL sums into decimals.
    row["entries"] = int(row["entries"])
    return MachineRow(
        **row,
        seen=seen,
        unsent=status.get("unsent", 0),
        problems=status.get("problems", 0),
        lost_hosts=status.get("lost", []),
    )
