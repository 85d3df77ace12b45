"""The process beside the warm process that exports the log as telemetry."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from verdikt.daemon.client import get_python_flags
from verdikt.daemon.otlp_settings import SETTINGS_FILE

RESTART_SECONDS = 30.0
"""How long a process that ended by itself is not started again: it may fail for the same reason."""


class OtlpProcess:
    """Starts the exporter where `otlp.json` asks for it. It ends with this process, whose end closes its stdin."""

    def __init__(self, home: Path, now: Callable[[], float]) -> None:
        self._home = home
        self._now = now
        self._settings = str(home / SETTINGS_FILE)
        self._process: subprocess.Popen[bytes] | None = None
        self._start_after = float("-inf")

    def ensure_running(self) -> None:
        """Start the exporter if it is wanted and not there. Called between requests: one look at the disk."""
        if self._process is not None and self._process.poll() is not None:
            self._forget()
        if self._process is None and os.path.exists(self._settings) and self._now() >= self._start_after:
            self._start_after = self._now() + RESTART_SECONDS
            self._process = self._start()

    def close(self) -> None:
        """Let the exporter send what is left, and end; it is not waited for."""
        if self._process is not None:
            self._forget()

    def _start(self) -> subprocess.Popen[bytes] | None:
        command = [sys.executable, *get_python_flags(), "-m", "verdikt.daemon.otlp_export", str(self._home)]
        with suppress(OSError):
            return subprocess.Popen(
                command,
                cwd="/",
                env={"PATH": os.defpath},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        return None

    def _forget(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._process = None
