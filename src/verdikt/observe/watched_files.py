"""Answers about the disk that stay true while the files they were read from stay as they are."""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from verdikt.observe.clock import Clock, SystemClock

SETTLE_NS = 100_000_000
"""A file can change twice within the resolution of its timestamps; an answer from a younger one is not kept.

The kernel's clock for files advances every 1 to 10 ms.
"""
COARSE_SETTLE_NS = 2_000_000_000
"""The same on file systems that store whole seconds (FAT: two)."""
FINE_RESOLUTION_NS = 10_000_000
"""A time that is no multiple of this one comes from a file system that stores fractions of seconds."""
MAX_SINGLE_LOOKS = 3
"""Missing names in one directory that are looked for one by one; of more, the directory is looked at."""
MAX_WATCHED_FILES = 400
"""More would cost more to compare than to read again."""

FileSignature = tuple[int, int, int, int, int] | None
"""Equal while a file is the same; None where there is none."""

V = TypeVar("V")


class WatchedFiles:
    """The files that an answer depends on, each with its state from just before it was read.

    Many names that do not exist are watched by the directory that they would be in: one look tells about all of them.
    """

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._present: dict[str, tuple[int, int, int, int, int]] = {}
        self._missing: dict[str, list[str]] = {}
        self._absent: set[str] = set()
        self._links: set[str] = set()
        self._directories: dict[str, FileSignature] = {}
        self._is_complete = True

    def __len__(self) -> int:
        return len(self._present) + len(self._absent)

    def add(self, path: str) -> FileSignature:
        """Watch a path; call it before the file is read, so that a change in between shows."""
        signature = self._present.get(path)
        if signature is not None or path in self._absent:
            return signature
        signature = self._look_at(path)
        if signature is None:
            self._absent.add(path)
            self._missing.setdefault(os.path.dirname(path), []).append(path)
        else:
            self._present[path] = signature
        return signature

    def is_link(self, path: str) -> bool:
        """Return whether a watched path is a symbolic link."""
        return path in self._links

    def _look_at(self, path: str) -> FileSignature:
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            return None
        if not stat.S_ISLNK(status.st_mode):
            return _build_signature(status)
        self._links.add(path)
        signature = read_signature(path)
        if signature is None:
            self.give_up()  # the directory of a link does not change when what it leads to comes to exist
        return signature

    def is_certain(self, path: str) -> bool:
        """Return whether the file at a watched path cannot change without getting another signature."""
        return is_signature_settled(self._present.get(path), self._now)

    def give_up(self) -> None:
        """Mark that the answer also depends on what is not watched."""
        self._is_complete = False

    def has_changed(self, now: float) -> bool:
        """Return whether a watched file is another than it was."""
        # Written out, and without a signature for each file: this runs in every decision about a git command.
        try:
            for path, signature in self._present.items():
                status = os.stat(path)
                if status.st_ctime_ns != signature[1] or _build_signature(status) != signature:
                    return True
        except (OSError, ValueError):
            return True
        for directory, paths in self._missing.items():
            if directory in self._present:
                continue  # compared already
            # `access` takes half the time of a `stat`, and a third of one that fails.
            if len(paths) <= MAX_SINGLE_LOOKS:
                for path in paths:
                    if os.access(path, os.F_OK):
                        return True
            elif self._has_new_file(directory, paths, now):
                return True
        return False

    def _has_new_file(self, directory: str, paths: list[str], now: float) -> bool:
        """Return whether one of many names has come to exist in a directory."""
        signature = read_signature(directory)
        if signature is not None and signature == self._directories.get(directory):
            return False
        if any(os.access(path, os.F_OK) for path in paths):
            return True
        # None of them was created up to now; what happens within the resolution of the time would not show.
        self._directories[directory] = signature if is_signature_settled(signature, now) else None
        return False

    @property
    def fingerprint(self) -> str:
        """A text that is another one when a watched file is."""
        return repr((sorted(self._present.items()), sorted(self._absent)))

    def is_settled(self) -> bool:
        """Return whether every change of what exists will show."""
        if not self._is_complete or len(self) > MAX_WATCHED_FILES:
            return False
        return all(is_signature_settled(signature, self._now) for signature in self._present.values())


def is_signature_settled(signature: FileSignature, now: float) -> bool:
    """Return whether a file that changes after `now` certainly gets another signature than this one."""
    if signature is None:
        return False
    # The time of the last status change is the one that a program cannot set.
    changed = signature[1]
    return now * 1e9 - changed > (SETTLE_NS if changed % FINE_RESOLUTION_NS else COARSE_SETTLE_NS)


def read_signature(path: str) -> FileSignature:
    """Return what changes when a file does: times, size, identity and mode."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return _build_signature(status)


def _build_signature(status: os.stat_result) -> tuple[int, int, int, int, int]:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode


class AnswerCache(Generic[V]):
    """LRU cache of answers, each used again only while its watched files are unchanged."""

    def __init__(self, capacity: int, clock: Clock | None = None) -> None:
        self._capacity = capacity
        self._clock = clock or SystemClock()
        self._answers: OrderedDict[Hashable, tuple[WatchedFiles, V]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, look_up: Callable[[WatchedFiles], V]) -> V:
        """Return the answer of a key, by looking it up where none is cached or a file has changed."""
        now = self._clock.now()
        with self._lock:
            cached = self._answers.get(key)
        if cached is not None and not cached[0].has_changed(now):
            return cached[1]
        watched = WatchedFiles(now)
        answer = look_up(watched)
        with self._lock:
            self._answers.pop(key, None)
            if watched.is_settled():
                self._answers[key] = watched, answer
                if len(self._answers) > self._capacity:
                    self._answers.popitem(last=False)
        return answer
