"""Thresholds that were passed: a marker so that it is told once, and a note where the agent's memory is kept."""

import fcntl
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

CHUNK = 64 * 1024


def recent_lines(path: Path, since: float) -> Iterator[dict[str, Any]]:
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
            start = max(0, end - CHUNK)
            parts = (os.pread(fd, end - start, start) + held).split(b"\n")
            end, held = start, parts[0][-CHUNK:]
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


def first_today(marker: Path, key: str, now: float) -> bool:
    """Whether this is the first time today that a threshold was passed; the marker is set."""
    day = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
    marker.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fd = os.open(marker, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with open(fd, "r+", encoding="utf-8", errors="replace") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            known = json.load(file)
        except (ValueError, RecursionError):
            known = {}
        known = known if isinstance(known, dict) else {}
        if known.get(key) == day:
            return False
        known[key] = day
        file.seek(0)
        file.truncate()
        json.dump(known, file)
    return True


def note(memory: str, name: str, title: str, text: str, notices: str = "") -> None:
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
