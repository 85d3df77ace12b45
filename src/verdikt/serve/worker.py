"""What a worker does: takes jobs one after the other, and sees to it that the recurring ones are there."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select

from verdikt.errors import ServiceError
from verdikt.serve import schema
from verdikt.serve.insertion import insert_for
from verdikt.serve.jobs import Job, JobQueue

if TYPE_CHECKING:
    from verdikt.serve.service import Service

_LOGGER = logging.getLogger("verdikt.serve")

POLL_SECONDS = 2.0
SCHEDULE_SECONDS = 60.0
_MICROSECONDS = 1_000_000


class Worker:
    """Works on the jobs of a service until it is told to end. Any number of them share one database."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.queue = JobQueue(service.store.database)
        self._scheduled_at = 0.0
        self._ended = threading.Event()

    def run(self) -> None:
        """Work until `stop`; a database that is away for a while is waited for."""
        while not self._ended.is_set():
            try:
                self.schedule()
                while not self._ended.is_set() and self.work_once():
                    pass
                self.notify()
            except ServiceError as error:
                _LOGGER.warning("the worker waits: %s", error)
            except Exception:
                # A thread that ended here would leave everything undone without a word.
                _LOGGER.exception("the worker failed, and goes on")
            self._ended.wait(POLL_SECONDS)

    def stop(self) -> None:
        """End after the job that is under way; callable from another thread and from a signal handler."""
        self._ended.set()

    def notify(self) -> None:
        """End the approvals to which no answer came, and tell people of those that wait."""
        now = int(self._service.clock.now())
        self._service.approvals.expire(now)
        self._service.notifications.send_due(now)

    def schedule(self) -> None:
        """Add the recurring jobs that an organisation has not."""
        now = self._service.clock.now()
        if self._scheduled_at and 0 <= now - self._scheduled_at < SCHEDULE_SECONDS:
            return
        self._scheduled_at = now
        with self._service.store.database.begin_read() as connection:
            organisations = list(connection.execute(select(schema.organisation.c.id)).scalars())
        for organisation in organisations:
            for kind in RECURRING:
                if not self.queue.has_kind(organisation, kind):
                    self.queue.add(organisation, kind, {}, now)

    def work_once(self) -> bool:
        """Do one job that is due; return whether there was one."""
        clock = self._service.clock
        job = self.queue.claim(clock.now())
        if job is None:
            return False
        try:
            HANDLERS[job.kind](self._service, job)
        except Exception as error:
            # A job that fails must not end the worker: the others wait for it.
            _LOGGER.exception("job %s of kind %s failed", job.id, job.kind)
            self._service.metrics.count("verdikt_jobs_total", kind=job.kind, result="failed")
            self.queue.fail(job, f"{type(error).__name__}: {error}", clock.now())
            return True
        self._service.metrics.count("verdikt_jobs_total", kind=job.kind, result="done")
        self.queue.finish(job)
        if job.kind in RECURRING:
            self.queue.add(job.organisation, job.kind, {}, clock.now() + RECURRING[job.kind])
        return True


def remove_expired(service: Service, _: Job) -> None:
    """Remove logins, sign-ins under way and device codes that no one can use any more."""
    now = service.now_microseconds()
    with service.store.database.begin_write() as connection:
        for table in (schema.login, schema.sign_in_flow, schema.device_code, schema.enrolment):
            connection.execute(delete(table).where(table.c.expires <= now))


def merge_tallies(service: Service, job: Job) -> None:
    """Add up the counts of hours that are over: each replica that ever ran left rows of its own."""
    table = schema.tally
    hour = service.now_microseconds() // 3_600_000_000 - 2
    keys = (table.c.organisation, table.c.hour, table.c.verdict, table.c.guard)
    split = (
        select(*keys, func.sum(table.c["count"]).label("total"))
        .where(table.c.organisation == job.organisation, table.c.hour < hour)
        .group_by(*keys)
        .having(func.count() > 1)
        .limit(5000)
    )
    with service.store.database.begin_write() as connection:
        # A machine may still send entries of an old hour: what is added meanwhile must not be lost.
        rows = connection.execute(split).mappings().all()
        for row in rows:
            same = [table.c[name] == row[name] for name in ("organisation", "hour", "verdict", "guard")]
            counts = connection.execute(delete(table).where(*same).returning(table.c["count"])).scalars().all()
            values = {name: row[name] for name in ("organisation", "hour", "verdict", "guard")}
            merged = insert_for(service.store.database, table).values(**values, shard=0, count=int(sum(counts)))
            total = table.c["count"] + merged.excluded["count"]
            key_columns = [column.name for column in table.primary_key]
            connection.execute(merged.on_conflict_do_update(index_elements=key_columns, set_={"count": total}))


HANDLERS: Mapping[str, Callable[[Service, Job], None]] = {
    "remove_expired": remove_expired,
    "merge_tallies": merge_tallies,
}
"""Kind of a job → what does it. It may run twice when a worker dies, so doing it again must be harmless."""

RECURRING: Mapping[str, float] = {"remove_expired": 3600.0, "merge_tallies": 3600.0}
"""Kind of a job that each organisation always has one of → the seconds between two runs."""
