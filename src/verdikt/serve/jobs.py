"""Work that no request waits for, kept in a table: each job is done by one worker at a time, again when one died."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import delete, func, insert, select, update

from verdikt.serve import schema

if TYPE_CHECKING:
    from verdikt.serve.database import Database

LEASE_SECONDS = 300
MAX_TRIES = 8
RETRY_SECONDS = 30
MAX_PROBLEM_CHARS = 500
_MICROSECONDS = 1_000_000
_NEVER = 2**62


class Job(NamedTuple):
    """One piece of work of an organisation, and the how manieth attempt this is."""

    id: int
    organisation: int
    kind: str
    payload: dict[str, Any]
    tries: int


class JobQueue:
    """The jobs of the service; safe for threads, and for any number of workers on one PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, organisation: int, kind: str, payload: dict[str, Any], run_at: float) -> int:
        """Add a job that is due at a time."""
        values = {"organisation": organisation, "kind": kind, "payload": json.dumps(payload)}
        statement = insert(schema.job).values(**values, run_at=int(run_at * _MICROSECONDS)).returning(schema.job.c.id)
        with self._database.begin_write() as connection:
            return int(connection.execute(statement).scalar_one())

    def claim(self, now: float) -> Job | None:
        """Return the job that is due longest, leased to the caller; None when nothing is due."""
        table, time = schema.job, int(now * _MICROSECONDS)
        due = (
            select(table)
            .where(table.c.run_at <= time, table.c.locked_until <= time)
            .order_by(table.c.run_at, table.c.id)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        with self._database.begin_write() as connection:
            row = connection.execute(due).one_or_none()
            if row is None:
                return None
            job = Job(row.id, row.organisation, row.kind, json.loads(row.payload), row.tries + 1)
            changes = {"tries": job.tries, "locked_until": time + LEASE_SECONDS * _MICROSECONDS}
            connection.execute(update(table).where(table.c.id == job.id).values(**changes))
            return job

    def finish(self, job: Job) -> None:
        """Remove a job that is done, unless its lease ran out and another worker has it."""
        table = schema.job
        with self._database.begin_write() as connection:
            connection.execute(delete(table).where(table.c.id == job.id, table.c.tries == job.tries))

    def fail(self, job: Job, problem: str, now: float) -> None:
        """Let a job be tried again later, each time later; after `MAX_TRIES` it stays, with its problem."""
        table = schema.job
        is_last = job.tries >= MAX_TRIES
        changes = {
            "problem": problem[:MAX_PROBLEM_CHARS],
            "locked_until": _NEVER if is_last else 0,
            "run_at": int((now + RETRY_SECONDS * 2 ** (job.tries - 1)) * _MICROSECONDS),
        }
        with self._database.begin_write() as connection:
            connection.execute(update(table).where(table.c.id == job.id, table.c.tries == job.tries).values(**changes))

    def count_stuck(self, now: float) -> tuple[int, int]:
        """Return how many jobs are due and in no worker's hands, and how many are not tried again."""
        table, time = schema.job, int(now * _MICROSECONDS)
        due = select(func.count()).where(table.c.run_at <= time, table.c.locked_until <= time)
        given_up = select(func.count()).where(table.c.locked_until == _NEVER)
        with self._database.begin_read() as connection:
            return connection.execute(due).scalar_one(), connection.execute(given_up).scalar_one()

    def has_kind(self, organisation: int, kind: str) -> bool:
        """Return whether an organisation has a job of a kind, due or not."""
        table = schema.job
        query = select(func.count()).where(table.c.organisation == organisation, table.c.kind == kind)
        with self._database.begin_read() as connection:
            return bool(connection.execute(query).scalar_one())
