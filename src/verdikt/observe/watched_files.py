"""Answers about the disk that stay true while the files they were read from stay as they are."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from verdikt.observe.clock import Clock, SystemClock

SETTLE_NS = 2_000_000_000
"""A file can change twice within the resolution of its timestamps; an answer from a younger one is not kept."""
MAX_WATCHED_FILES = 400
"""More would cost more to compare than to read again."""

FileSignature = tuple[int, int, int, int, int] | None
"""Equal while a file is the same; None where there is none."""

V = TypeVar("V")


class WatchedFiles:
    """The files that an answer depends on, each with its state from just before it was read."""

    def __init__(self) -> None:
        self._signatures: dict[str, FileSignature] = {}
        self._is_complete = True

    def __len__(self) -> int:
        return len(self._signatures)

    def add(self, path: str) -> FileSignature:
        """Watch a path; call it before the file is read, so that a change in between shows."""
        if path not in self._signatures:
            self._signatures[path] = read_signature(path)
        return self._signatures[path]

    def give_up(self) -> None:
        """Mark that the answer also depends on what is not watched."""
        self._is_complete = False

    def has_changed(self) -> bool:
        """Return whether a watched file is another than it was."""
        return any(read_signature(path) != signature for path, signature in self._signatures.items())

    def is_settled(self, now: float) -> bool:
        """Return whether every change from now on will show."""
        if not self._is_complete or len(self._signatures) > MAX_WATCHED_FILES:
            return False
        # The time of the last status change is the one that a program cannot set.
        newest = max((signature[1] for signature in self._signatures.values() if signature), default=0)
        return now * 1e9 - newest > SETTLE_NS


def read_signature(path: str) -> FileSignature:
    """Return what changes when a file does: times, size, identity and mode."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
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
        with self._lock:
            cached = self._answers.get(key)
        if cached is not None and not cached[0].has_changed():
            return cached[1]
        watched = WatchedFiles()
        answer = look_up(watched)
        with self._lock:
            self._answers.pop(key, None)
            if watched.is_settled(self._clock.now()):
                self._answers[key] = watched, answer
                if len(self._answers) > self._capacity:
                    self._answers.popitem(last=False)
        return answer
