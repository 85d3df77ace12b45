"""The warm process's own log: what became of it, in lines for a person. Nothing of what it was asked."""

import os
import threading
from pathlib import Path

from verdikt.observe.clock import Clock, SystemClock

MAX_BYTES = 256 * 1024


class Journal:
    """`daemon.log`; when it is full it becomes `daemon.log.1`, and what was there goes."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self.path = path
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()

    def write_line(self, text: str) -> None:
        """Adds a line; a disk that does not take it is no reason to stop."""
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

    def read_tail(self, lines: int) -> list[str]:
        """The last lines, the oldest first."""
        found: list[str] = []
        for path in (self.path.with_name(f"{self.path.name}.1"), self.path):
            try:
                found += path.read_text("utf-8", "replace").splitlines()
            except OSError:
                continue
        return found[-lines:] if lines > 0 else []
