"""Waking a thread that waits in `select`."""

import os
from contextlib import suppress


class WakeupPipe:
    """A pipe whose only message is that there is one. `ring` may be called from any thread and from a signal handler."""

    def __init__(self) -> None:
        self._read_fd, self.write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        os.set_blocking(self.write_fd, False)

    def fileno(self) -> int:
        """The descriptor, for a selector."""
        return self._read_fd

    def notify(self) -> None:
        """Wakes whoever listens, now or as soon as they do."""
        with suppress(BlockingIOError):
            os.write(self.write_fd, b"!")

    def drain(self) -> None:
        """Takes what was rung, so that it counts once."""
        with suppress(BlockingIOError):
            os.read(self._read_fd, 4096)
