"""Thresholds that were passed: a marker so that it is told once, and a note where the agent's memory is kept."""

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
    """The JSON lines of a file written since a time, the newest first; reading ends at the first older one.

    Read backwards piece by piece, so that memory stays bounded however long the file is.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        end, held = os.fstat(fd).st_size, b""
        while end > 0:
            start = max(0, end - CHUNK_BYTES)
            parts = (os.pread(fd, end - start, start) + held).split(b"\n")
            end, held = start, parts[0][-CHUNK_BYTES:]
            for part in reversed(parts[1:] if start else parts):
                try:
                    line = json.loads(part)
                except (ValueError, RecursionError):
                    continue
                if not isinstance(line, dict) or not isinstance(line.get("ts"), int | float):
                    continue
                if line["ts"] < since:
                    return
                yield line
    finally:
        os.close(fd)


def mark_first_breach(marker: Path, key: str, now: float, since: float) -> bool:
    """Whether a threshold was not yet passed since a time; that it was now is marked. What is older than a month is forgotten."""
    marker.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _lock_marker(marker) as file:
        known = _parse_marks(file)
        if known.get(key, -1.0) >= since:
            return False
        _write_marks(file, {**{name: when for name, when in known.items() if when > now - MONTH_SECONDS}, key: now})
    return True


def read_marks(marker: Path) -> dict[str, float]:
    """When each threshold was last passed."""
    try:
        with open(marker, encoding="utf-8", errors="replace") as file:
            return _parse_marks(file)
    except OSError:
        return {}


def clear_mark(marker: Path, key: str) -> None:
    """Forgets that a threshold was passed."""
    if key not in read_marks(marker):
        return
    with _lock_marker(marker) as file:
        known = _parse_marks(file)
        known.pop(key, None)
        _write_marks(file, known)


def day_start(now: float) -> float:
    """When the present day began, in UTC."""
    return now - now % DAY_SECONDS


@contextmanager
def _lock_marker(marker: Path) -> Iterator[TextIO]:
    fd = os.open(marker, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with open(fd, "r+", encoding="utf-8", errors="replace") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _parse_marks(file: TextIO) -> dict[str, float]:
    try:
        known = json.load(file)
    except (ValueError, RecursionError):
        return {}
    pairs = known.items() if isinstance(known, dict) else ()
    return {name: float(when) for name, when in pairs if isinstance(when, int | float)}


def _write_marks(file: TextIO, marks: dict[str, float]) -> None:
    file.seek(0)
    file.truncate()
    json.dump(marks, file)


def append_note(memory: str, name: str, title: str, text: str, notices: str = "") -> None:
    """Adds a note beside a memory file and names it in that file, once; and a line in the file of notices, if there is one."""
    if memory:
        index = Path(memory)
        index.parent.mkdir(parents=True, exist_ok=True)
        with open(index.parent / name, "a", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(f"{text}\n")
        with open(index, "a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            if f"({name})" not in file.read():
                file.write(f"- [{title}]({name})\n")
    if notices:
        with open(notices, "a", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(f"{text}\n")


def note_crashes(home: Path, hook: str, now: float, *, threshold: int, memory: str, notices: str = "") -> bool:
    """Writes a note of its own for a hook that crashed too often in the last hour; whether it did."""
    count = sum(1 for line in read_recent_lines(home / CRASH_FILE, now - HOUR_SECONDS) if line.get("hook") == hook)
    if count < threshold or not mark_first_breach(home / CRASH_MARKER_FILE, hook, now, day_start(now)):
        return False
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", hook)[:80]
    text = f"- the hook `{hook}` crashed {count} times within an hour, last at {int(now)}; run `verdikt doctor`."
    append_note(memory, f"feedback_hook_crash_{name}.md", f"crashes of the hook {hook}", text, notices)
    return True
