"""Records that wait until a conversation pauses: in order, bounded, and before the next decision."""

import threading
from collections.abc import Iterator

import pytest

from verdikt.mcp import deferred_work
from verdikt.mcp.deferred_work import DeferredWork


@pytest.fixture
def done() -> list[int | str]:
    """Return what was done, in order."""
    return []


@pytest.fixture
def work(done: list[int | str]) -> Iterator[DeferredWork]:
    """Return work with its thread."""
    work = DeferredWork()
    thread = threading.Thread(target=work.run_until_end, args=(lambda: done.append("idle"),))
    thread.start()
    yield work
    work.end()
    thread.join(60)
    assert not thread.is_alive()


def test_what_waits_is_done_before_the_next_call(done: list[int | str]) -> None:
    """In order, by the thread that has the call; the thread of the log does not even run here."""
    work = DeferredWork()
    for number in range(3):
        work.add(lambda number=number: done.append(number))
    work.run_all()

    assert done == [0, 1, 2]


def test_what_no_call_comes_for_is_done_in_a_pause(work: DeferredWork, done: list[int | str]) -> None:
    """And the log is synced once it is quiet."""
    is_done = threading.Event()
    work.add(is_done.set)

    assert is_done.wait(60)
    for _ in range(600):
        if "idle" in done:
            return
        threading.Event().wait(0.1)
    raise AssertionError("the log was not synced")


def test_a_call_waits_for_work_that_has_begun(work: DeferredWork, done: list[int | str]) -> None:
    """Otherwise the next decision would not know what came of the last call."""
    has_begun, may_end = threading.Event(), threading.Event()

    def record() -> None:
        has_begun.set()
        may_end.wait(60)
        done.append(1)

    work.add(record)
    assert has_begun.wait(60)
    call = threading.Thread(target=lambda: (work.run_all(), done.append("decided")))
    call.start()
    may_end.set()
    call.join(60)

    assert [entry for entry in done if entry != "idle"] == [1, "decided"]


def test_what_waits_is_bounded(done: list[int | str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Who adds too much does it, so that a server cannot fill the memory."""
    monkeypatch.setattr(deferred_work, "MAX_WAITING", 2)
    work = DeferredWork()
    for number in range(3):
        work.add(lambda number=number: done.append(number))

    assert done == [0, 1, 2]


def test_what_waits_at_the_end_is_done(done: list[int | str]) -> None:
    """No record is lost because the client leaves at once."""
    work = DeferredWork()
    work.add(lambda: done.append(1))
    work.end()
    work.run_until_end(lambda: done.append("idle"))

    assert done == [1, "idle"]
