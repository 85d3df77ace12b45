"""Self-pipe: wakes a thread that waits in `select`."""

import os
from contextlib import suppress


class WakeupPipe:
    """Self-pipe. `notify` may be called from any thread and from a signal handler."""

    def __init__(self) -> None:
        self._read_fd, self.write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        os.set_blocking(self.write_fd, False)

    def fileno(self) -> int:
        """Return the descriptor to register with a selector."""
        return self._read_fd

    def notify(self) -> None:
        """Wake the waiting thread, or the next one that waits."""
        # A full pipe already wakes the reader, so a byte that does not fit can be dropped.
        with suppress(BlockingIOError):
            os.write(self.write_fd, b"!")

    def drain(self) -> None:
        """Discard the pending notifications, so that each of them wakes a thread only once."""
        with suppress(BlockingIOError):
            os.read(self._read_fd, 4096)

    def close(self) -> None:
        """Close both ends. No thread may wait on the pipe or notify it any more."""
        os.close(self._read_fd)
        os.close(self.write_fd)
