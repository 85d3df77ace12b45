"""Blocking functions run beside the event loop: all at once, with the caller's context, and without leaving threads."""

import asyncio
import os
import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from verdikt.integrations.worker_threads import WorkerThreads

COLOUR: ContextVar[str] = ContextVar("colour", default="none")


@pytest.fixture
def threads() -> Iterator[WorkerThreads]:
    """Return threads that are closed after the test."""
    threads = WorkerThreads(max_threads=4)
    yield threads
    threads.close()


def test_calls_run_at_once_and_more_wait_their_turn(threads: WorkerThreads) -> None:
    """Four calls meet at a barrier, so they run at once; forty come to an end with four threads."""
    barrier = threading.Barrier(4)

    async def run() -> tuple[set[str], list[int]]:
        names = await asyncio.gather(*(threads.submit(meet) for _ in range(4)))
        return set(names), await asyncio.gather(*(threads.submit(pow, number, 2) for number in range(40)))

    def meet() -> str:
        barrier.wait(20)
        return str(threading.get_ident())

    names, squares = asyncio.run(run())
    assert len(names) == 4
    assert squares == [number**2 for number in range(40)]


def test_function_sees_the_context_of_its_caller(threads: WorkerThreads) -> None:
    """As with `to_thread`, so that spans and sessions reach it."""

    async def run() -> str:
        COLOUR.set("blue")
        return str(await threads.submit(COLOUR.get))

    assert asyncio.run(run()) == "blue"


def test_exception_reaches_the_caller_and_the_thread_goes_on(threads: WorkerThreads) -> None:
    """Also one that would end a program."""

    async def run() -> int:
        with pytest.raises(ZeroDivisionError):
            await threads.submit(divmod, 1, 0)
        with pytest.raises(RuntimeError, match="SystemExit"):
            await threads.submit(exit_program)
        return int(await threads.submit(pow, 2, 3))

    def exit_program() -> None:
        raise SystemExit(3)

    assert asyncio.run(run()) == 8


def test_call_that_ends_after_its_loop_is_forgotten(threads: WorkerThreads) -> None:
    """A thread whose answer comes too late serves the next loop."""
    may_end = threading.Event()

    async def give_up() -> None:
        future = threads.submit(may_end.wait, 20)
        await asyncio.sleep(0)
        future.cancel()

    async def run() -> int:
        return int(await threads.submit(pow, 2, 3))

    asyncio.run(give_up())
    may_end.set()
    assert asyncio.run(run()) == 8


def test_forked_process_starts_threads_of_its_own(threads: WorkerThreads) -> None:
    """A server that loads before it forks decides in its children too."""

    async def run() -> int:
        return int(await threads.submit(pow, 2, 3))

    assert asyncio.run(run()) == 8
    if (child := os.fork()) == 0:
        os._exit(asyncio.run(asyncio.wait_for(run(), 20)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 8


def test_close_ends_the_threads(threads: WorkerThreads) -> None:
    """Nothing is left when what used them is gone."""

    async def run() -> threading.Thread:
        return await threads.submit(threading.current_thread)

    thread = asyncio.run(run())
    threads.close()
    thread.join(20)
    assert not thread.is_alive()


def test_idle_work_that_fails_does_not_end_the_thread() -> None:
    """The next call is still answered, and idle work is tried again."""
    is_idle = threading.Event()

    def fail() -> None:
        is_idle.set()
        raise OSError("disk full")

    threads = WorkerThreads(max_threads=1, on_idle=fail)

    async def run() -> int:
        await threads.submit(pow, 2, 3)
        assert await asyncio.to_thread(is_idle.wait, 20)
        return int(await threads.submit(pow, 2, 4))

    assert asyncio.run(run()) == 16
    threads.close()
