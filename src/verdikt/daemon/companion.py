"""Processes beside the warm one that read the log: they send it to a team's service, and export it as telemetry."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from verdikt.daemon.client import get_python_flags
from verdikt.daemon.otlp_settings import SETTINGS_FILE
from verdikt.hosts.registry import SETTINGS_VARIABLES

RESTART_SECONDS = 30.0
"""How long a process that ended by itself is not started again: it may fail for the same reason."""


class Companion:
    """A process that runs while a file asks for it; it ends with this process, however this one ends.

    Nothing of it is imported here, and no hook waits for it.
    """

    def __init__(self, wanted_by: Path, module: Sequence[str], env: Mapping[str, str]) -> None:
        """Run `python -m MODULE…` with this environment where the file `wanted_by` exists."""
        self._wanted_by = str(wanted_by)
        self._module = tuple(module)
        self._env = {**env, "PATH": os.defpath}
        self._start_after = float("-inf")
        self._pid = 0
        self._pipe = -1

    def check(self) -> None:
        """Start the process if it is wanted and not there. Called between requests: one look at the disk."""
        if self._pid and not self._has_ended():
            return
        now = time.monotonic()
        if now >= self._start_after and os.path.exists(self._wanted_by):
            self._start_after = now + RESTART_SECONDS
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
        command = [sys.executable, *get_python_flags(), "-m", *self._module]
        files = [
            (os.POSIX_SPAWN_DUP2, read_end, 0),
            *((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)),
        ]
        with suppress(OSError, NotImplementedError, ValueError):
            self._pid = os.posix_spawn(sys.executable, command, self._env, file_actions=files, setsid=True)
            self._pipe, write_end = write_end, -1
        os.close(read_end)
        if write_end >= 0:
            os.close(write_end)


def create_sender(home: Path, env: Mapping[str, str]) -> Companion:
    """Return what sends the log, at the lowest priority, on a machine that is enrolled at a team's service.

    Of the environment it gets what moves the settings of hosts: it reports which of them name the hook.
    """
    module = ("verdikt", "ship", "run", "--companion")
    moved = {name: env[name] for name in SETTINGS_VARIABLES if name in env}
    return Companion(home / "ship" / "config.json", module, {**moved, "VERDIKT_HOME": str(home)})


def create_exporter(home: Path, *, system_wide: bool = False) -> Companion:
    """Return what exports the log, or the logs of all users, as telemetry, where `verdikt daemon otlp` asked for it."""
    options = ("--system",) if system_wide else ()
    return Companion(home / SETTINGS_FILE, ("verdikt.daemon.otlp_export", str(home), *options), {})
