"""Waiting for the disk later, when several entries can wait together."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.ledger.log_file import LogFile


class GroupCommit:
    """What each thread has written and not waited for yet, while it collects that."""

    def __init__(self) -> None:
        self._thread_state = threading.local()

    def begin_batch(self) -> None:
        """From now on no update of this thread waits for the disk."""
        self._thread_state.written = []

    def end_batch(self) -> list[tuple[LogFile, int]]:
        """What must be handed to `LogFile.sync`, all of it, before any of it is promised."""
        found: list[tuple[LogFile, int]] | None = getattr(self._thread_state, "written", None)
        self._thread_state.written = None
        return found or []

    def defer_sync(self, log: LogFile, write_count: int) -> bool:
        """Whether this thread collects, and sees to this one as well."""
        found = getattr(self._thread_state, "written", None)
        if found is None:
            return False
        log.start_writeback()
        found.append((log, write_count))
        return True
