"""Hooks that crash again and again: counted by the hour, told once a day for each hook."""

import re
from pathlib import Path

from verdikt.observe.crash_log import CRASH_FILE
from verdikt.observe.threshold_alerts import append_note, day_start, mark_first_breach, read_recent_lines

HOUR_SECONDS = 3600
MARKER_FILE = "_hook_crash_breach.json"


def note_crashes(home: Path, hook: str, now: float, *, threshold: int, memory: str, notices: str = "") -> bool:
    """Writes a note of its own for a hook that crashed too often in the last hour; whether it did."""
    count = sum(1 for line in read_recent_lines(home / CRASH_FILE, now - HOUR_SECONDS) if line.get("hook") == hook)
    if count < threshold or not mark_first_breach(home / MARKER_FILE, hook, now, day_start(now)):
        return False
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", hook)[:80]
    text = f"- the hook `{hook}` crashed {count} times within an hour, last at {int(now)}; run `verdikt doctor`."
    append_note(memory, f"feedback_hook_crash_{name}.md", f"crashes of the hook {hook}", text, notices)
    return True
