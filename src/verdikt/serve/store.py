"""Everything that the service keeps: machines, what they sent, and readers of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from sqlalchemy import insert, select, update

from verdikt.errors import ServiceError
from verdikt.model.approval import OPEN_STATES, ApprovalState
from verdikt.model.chain_head import ChainHead
from verdikt.serve import schema
from verdikt.serve.database import Database
from verdikt.serve.ingest import Ingest, IngestResult, Submission
from verdikt.serve.migration import check_schema, migrate
from verdikt.serve.store_reader import StoreReader


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
        """Take a machine's right to send; what it sent stays, and no person is asked for it any more."""
        table, approvals = schema.machine, schema.approval
        with self.database.begin_write() as connection:
            revoked = connection.execute(
                update(table)
                .where(table.c.organisation == organisation, table.c.id == machine, table.c.revoked.is_(None))
                .values(revoked=now)
            )
            if revoked.rowcount:
                is_open = approvals.c.state.in_(OPEN_STATES)
                ended = {"state": ApprovalState.CANCELLED, "closed": now // 1_000_000}
                connection.execute(update(approvals).where(approvals.c.machine == machine, is_open).values(ended))

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

    def check(self) -> None:
        """Raise `ServiceError` unless the database answers and has the schema of this version."""
        check_schema(self.database)

    def read_as(self, organisation: int, machines: frozenset[int] | None = None) -> StoreReader:
        """Return what a person reads with who sees these machines of an organisation, or all of them."""
        return StoreReader(self.database, organisation, machines)
