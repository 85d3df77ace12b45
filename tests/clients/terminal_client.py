"""A real client in a terminal of its own, with a person who reads the screen and presses keys."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

DOWN, ENTER, ESCAPE, SPACE = b"\x1b[B", b"\r", b"\x1b", b" "
_LINES, _COLUMNS = 50, 140
_PATIENCE_SECONDS, _REPEAT_SECONDS = 90.0, 5.0


class TerminalClient:
    """A program in a pseudo-terminal. `screen` is everything that it has drawn since the last key."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], directory: Path) -> None:
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(directory)
            os.execve(command[0], list(command), {**env, "TERM": "xterm-256color"})
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, _COLUMNS, 0, 0))
        self.screen = ""

    def wait_for(self, text: str) -> None:
        """Read the screen until a text without blanks is there; a client draws blanks in more than one way."""
        assert self._is_drawn(text, _PATIENCE_SECONDS), f"{text!r} is not on the screen: {self.screen[-3000:]!r}"

    def press(self, key: bytes, *, until: str) -> None:
        """Press a key until a text is drawn: a key that comes while the client still draws may be lost."""
        self.screen = ""
        for _ in range(int(_PATIENCE_SECONDS / _REPEAT_SECONDS)):
            os.write(self._terminal, key)
            if self._is_drawn(until, _REPEAT_SECONDS):
                return
        raise AssertionError(f"{until!r} is not on the screen: {self.screen[-3000:]!r}")

    def _is_drawn(self, text: str, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while text not in self.screen and time.monotonic() < deadline:
            self._read_some()
        return text in self.screen

    def _read_some(self) -> None:
        readable, _, _ = select.select([self._terminal], [], [], 0.2)
        if readable:
            self.screen += os.read(self._terminal, 65536).decode("utf-8", "replace")

    def close(self) -> None:
        """End the client."""
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)
