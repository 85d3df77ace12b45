"""Threads that run blocking functions for event loops.

A function is in a thread of its own so that one that hangs or waits for a lock holds up neither the loop nor a
cancellation. Most are done within a millisecond, though, and then the way back through the loop (its wake-up pipe, two
futures, a callback) is a tenth of the whole: so the loop first waits itself, for a moment, if no other call is running.
"""

from __future__ import annotations

import os
from asyncio import AbstractEventLoop, CancelledError, Future, current_task, get_running_loop, sleep
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

_MAX_THREADS = 16

_BRIEF_SECONDS = 0.002
"""How long a loop waits by itself. Little of it is lost: a function that computes holds the interpreter anyway."""


class WorkerThreads:
    """As many threads as there are calls at once, up to a maximum; they wait for the next call until `close`.

    Daemons: a function that hangs does not keep the process from ending.
    """

    def __init__(self, max_threads: int = _MAX_THREADS, brief_seconds: float = _BRIEF_SECONDS) -> None:
        self._max_threads = max_threads
        self._brief_seconds = brief_seconds
        self._threads = 0
        self._idle_threads = 0
        self._start_empty()

    async def run(self, function: Callable[..., Any], *args: Any, timeout_seconds: float, **kwargs: Any) -> Any:
        """Return what a function returns, called in the caller's context variables.

        Raises `TimeoutError` when it takes too long, and `CancelledError` when the task was cancelled meanwhile, also
        when there is a result.
        """
        job = _Job(partial(copy_context().run, function, *args, **kwargs))
        is_alone = self._start(job)
        # With others under way the loop has more to do than to wait; at most one call at a time holds it up.
        if is_alone and job.wait(min(self._brief_seconds, timeout_seconds)):
            await sleep(0)  # other tasks have their turn, and one that is cancelled hears of it before it goes on
            return job.get_result()
        return await _await_job(job, timeout_seconds)

    def _start(self, job: _Job) -> bool:
        """Give a job to a thread, and return whether it is the only one."""
        if os.getpid() != self._pid:
            self._start_empty()  # a fork copies no threads
        with self._lock:
            is_alone = self._idle_threads == self._threads
            if self._idle_threads:
                self._idle_threads -= 1  # one of them takes this job or an earlier one
            elif self._threads < self._max_threads:
                self._threads += 1
                Thread(target=_run_jobs, args=(self._jobs, self._note_idle), name="verdikt", daemon=True).start()
        self._jobs.put(job)
        return is_alone

    def close(self) -> None:
        """End the threads after the jobs that they have."""
        with self._lock:
            for _ in range(self._threads):
                self._jobs.put(None)
            self._threads = self._idle_threads = 0

    def _start_empty(self) -> None:
        self._pid = os.getpid()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = Lock()
        self._threads = 0
        self._idle_threads = 0

    def _note_idle(self) -> None:
        with self._lock:
            self._idle_threads += 1


class _Job:
    """One call and its result, for a loop that waits itself or for a future."""

    __slots__ = ("_call", "_error", "_future", "_is_done", "_lock", "_loop", "_result", "_signal")

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._result: Any = None
        self._error: BaseException | None = None
        self._is_done = False
        self._lock = Lock()  # between the end of the call and a request for a future
        self._signal = Lock()  # held until the call has ended
        self._signal.acquire()
        self._loop: AbstractEventLoop | None = None
        self._future: Future[Any] | None = None

    def run(self) -> None:
        """Make the call, in this thread, and tell the loop that it has ended."""
        try:
            self._result = self._call()
        except BaseException as error:
            # A future cannot hold `StopIteration`, and what ends a thread is not to end the loop.
            is_plain = isinstance(error, Exception) and not isinstance(error, StopIteration)
            self._error = error if is_plain else RuntimeError(repr(error))
        with self._lock:
            self._is_done = True
            loop = self._loop
        self._signal.release()
        if loop is not None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(self._settle)

    def wait(self, seconds: float) -> bool:
        """Return whether the call ends within a time. To be called once."""
        return self._signal.acquire(timeout=seconds)

    def get_result(self) -> Any:
        """Return or raise what came of a call that has ended."""
        if self._error is not None:
            raise self._error
        return self._result

    def to_future(self) -> Future[Any]:
        """Return a future of the running loop that is done at the loop's next turn or later."""
        loop = get_running_loop()
        self._future = loop.create_future()
        with self._lock:
            self._loop = loop
            is_done = self._is_done
        if is_done:
            loop.call_soon(self._settle)
        return self._future

    def _settle(self) -> None:
        assert self._future is not None
        if self._future.done():
            return  # cancelled, or its time was up
        if self._error is None:
            self._future.set_result(self._result)
        else:
            self._future.set_exception(self._error)


def _run_jobs(jobs: SimpleQueue[_Job | None], note_idle: Callable[[], None]) -> None:
    while (job := jobs.get()) is not None:
        job.run()
        note_idle()
        del job  # while this thread waits it must hold nothing of the last call


async def _await_job(job: _Job, timeout_seconds: float) -> Any:
    """Return the result of a job, or raise `TimeoutError` when it takes too long."""
    future = job.to_future()
    # A timer instead of `wait_for`, which costs more.
    is_expired = False

    def expire() -> None:
        nonlocal is_expired
        is_expired = True
        future.cancel()

    timer = get_running_loop().call_later(timeout_seconds, expire)
    try:
        return await future
    except CancelledError:
        task = current_task()
        if is_expired and not (task is not None and task.cancelling()):
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()
