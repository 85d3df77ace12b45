"""`ledger/_gate_extraction_errors.log`: each stop at which no words could be got from a transcript, and why."""

import os
from datetime import UTC, datetime
from pathlib import Path

from verdikt.ledger.data_directory import make_private_directory
from verdikt.model.redaction import redact_text

LOG_FILE = "_gate_extraction_errors.log"
MOST_BYTES = 1024 * 1024
"""Of the file; when it is longer, its older half is dropped."""


def record_extraction(home: Path, *, session: str, status: str, text_empty: bool, transcript: str, now: float) -> None:
    """Adds one line. A text that is empty though the transcript was read is a turn still under way, and harmless."""
    when = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = redact_text(f"session={_to_one_line(session)} transcript={_to_one_line(transcript)}")[0]
    line = f"{when} parse_status={status} text_empty={text_empty} {told}\n"
    path = make_private_directory(home / "ledger") / LOG_FILE
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(fd).st_size
        if size > MOST_BYTES:
            kept = os.pread(fd, MOST_BYTES // 2, size - MOST_BYTES // 2).partition(b"\n")[2]
            os.ftruncate(fd, 0)
            os.write(fd, kept)
        os.write(fd, line.encode("utf-8", "backslashreplace"))
    finally:
        os.close(fd)


def _to_one_line(text: str) -> str:
    return " ".join(text.split())[:300] or "-"
