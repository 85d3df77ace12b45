"""Find the descriptors, threads and processes that tests leave behind.

Every test worker compares what is open at its end with what was open at its start. In between it notes after which test
something new appeared, so that the report can name the test that has to close it.
"""

import gc
import os
import re
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from pathlib import Path

GRACE_SECONDS = 60.0
"""A thread that was told to stop and a process that was killed may need this long to disappear on a busy machine."""

_watched_directories: set[Path] = set()


def watch_directory(directory: Path) -> None:
    """Treat every process that works in this directory as one that a test started."""
    _watched_directories.add(directory)


def list_descriptors() -> set[str]:
    """Return the open file descriptors of this process, each with what it refers to."""
    descriptors = set()
    # Without /proc, as on macOS, only threads are checked.
    for number in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue  # the descriptor that listed the directory
        if int(number) <= 2:
            continue  # pytest exchanges the standard streams between the phases of a test
        # The tracker that `multiprocessing` starts lives until the interpreter ends, and so does the pipe to it.
        if int(number) != _resource_tracker_descriptor():
            descriptors.add(f"descriptor {number}: {target}")
    return descriptors


def list_threads() -> set[str]:
    """Return the running threads of this process."""
    return {f"thread {thread.name} ({thread.ident})" for thread in threading.enumerate()}


def list_children() -> set[str]:
    """Return the child processes of this process."""
    return {_describe_process(pid) for pid in _list_child_pids() if not _is_resource_tracker(pid)}


def list_orphans() -> set[str]:
    """Return the processes that work in a directory of the tests, whether they are children of this process or not."""
    processes = find_processes(_watched_directories)
    return {f"{_describe_process(pid)} in {path}" for pid, path in processes.items() if pid not in _list_child_pids()}


def find_processes(directories: Iterable[Path]) -> dict[int, str]:
    """Return the processes that work below one of the directories, each with the path that shows it.

    A warm process leaves the process group of the hook that started it, and outlives it. Its directory stays visible
    in its arguments, in its environment or as its working directory.
    """
    below = re.compile(b"|".join(re.escape(os.fsencode(each)) + rb"(?:/[^\0:]*)?(?=[\0:]|$)" for each in directories))
    processes = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            visible = [process.joinpath(part).read_bytes() for part in ("environ", "cmdline")]
            visible.append(os.fsencode(os.readlink(process / "cwd")))
        except OSError:
            continue  # another user's, or it has just ended
        if int(process.name) != os.getpid() and (match := below.search(b"\0".join(visible))):
            processes[int(process.name)] = os.fsdecode(match[0])
    return processes


def reap_children(pids: Iterable[int]) -> bool:
    """Take the exit status of all children that have ended, and return whether none of these is left."""
    with suppress(ChildProcessError):  # there is no child at all
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return _list_child_pids().isdisjoint(pids)


def list_resources() -> set[str]:
    """Return the open descriptors, the threads and the child processes of this process."""
    return list_descriptors() | list_threads() | list_children()


def _list_child_pids() -> set[int]:
    pids: set[int] = set()
    for children in Path("/proc/self/task").glob("*/children"):
        try:
            pids.update(int(pid) for pid in children.read_text().split())
        except OSError:
            continue  # the thread ended meanwhile
    return pids


def _resource_tracker_descriptor() -> int:
    descriptor = resource_tracker._resource_tracker._fd  # type: ignore[attr-defined]
    return -1 if descriptor is None else int(descriptor)


def _is_resource_tracker(pid: int) -> bool:
    return bool(resource_tracker._resource_tracker._pid == pid)  # type: ignore[attr-defined]


def _describe_process(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        words = ""
    return f"process {pid}: {words[:200] or 'ended, but not waited for'}"


@dataclass
class LeftoverTracker:
    """What was open when the worker began, and which test opened what came later."""

    baseline: set[str] = field(default_factory=list_resources)
    openers: dict[str, str] = field(default_factory=dict)
    current_test: str = "no test"

    def note_new_resources(self) -> None:
        """Remember the current test as the opener of what is open now and was not before it."""
        present = list_resources() - self.baseline
        self.openers = {resource: self.openers.get(resource, self.current_test) for resource in present}

    def find_leftovers(self, grace_seconds: float = GRACE_SECONDS) -> list[str]:
        """Return one line for each resource that is left over, with the test that opened it."""
        gc.collect()
        end = time.monotonic() + grace_seconds
        while leftovers := (list_resources() | list_orphans()) - self.baseline:
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        return [
            f"{resource}, opened by {self.openers.get(resource, self.current_test)}" for resource in sorted(leftovers)
        ]
