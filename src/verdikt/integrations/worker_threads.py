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
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

Job = tuple[AbstractEventLoop, "Future[Any]", Callable[[], Any]]

_MAX_THREADS = 16

_IDLE_SECONDS = 0.02
"""How long a thread waits for the next call before it does what can be done after the answers."""


class WorkerThreads:
    """As many threads as there are calls at once, up to a maximum; they wait for the next call until `close`.

    Daemons: a function that hangs does not keep the process from ending.
    """

    def __init__(self, max_threads: int = _MAX_THREADS, *, on_idle: Callable[[], None] = lambda: None) -> None:
        """Start without threads. `on_idle` is called by a thread that had no call for a moment, and by `close`."""
        self._max_threads = max_threads
        self._on_idle = on_idle
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
                arguments = (self._jobs, self._note_idle, self._on_idle)
                Thread(target=_run_jobs, args=arguments, name="verdikt", daemon=True).start()
        return future

    def close(self) -> None:
        """End the threads after the jobs that they have."""
        with self._lock:
            for _ in range(self._threads):
                self._jobs.put(None)
            is_used = self._threads > 0 and os.getpid() == self._pid
            self._threads = self._idle_threads = 0
        if is_used:
            _run_quietly(self._on_idle)  # at the end of the process its threads do not get that far

    def _start_empty(self) -> None:
        self._pid = os.getpid()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = Lock()
        self._threads = 0
        self._idle_threads = 0

    def _note_idle(self) -> None:
        with self._lock:
            self._idle_threads += 1


def _run_jobs(jobs: SimpleQueue[Job | None], note_idle: Callable[[], None], on_idle: Callable[[], None]) -> None:
    while (job := _wait_for_job(jobs, on_idle)) is not None:
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


def _wait_for_job(jobs: SimpleQueue[Job | None], on_idle: Callable[[], None]) -> Job | None:
    try:
        return jobs.get(timeout=_IDLE_SECONDS)
    except Empty:
        _run_quietly(on_idle)
        return jobs.get()


def _run_quietly(function: Callable[[], None]) -> None:
    # What it raises must not end a thread that others count on; it is called again after the next job.
    with suppress(Exception):
        function()


def _settle(future: Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return  # cancelled, or its time was up
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
