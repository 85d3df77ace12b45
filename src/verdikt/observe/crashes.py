"""Hooks that crash again and again: counted by the hour, told once a day for each hook."""

import re
from pathlib import Path

from verdikt.observe.breach import day_start, first_since, note, recent_lines
from verdikt.observe.crash import FILE

HOUR = 3600
MARKER = "_hook_crash_breach.json"


def note_crashes(home: Path, hook: str, now: float, *, threshold: int, memory: str, notices: str = "") -> bool:
    """Writes a note of its own for a hook that crashed too often in the last hour; whether it did."""
    count = sum(1 for line in recent_lines(home / FILE, now - HOUR) if line.get("hook") == hook)
    if count < threshold or not first_since(home / MARKER, hook, now, day_start(now)):
        return False
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", hook)[:80]
    text = f"- the hook `{hook}` crashed {count} times within an hour, last at {int(now)}; run `verdikt doctor`."
    note(memory, f"feedback_hook_crash_{name}.md", f"crashes of the hook {hook}", text, notices)
    return True
