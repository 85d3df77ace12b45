"""Alerts about thresholds: recent events are counted, and a note is written once where the agent's memory is kept."""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from verdikt.observe.crash_log import CRASH_FILE

CHUNK_BYTES = 64 * 1024
DAY_SECONDS = 24 * 3600
MONTH_SECONDS = 31 * DAY_SECONDS
HOUR_SECONDS = 3600
CRASH_MARKER_FILE = "_hook_crash_breach.json"


def read_recent_lines(path: Path, since: float) -> Iterator[dict[str, Any]]:
    """Yield the JSON lines of a file written since a time, newest first, until the first older one.

    Reads backwards in pieces, so that memory stays bounded however long the file is.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        end, incomplete = os.fstat(fd).st_size, b""
        while end > 0:
            start = max(0, end - CHUNK_BYTES)
            parts = (os.pread(fd, end - start, start) + incomplete).split(b"\n")
            # A line longer than a chunk loses its middle, which bounds the memory.
            end, incomplete = start, parts[0][-CHUNK_BYTES:]
            for part in reversed(parts[1:] if start else parts):
                try:
                    line = json.loads(part)
                except (ValueError, RecursionError):
                    continue
                if not isinstance(line, dict) or not isinstance(line.get("ts"), int | float):
                    continue
                # Lines are appended in order of time, so nothing before this one is newer.
                if line["ts"] < since:
                    return
                yield line
    finally:
        os.close(fd)


def mark_first_breach(marker: Path, key: str, now: float, since: float) -> bool:
    """Mark that a threshold was passed now; return False when it was already marked since `since`.

    Marks older than a month are dropped.
    """
    marker.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _lock_marker(marker) as file:
        marks = _parse_marks(file)
        if marks.get(key, -1.0) >= since:
            return False
        _write_marks(file, {**{name: when for name, when in marks.items() if when > now - MONTH_SECONDS}, key: now})
    return True


def read_marks(marker: Path) -> dict[str, float]:
    """Return when each threshold was last passed."""
    try:
        with open(marker, encoding="utf-8", errors="replace") as file:
            return _parse_marks(file)
    except OSError:
        return {}


def clear_mark(marker: Path, key: str) -> None:
    """Remove the mark of a threshold."""
    if key not in read_marks(marker):
        return
    with _lock_marker(marker) as file:
        marks = _parse_marks(file)
        marks.pop(key, None)
        _write_marks(file, marks)


def day_start(now: float) -> float:
    """Return when the current day began, in UTC."""
    return now - now % DAY_SECONDS


@contextmanager
def _lock_marker(marker: Path) -> Iterator[TextIO]:
    fd = os.open(marker, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with open(fd, "r+", encoding="utf-8", errors="replace") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _parse_marks(file: TextIO) -> dict[str, float]:
    try:
        document = json.load(file)
    except (ValueError, RecursionError):
        return {}
    pairs = document.items() if isinstance(document, dict) else ()
    return {name: float(when) for name, when in pairs if isinstance(when, int | float)}


def _write_marks(file: TextIO, marks: dict[str, float]) -> None:
    file.seek(0)
    file.truncate()
    json.dump(marks, file)


def append_note(memory: str, name: str, title: str, text: str, notices: str = "") -> None:
    """Append a note beside a memory file and link it there once; also append it to the notices file, if one is set."""
    if memory:
        index = Path(memory)
        index.parent.mkdir(parents=True, exist_ok=True)
        with open(index.parent / name, "a", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(f"{text}\n")
        with open(index, "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            # The link is added once; the note itself grows.
            if f"({name})" not in file.read():
                file.write(f"- [{title}]({name})\n")
    if notices:
        with open(notices, "a", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(f"{text}\n")


def note_crashes(home: Path, hook: str, now: float, *, threshold: int, memory: str, notices: str = "") -> bool:
    """Write a note about a hook that crashed too often in the last hour, once a day; return whether it was written."""
    count = sum(1 for line in read_recent_lines(home / CRASH_FILE, now - HOUR_SECONDS) if line.get("hook") == hook)
    if count < threshold or not mark_first_breach(home / CRASH_MARKER_FILE, hook, now, day_start(now)):
        return False
    # The hook's name comes from a host's configuration and becomes part of a file name.
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", hook)[:80]
    text = f"- the hook `{hook}` crashed {count} times within an hour, last at {int(now)}; run `verdikt doctor`."
    append_note(memory, f"feedback_hook_crash_{name}.md", f"crashes of the hook {hook}", text, notices)
    return True
