"""The crash log: one line for each hook that failed, written without relying on the rest of verdikt."""

from __future__ import annotations

import json
import os
from pathlib import Path

from verdikt.model.redaction import redact_text
from verdikt.observe.clock import SystemClock

CRASH_FILE = "_hook_crashes.jsonl"

POLICY_FAULT = "policy"
"""The name under which a call is recorded that was blocked because the policy could not be loaded: no hook failed."""


def record_crash(directory: Path, hook: str, error: BaseException, *, note: str = "") -> bool:
    """Append one line about the failure to the directory's crash file; return whether it could be written."""
    line = {
        "ts": SystemClock().now(),
        "hook": hook,
        "error": type(error).__name__,
        "message": redact_text(_error_text(error)[:500])[0],
        "note": note,
    }
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        # One write of one line: lines of several processes do not mix.
        fd = os.open(directory / CRASH_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, json.dumps(line).encode() + b"\n")
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return False
    return True


def _error_text(error: BaseException) -> str:
    try:
        return str(error)
    # A foreign exception's `__str__` may raise anything, and this is the last place that can record it.
    except Exception:
        return ""
