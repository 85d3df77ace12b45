"""Group commit: what many requests brought is stored in one transaction, because a commit costs more than an entry."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from anyio.to_thread import run_sync

from verdikt.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdikt.serve.ingest import IngestResult, Submission
    from verdikt.serve.service import Service

MAX_GROUP_ENTRIES = 600
GROUP_SECONDS = 0.005
MAX_WAITING_ENTRIES = 6000
"""More than this many entries waiting, and a request is told to come again: the queue is bounded, and says so early."""

MAX_WAITING_BYTES = 64 << 20
"""The same for the bytes of their lines, each of which may have a megabyte."""


class Overloaded(ServiceError):
    """The service has more to store than it can."""


class _Request(NamedTuple):
    """What one request brought, and who waits for what becomes of it."""

    submissions: Sequence[Submission]
    future: asyncio.Future[list[IngestResult]]
    entry_count: int
    byte_count: int


class GroupIngest:
    """Collects submissions of one event loop, and stores them group by group."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: list[_Request] = []
        self._waiting_entries = 0
        self._waiting_bytes = 0
        self._task: asyncio.Task[None] | None = None

    async def store(self, submissions: Sequence[Submission]) -> list[IngestResult]:
        """Store submissions with those of others, and return what became of them once they are durable."""
        count = sum(len(item.stretch.lines) for item in submissions)
        size = sum(len(line.line) for item in submissions for line in item.stretch.lines)
        if self._waiting_entries + count > MAX_WAITING_ENTRIES or self._waiting_bytes + size > MAX_WAITING_BYTES:
            raise Overloaded("more is waiting to be stored than this service can take now")
        future: asyncio.Future[list[IngestResult]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Request(submissions, future, count, size))
        self._waiting_entries += count
        self._waiting_bytes += size
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._store_groups())
        return await future

    async def _store_groups(self) -> None:
        """Store groups until nothing waits. One group is written at a time; the next collects meanwhile."""
        await asyncio.sleep(GROUP_SECONDS)
        while self._waiting:
            group = self._take_group()
            submissions = [item for request in group for item in request.submissions]
            try:
                results = await run_sync(self._service.store.ingest, submissions, self._service.now_microseconds())
            except Exception as error:
                # Each request of the group answers that it failed; its sender tries again.
                _fail_group(group, error)
                continue
            self._service.metrics.count("verdikt_entries_received_total", sum(request.entry_count for request in group))
            for request in group:
                count = len(request.submissions)
                answers, results = results[:count], results[count:]
                if not request.future.done():
                    request.future.set_result(answers)

    def _take_group(self) -> list[_Request]:
        group, total = [], 0
        while self._waiting and total < MAX_GROUP_ENTRIES:
            request = self._waiting.pop(0)
            total += request.entry_count
            self._waiting_bytes -= request.byte_count
            group.append(request)
        self._waiting_entries -= total
        return group


def _fail_group(group: Sequence[_Request], error: Exception) -> None:
    for request in group:
        if not request.future.done():
            request.future.set_exception(error)
