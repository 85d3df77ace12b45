"""Attempts to talk the agent past its checks: `overrides/<session>.jsonl`, and the threshold that makes them known."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from verdikt.ledger.data_directory import make_private_directory
from verdikt.ledger.session_filename import encode_session_filename
from verdikt.observe.threshold_alerts import DAY_SECONDS, append_note, mark_first_breach, read_recent_lines

MARKER_FILE = "_breach_marker.json"


def record_overrides(home: Path, session: str, matches: Sequence[tuple[str, str]], now: float) -> None:
    """Adds one line for a prompt that holds such words."""
    directory = make_private_directory(home / "overrides")
    line = {"ts": now, "session": session, "found": [{"kind": kind, "words": words} for kind, words in matches]}
    fd = os.open(
        directory / f"{encode_session_filename(session)}.jsonl",
        os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC,
        0o600,
    )
    try:
        os.write(fd, json.dumps(line).encode() + b"\n")
    finally:
        os.close(fd)


def count_overrides_since(home: Path, since: float) -> int:
    """How many prompts tried it since a time, in all sessions."""
    files = (home / "overrides").glob("*.jsonl")
    return sum(1 for file in files if file.stat().st_mtime >= since for _ in read_recent_lines(file, since))


def note_overrides(home: Path, now: float, *, threshold: int, memory: str, notices: str) -> bool:
    """Writes a note when the threshold is passed, once in 24 hours; whether it did."""
    count = count_overrides_since(home, now - DAY_SECONDS)
    if count < threshold or not mark_first_breach(
        home / "overrides" / MARKER_FILE, "overrides", now, now - DAY_SECONDS
    ):
        return False
    text = f"- {count} prompts in 24 hours asked to get past a check; the checks stay. Seen at {int(now)}."
    append_note(memory, "feedback_override_pattern.md", "prompts that ask to get past checks", text, notices)
    return True
