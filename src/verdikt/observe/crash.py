"""Where a hook that failed leaves a trace, when nothing else of verdikt may be relied on."""

from __future__ import annotations

import os

from verdikt.model.redaction import redact_text
from verdikt.observe.clock import SystemClock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

FILE = "_hook_crashes.jsonl"


def record_crash(directory: Path, hook: str, error: BaseException, *, note: str = "") -> bool:
    """Adds one line about the failure to the directory's crash file; whether it could be written."""
    import json  # loads more than a hook needs that does not fail

    line = {
        "ts": SystemClock().now(),
        "hook": hook,
        "error": type(error).__name__,
        "message": redact_text(_words(error)[:500])[0],
        "note": note,
    }
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        # One write of one line: lines of several processes do not mix.
        fd = os.open(directory / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, json.dumps(line).encode() + b"\n")
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return False
    return True


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an error of somebody else's may fail in any way when it is to be told
        return ""
