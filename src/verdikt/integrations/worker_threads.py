"""Threads that run blocking functions for event loops.

`run_in_executor` spends an eighth of a decision's CPU on its two futures and their locks. Here a call is one entry in a
queue and one callback on the loop.
"""

from __future__ import annotations

import os
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

Job = tuple[AbstractEventLoop, "Future[Any]", Callable[[], Any]]

_MAX_THREADS = 16


class WorkerThreads:
    """As many threads as there are calls at once, up to a maximum; they wait for the next call until `close`.

    Daemons: a function that hangs does not keep the process from ending.
    """

    def __init__(self, max_threads: int = _MAX_THREADS) -> None:
        self._max_threads = max_threads
        self._threads = 0
        self._idle_threads = 0
        self._start_empty()

    def submit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        """Return a future of the running loop for what a function returns, in the caller's context variables."""
        if os.getpid() != self._pid:
            self._start_empty()  # a fork copies no threads
        loop = get_running_loop()
        future: Future[Any] = loop.create_future()
        self._jobs.put((loop, future, partial(copy_context().run, function, *args, **kwargs)))
        with self._lock:
            if self._idle_threads:
                self._idle_threads -= 1  # one of them takes this job or an earlier one
            elif self._threads < self._max_threads:
                self._threads += 1
                Thread(target=_run_jobs, args=(self._jobs, self._note_idle), name="verdikt", daemon=True).start()
        return future

    def close(self) -> None:
        """End the threads after the jobs that they have."""
        with self._lock:
            for _ in range(self._threads):
                self._jobs.put(None)
            self._threads = self._idle_threads = 0

    def _start_empty(self) -> None:
        self._pid = os.getpid()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = Lock()
        self._threads = 0
        self._idle_threads = 0

    def _note_idle(self) -> None:
        with self._lock:
            self._idle_threads += 1


def _run_jobs(jobs: SimpleQueue[Job | None], note_idle: Callable[[], None]) -> None:
    while (job := jobs.get()) is not None:
        loop, future, call = job
        result = error = None
        try:
            result = call()
        except BaseException as raised:
            error = raised
        note_idle()
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(_settle, future, result, error)
        # While this thread waits it must hold nothing of the last call.
        del job, loop, future, call, result, error


def _settle(future: Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return  # cancelled, or its time was up
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
