"""The process beside the warm one that sends the log to a team's service, on machines that are enrolled at one."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from verdikt.daemon.client import get_python_flags

CHECK_SECONDS = 30.0


class ShipCompanion:
    """Starts `verdikt ship run` and keeps it running; it ends with this process, however this one ends.

    Nothing of it is imported here, no hook waits for it, and it runs at the lowest priority.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._config = home / "ship" / "config.json"
        self._checked_at = 0.0
        self._pid = 0
        self._pipe = -1

    def check(self) -> None:
        """Start the process where it should run and does not; looks at most every `CHECK_SECONDS`."""
        now = time.monotonic()
        if self._checked_at and now - self._checked_at < CHECK_SECONDS:
            return
        self._checked_at = now
        if self._pid and not self._has_ended():
            return
        if self._config.exists():
            self._start()

    def close(self) -> None:
        """Let the process end: it reads the other end of the pipe."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def _has_ended(self) -> bool:
        try:
            ended = os.waitpid(self._pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            ended = True
        if ended:
            self._pid = 0
            self.close()
        return ended

    def _start(self) -> None:
        read_end, write_end = os.pipe()  # neither is inherited, but as the child's stdin
        command = [sys.executable, *get_python_flags(), "-m", "verdikt", "ship", "run", "--companion"]
        environment = {"VERDIKT_HOME": str(self._home), "PATH": os.defpath}
        files = [
            (os.POSIX_SPAWN_DUP2, read_end, 0),
            *((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)),
        ]
        with suppress(OSError, NotImplementedError, ValueError):
            self._pid = os.posix_spawn(sys.executable, command, environment, file_actions=files, setsid=True)
            self._pipe, write_end = write_end, -1
        os.close(read_end)
        if write_end >= 0:
            os.close(write_end)
