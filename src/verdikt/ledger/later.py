"""Waiting for the disk later, when several entries can wait together."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from verdikt.ledger.log import LogFile


class Later:
    """What each thread has written and not waited for yet, while it collects that."""

    def __init__(self) -> None:
        self._of = threading.local()

    def begin(self) -> None:
        """From now on no update of this thread waits for the disk."""
        self._of.written = []

    def end(self) -> list[tuple[LogFile, int]]:
        """What must be handed to `LogFile.sync`, all of it, before any of it is promised."""
        found: list[tuple[LogFile, int]] | None = getattr(self._of, "written", None)
        self._of.written = None
        return found or []

    def takes(self, log: LogFile, written: int) -> bool:
        """Whether this thread collects, and sees to this one as well."""
        found = getattr(self._of, "written", None)
        if found is None:
            return False
        log.hasten()
        found.append((log, written))
        return True
