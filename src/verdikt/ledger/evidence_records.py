"""Files beside the log for people and scripts: contracts, attempts to talk past a check, unreadable transcripts.

`contracts/<session>/<seq>.yml`, `overrides/<session>.jsonl`, `ledger/_gate_extraction_errors.log`. The log stays the
authority: nothing reads a decision from these files.
"""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from verdikt.ledger.data_directory import encode_session_filename, make_private_directory
from verdikt.model.redaction import redact_text
from verdikt.observe.alerts import DAY_SECONDS, append_note, mark_first_breach, read_recent_lines

OVERRIDE_MARKER_FILE = "_breach_marker.json"
EXTRACTION_LOG_FILE = "_gate_extraction_errors.log"
MAX_EXTRACTION_LOG_BYTES = 1024 * 1024
"""Size of the extraction log at which its older half is dropped."""


def contract_path(home: Path, session: str, seq: int) -> Path:
    """Return the path of a contract's file."""
    return home / "contracts" / encode_session_filename(session) / f"{seq}.yml"


def write_contract(home: Path, session: str, seq: int, text: str) -> Path:
    """Write a contract's file, readable by its owner only, and return its path."""
    path = contract_path(home, session, seq)
    make_private_directory(path.parent)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return path


def record_overrides(home: Path, session: str, matches: Sequence[tuple[str, str]], now: float) -> None:
    """Append one line for a prompt that asks to get past a check; `matches` are pairs of kind and words."""
    directory = make_private_directory(home / "overrides")
    line = {"ts": now, "session": session, "found": [{"kind": kind, "words": words} for kind, words in matches]}
    fd = os.open(
        directory / f"{encode_session_filename(session)}.jsonl",
        os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC,
        0o600,
    )
    try:
        # One write call with O_APPEND: lines of parallel hooks do not mix.
        os.write(fd, json.dumps(line).encode() + b"\n")
    finally:
        os.close(fd)


def count_overrides_since(home: Path, since: float) -> int:
    """Return how many prompts of all sessions asked to get past a check since a time."""
    files = (home / "overrides").glob("*.jsonl")
    return sum(1 for file in files if file.stat().st_mtime >= since for _ in read_recent_lines(file, since))


def note_overrides(home: Path, now: float, *, threshold: int, memory: str, notices: str) -> bool:
    """Write a note when the threshold is reached, once in 24 hours; return whether it was written."""
    count = count_overrides_since(home, now - DAY_SECONDS)
    marker = home / "overrides" / OVERRIDE_MARKER_FILE
    if count < threshold or not mark_first_breach(marker, "overrides", now, now - DAY_SECONDS):
        return False
    text = f"- {count} prompts in 24 hours asked to get past a check; the checks stay. Seen at {int(now)}."
    append_note(memory, "feedback_override_pattern.md", "prompts that ask to get past checks", text, notices)
    return True


def record_extraction(home: Path, *, session: str, status: str, text_empty: bool, transcript: str, now: float) -> None:
    """Append one line for a stop at which the transcript gave no final message, with the reason.

    An empty text with status `ok` is harmless: the host has not finished writing the turn.
    """
    timestamp = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    source = redact_text(f"session={_to_one_line(session)} transcript={_to_one_line(transcript)}")[0]
    line = f"{timestamp} parse_status={status} text_empty={text_empty} {source}\n"
    path = make_private_directory(home / "ledger") / EXTRACTION_LOG_FILE
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(fd).st_size
        if size > MAX_EXTRACTION_LOG_BYTES:
            # Truncated in place: parallel hooks have the same file open for appending.
            half = MAX_EXTRACTION_LOG_BYTES // 2
            newest_lines = os.pread(fd, half, size - half).partition(b"\n")[2]
            os.ftruncate(fd, 0)
            os.write(fd, newest_lines)
        os.write(fd, line.encode("utf-8", "backslashreplace"))
    finally:
        os.close(fd)


def _to_one_line(text: str) -> str:
    return " ".join(text.split())[:300] or "-"
