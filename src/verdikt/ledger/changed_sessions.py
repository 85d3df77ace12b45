"""Which sessions have grown since the last look, for programs that send the log elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.ledger.log_reader import LogReader


class ChangedSessions:
    """Compares the sizes of the hot files. One thread uses it at a time."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._sizes: dict[str, int] = {}

    def find_sessions(self) -> list[str]:
        """Return the sessions whose file has another size than at the last call; archives at the first call only."""
        sizes = {path.name.removesuffix(".jsonl"): path.stat().st_size for path in self._reader.list_hot_files()}
        if not self._sizes:
            sessions = self._reader.list_sessions()
        else:
            changed = [name for name, size in sizes.items() if self._sizes.get(name) != size]
            sessions = [session for name in changed if (session := self._reader.find_session_id(name))]
        # Remembered before the files are read: what is written meanwhile is seen at the next call.
        self._sizes = sizes
        return sessions

    def forget_sizes(self) -> None:
        """Let the next call return every session."""
        self._sizes = {}
