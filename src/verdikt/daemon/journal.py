"""The warm process's own log of starts, ends and refusals, for people. It holds nothing from the requests."""

import os
import threading
from pathlib import Path

from verdikt.observe.clock import Clock, SystemClock

MAX_BYTES = 256 * 1024


class Journal:
    """`daemon.log`; a full file is renamed to `daemon.log.1`, which replaces the one before."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self.path = path
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()

    def write_line(self, text: str) -> None:
        """Append one line. Errors are ignored: a full disk must not stop the process from deciding."""
        line = f"{self._clock.now():.3f} {os.getpid()} {' '.join(text.split())[:500]}\n"
        with self._lock:
            try:
                if self.path.exists() and self.path.stat().st_size > MAX_BYTES:
                    self.path.replace(self.path.with_name(f"{self.path.name}.1"))
                fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
                try:
                    os.write(fd, line.encode("utf-8", "replace"))
                finally:
                    os.close(fd)
            except OSError:
                return

    def read_tail(self, line_count: int) -> list[str]:
        """Return the last lines, oldest first."""
        lines: list[str] = []
        for path in (self.path.with_name(f"{self.path.name}.1"), self.path):
            try:
                lines += path.read_text("utf-8", "replace").splitlines()
            except OSError:
                continue
        return lines[-line_count:] if line_count > 0 else []
