"""Group commit: a thread writes several entries and waits for the disk once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.ledger.log_file import LogFile


class GroupCommit:
    """The writes that each thread has made and not synced yet, while it collects a batch."""

    def __init__(self, *, starts_writeback: bool = True) -> None:
        """Collect writes; without `starts_writeback`, for a thread that syncs at once what it has collected."""
        self._thread_state = threading.local()
        self._starts_writeback = starts_writeback

    def begin_batch(self) -> None:
        """Collect this thread's writes from now on, instead of waiting for the disk after each."""
        self._thread_state.written = []

    def end_batch(self) -> list[tuple[LogFile, int]]:
        """Return the collected writes; each must be passed to `LogFile.sync` before any of them is promised."""
        writes: list[tuple[LogFile, int]] | None = getattr(self._thread_state, "written", None)
        self._thread_state.written = None
        return writes or []

    def defer_sync(self, log: LogFile, write_count: int) -> bool:
        """Add a write to this thread's batch; return False when it collects none, and the caller must sync."""
        writes = getattr(self._thread_state, "written", None)
        if writes is None:
            return False
        if self._starts_writeback:
            # The disk starts working while the thread decides the next calls of its batch.
            log.start_writeback()
        writes.append((log, write_count))
        return True
