"""Jobs: each is done once, again when a worker died, and never for ever."""

import threading
from collections.abc import Callable

import pytest
from sqlalchemy import insert, select

from tests.fakes import FakeClock
from tests.unit.serve.http_client import Site
from verdikt.serve import schema, worker
from verdikt.serve.jobs import LEASE_SECONDS, MAX_TRIES, Job, JobQueue
from verdikt.serve.service import Service
from verdikt.serve.store import TeamStore
from verdikt.serve.worker import Worker


@pytest.fixture
def site(store: TeamStore) -> Site:
    """Return a service."""
    return Site(store)


def test_workers_at_once_do_each_job_once(site: Site) -> None:
    """Four workers share forty jobs, and none has one that another has."""
    queue, now = JobQueue(site.store.database), site.clock.now()
    added = {queue.add(site.machine.organisation, "k", {"n": n}, now) for n in range(40)}
    done: list[int] = []

    def work() -> None:
        while job := queue.claim(now):
            done.append(job.id)
            queue.finish(job)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(done) == sorted(added)
    assert not queue.has_kind(site.machine.organisation, "k")


def test_a_job_of_a_dead_worker_is_done_by_another(site: Site) -> None:
    """After its lease, and what the first one says afterwards counts no more."""
    queue, now = JobQueue(site.store.database), site.clock.now()
    queue.add(site.machine.organisation, "k", {}, now)
    first = queue.claim(now)
    assert first is not None
    assert queue.claim(now + LEASE_SECONDS - 1) is None
    second = queue.claim(now + LEASE_SECONDS + 1)
    queue.finish(first)

    assert second is not None
    assert (second.id, second.tries) == (first.id, 2)
    assert queue.has_kind(site.machine.organisation, "k")
    queue.finish(second)
    assert not queue.has_kind(site.machine.organisation, "k")


def test_a_job_that_fails_is_tried_later_and_not_for_ever(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker goes on with the others; the problem stays with the job."""

    def fail(_: Service, job: Job) -> None:
        raise ValueError(f"no {job.payload['what']}")

    monkeypatch.setattr(worker, "HANDLERS", {"broken": fail})
    both = Worker(site.service)
    both.queue.add(site.machine.organisation, "broken", {"what": "luck"}, site.clock.now())
    attempts = 0
    for _ in range(MAX_TRIES + 3):
        attempts += both.work_once()
        assert isinstance(site.clock, FakeClock)
        site.clock.seconds += 86_400
    with site.store.database.begin_read() as connection:
        problem = connection.execute(select(schema.job.c.problem)).scalar_one()

    assert attempts == MAX_TRIES
    assert problem == "ValueError: no luck"


def run_recurring(site: Site) -> None:
    """Let a worker do what is due."""
    one = Worker(site.service)
    one.schedule()
    while one.work_once():
        pass


def test_what_expired_is_removed(site: Site) -> None:
    """Links, sign-ins under way and codes that no one can use any more."""
    person = site.people.ensure_person(site.machine.organisation, "p", "Ana", frozenset({"viewer"}))
    site.people.create_link(person, site.clock.now())
    site.service.devices.begin("laptop", b"k" * 32, site.clock.now())
    run_recurring(site)
    assert count_rows(site, "login") == 1
    site.clock.seconds += 86_400
    run_recurring(site)

    assert (count_rows(site, "login"), count_rows(site, "device_code")) == (0, 0)


def test_counts_of_replicas_are_added_up(site: Site) -> None:
    """The sums stay, the rows become few; hours that are not over are left alone."""
    now_hour = int(site.clock.now() // 3600)
    rows = [
        {"organisation": 1, "hour": hour, "verdict": 1, "guard": 1, "shard": shard, "count": 5}
        for hour in (now_hour, now_hour - 5)
        for shard in (0, 3, 900)
    ]
    with site.store.database.begin_write() as connection:
        connection.execute(insert(schema.tally), rows)
    before = site.store.read_as(1).count_verdicts(0, 2**60)
    run_recurring(site)

    assert site.store.read_as(1).count_verdicts(0, 2**60) == before
    assert count_rows(site, "tally") == 4


def count_rows(site: Site, table: str) -> int:
    """Return the number of rows of a table."""
    with site.store.database.begin_read() as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())


def test_a_worker_ends_when_told(site: Site) -> None:
    """Also while it waits."""
    one = Worker(site.service)
    run: Callable[[], None] = one.run
    thread = threading.Thread(target=run)
    thread.start()
    one.stop()
    thread.join(30)

    assert not thread.is_alive()
