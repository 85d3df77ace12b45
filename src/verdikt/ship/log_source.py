"""The log of a data directory as something to be sent: which sessions changed, and their lines from an entry on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from verdikt.errors import LedgerError
from verdikt.ledger.changed_sessions import ChangedSessions
from verdikt.ledger.log_reader import LogReader
from verdikt.team.wire import ReceivedLine, parse_line

if TYPE_CHECKING:
    from pathlib import Path


class LogSource:
    """Reads a log without a lock. One thread uses it at a time."""

    def __init__(self, home: Path) -> None:
        self._reader = LogReader(home / "ledger")
        self._changes = ChangedSessions(self._reader)

    def find_changed_sessions(self) -> list[str]:
        """Return the sessions whose file has another size than at the last call; archives at the first call only."""
        return self._changes.find_sessions()

    def forget_sizes(self) -> None:
        """Let the next call return every session."""
        self._changes.forget_sizes()

    def read_seq(self, session: str) -> int:
        """Return the number of a session's last entry; 0 when its log is damaged."""
        try:
            return self._reader.read_head(session).seq
        except LedgerError:
            return 0

    def read_lines(self, session: str, since: int) -> Iterator[ReceivedLine]:
        """Yield the verified lines from entry `since` on, that one included.

        It is sent again although it is stored: its hash shows whether the log was rewritten before it.
        """
        for line in self._reader.read_lines(session, since=max(since - 1, 0)):
            yield parse_line(line)
