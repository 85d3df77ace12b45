"""The check for leftovers itself: each kind of resource is reported, with the test that opened it."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cleanup import close_after_test, collect_resources
from tests.leftovers import LeftoverTracker, find_processes

if not os.path.isdir("/proc/self/fd"):
    pytest.skip("needs /proc, to see descriptors and processes", allow_module_level=True)


def find_new(tracker: LeftoverTracker) -> list[str]:
    """Return what is left over, as if a test had just ended and the worker with it."""
    tracker.current_test = "test_that_opens"
    tracker.note_new_resources()
    tracker.current_test = "test_that_comes_later"
    return tracker.find_leftovers(grace_seconds=0)


def test_nothing_new_is_no_leftover() -> None:
    """A tracker reports nothing when nothing was opened."""
    assert find_new(LeftoverTracker()) == []


def test_open_descriptor_is_reported_with_its_test() -> None:
    """A file that stays open is reported by its name."""
    tracker = LeftoverTracker()
    with open(__file__, encoding="utf-8"):
        (leftover,) = find_new(tracker)

    assert leftover.startswith("descriptor ")
    assert leftover.endswith(f"{__file__}, opened by test_that_opens")


def test_running_thread_is_reported_with_its_test() -> None:
    """A thread that still runs is reported by its name."""
    tracker, release = LeftoverTracker(), threading.Event()
    thread = threading.Thread(target=release.wait, name="waiter")
    thread.start()
    leftovers = find_new(tracker)
    release.set()
    thread.join()

    assert len(leftovers) == 1
    assert leftovers[0].startswith("thread waiter")


@contextmanager
def run_child(**options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a child that waits; it has come so far that the system shows its arguments and environment."""
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


def test_child_process_is_reported_with_its_command() -> None:
    """A child that runs, or that was never waited for, is reported."""
    tracker = LeftoverTracker()
    with run_child() as process:
        leftovers = [line for line in find_new(tracker) if line.startswith("process")]

    assert len(leftovers) == 1
    assert f"process {process.pid}: {sys.executable} -c print(flush=True); input()" in leftovers[0]


def test_process_is_found_by_the_directory_in_its_environment(tmp_path: Path) -> None:
    """A process is found by its environment, and not by a directory whose name only begins alike."""
    with run_child(env={"HOME": str(tmp_path / "home")}, start_new_session=True) as process:
        assert find_processes([tmp_path]) == {process.pid: str(tmp_path / "home")}
        assert find_processes([tmp_path / "hom"]) == {}


def test_registered_resources_are_closed_in_reverse_order() -> None:
    """`close_after_test` closes the last resource first."""
    closed: list[str] = []
    with collect_resources():
        for name in ("first", "second"):
            stack = ExitStack()
            stack.callback(closed.append, name)
            close_after_test(stack)
        assert closed == []

    assert closed == ["second", "first"]
