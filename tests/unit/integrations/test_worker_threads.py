"""Blocking functions run beside the event loop: all at once, with the caller's context, and without leaving threads."""

import asyncio
import os
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from verdikt.integrations.worker_threads import WorkerThreads

COLOUR: ContextVar[str] = ContextVar("colour", default="none")


@pytest.fixture(params=[0.0, 20.0], ids=["beside the loop", "while the loop waits"])
def threads(request: pytest.FixtureRequest) -> Iterator[WorkerThreads]:
    """Return threads that are closed after the test, for both ways in which a loop gets a result."""
    threads = WorkerThreads(max_threads=4, brief_seconds=request.param)
    yield threads
    threads.close()


@pytest.fixture
def usual_threads() -> Iterator[WorkerThreads]:
    """Return threads as adapters have them, for functions that wait for the loop."""
    threads = WorkerThreads(max_threads=4)
    yield threads
    threads.close()


async def run_in(threads: WorkerThreads, function: Any, *args: Any) -> Any:
    """Return what a function returns in a thread."""
    return await threads.run(function, *args, timeout_seconds=20)


def test_calls_run_at_once_and_more_wait_their_turn(usual_threads: WorkerThreads) -> None:
    """Four calls meet at a barrier, so they run at once; forty come to an end with four threads."""
    barrier = threading.Barrier(4)

    async def run() -> tuple[set[str], list[int]]:
        names = await asyncio.gather(*(run_in(usual_threads, meet) for _ in range(4)))
        return set(names), await asyncio.gather(*(run_in(usual_threads, pow, number, 2) for number in range(40)))

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
        return str(await run_in(threads, COLOUR.get))

    assert asyncio.run(run()) == "blue"


def test_exception_reaches_the_caller_and_the_thread_goes_on(threads: WorkerThreads) -> None:
    """Also one that would end a program."""

    async def run() -> int:
        with pytest.raises(ZeroDivisionError):
            await run_in(threads, divmod, 1, 0)
        with pytest.raises(RuntimeError, match="SystemExit"):
            await run_in(threads, exit_program)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await run_in(threads, next, iter(()))
        return int(await run_in(threads, pow, 2, 3))

    def exit_program() -> None:
        raise SystemExit(3)

    assert asyncio.run(run()) == 8


def test_call_that_ends_after_its_loop_is_forgotten(usual_threads: WorkerThreads) -> None:
    """A thread whose answer comes too late serves the next loop."""
    may_end = threading.Event()

    async def give_up() -> None:
        task = asyncio.create_task(run_in(usual_threads, may_end.wait, 20))
        await asyncio.sleep(0)
        task.cancel()

    async def run() -> int:
        return int(await run_in(usual_threads, pow, 2, 3))

    asyncio.run(give_up())
    may_end.set()
    assert asyncio.run(run()) == 8


def test_loop_goes_on_when_a_function_takes_longer(usual_threads: WorkerThreads) -> None:
    """The loop waits for a moment, and then does what the function waits for."""
    may_end = threading.Event()

    async def run() -> bool:
        answer, _ = await asyncio.gather(run_in(usual_threads, may_end.wait, 20), asyncio.to_thread(may_end.set))
        return bool(answer)

    assert asyncio.run(run())


def test_loop_waits_for_one_function_at_a_time(usual_threads: WorkerThreads) -> None:
    """While one takes longer, the loop waits for no other: a hundred hanging ones hold it up like one."""
    may_end = threading.Event()

    async def run() -> list[bool]:
        first = asyncio.create_task(run_in(usual_threads, may_end.wait, 20))
        await asyncio.sleep(0)
        usual_threads._brief_seconds = 20.0
        second = asyncio.create_task(run_in(usual_threads, may_end.wait, 20))
        await asyncio.sleep(0)
        may_end.set()
        return [await first, await second]

    assert asyncio.run(run()) == [True, True]


def test_function_that_takes_too_long_is_given_up(threads: WorkerThreads) -> None:
    """The time limit holds while the loop waits, too."""
    may_end = threading.Event()

    async def run() -> None:
        with pytest.raises(TimeoutError):
            await threads.run(may_end.wait, 20, timeout_seconds=0.01)
        may_end.set()

    asyncio.run(run())


def test_task_that_is_cancelled_gets_no_result(threads: WorkerThreads) -> None:
    """Neither one that was cancelled before, nor one that is cancelled while the function runs to its end."""

    async def cancel_first() -> int:
        asyncio.current_task().cancel()  # type: ignore[union-attr]
        return int(await run_in(threads, pow, 2, 3))

    async def cancel_meanwhile() -> int:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        return int(await run_in(threads, cancel, loop, task))

    def cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[int]) -> int:
        loop.call_soon_threadsafe(task.cancel)
        return 8

    async def run() -> list[object]:
        return await asyncio.gather(cancel_first(), return_exceptions=True) + await asyncio.gather(
            cancel_meanwhile(), return_exceptions=True
        )

    assert [type(outcome) for outcome in asyncio.run(run())] == [asyncio.CancelledError] * 2


def test_forked_process_starts_threads_of_its_own(threads: WorkerThreads) -> None:
    """A server that loads before it forks decides in its children too."""

    async def run() -> int:
        return int(await run_in(threads, pow, 2, 3))

    assert asyncio.run(run()) == 8
    if (child := os.fork()) == 0:
        os._exit(asyncio.run(asyncio.wait_for(run(), 20)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 8


def test_close_ends_the_threads(threads: WorkerThreads) -> None:
    """Nothing is left when what used them is gone."""

    async def run() -> threading.Thread:
        return await run_in(threads, threading.current_thread)

    thread = asyncio.run(run())
    threads.close()
    thread.join(20)
    assert not thread.is_alive()
