"""Archives that a team service does not have yet: they are kept beyond their time, as long as there is room."""

import json
from collections.abc import Sequence
from pathlib import Path

from verdikt.ledger.data_directory import encode_session_filename
from verdikt.ledger.log_file import ArchiveSegment

DEFAULT_MAX_UNSENT_BYTES = 5_000_000_000
ACKNOWLEDGED_NAME = "acknowledged.json"
"""In `ship/`: session → the last entry that the service has, as the sender wrote it."""

NamedArchive = tuple[str, ArchiveSegment]
"""The file name of a session, and one of its archives."""


class UnsentArchives:
    """What a machine that sends its log still has to send. On one that does not, nothing is unsent."""

    def __init__(self, home: Path) -> None:
        config = _read_object(home / "ship" / "config.json")
        self._is_enrolled = bool(config)
        limit = config.get("max_unsent")
        self._max_bytes = limit if type(limit) is int and limit >= 0 else DEFAULT_MAX_UNSENT_BYTES
        self._seqs = {
            encode_session_filename(session): seq
            for session, seq in _read_object(home / "ship" / ACKNOWLEDGED_NAME).items()
            if type(seq) is int
        }

    def has(self, named: NamedArchive) -> bool:
        """Return whether an archive has entries that were not acknowledged."""
        name, archive = named
        return self._is_enrolled and archive.last_seq > self._seqs.get(name, 0)

    def choose_dropped(self, archives: Sequence[NamedArchive], expired: Sequence[NamedArchive]) -> list[NamedArchive]:
        """Return which of the expired ones have to go although they are unsent: the oldest, until the limit holds."""
        unsent_bytes = sum(named[1].path.stat().st_size for named in archives if self.has(named))
        dropped = []
        for named in sorted(filter(self.has, expired), key=lambda item: item[1].path.stat().st_mtime):
            if unsent_bytes <= self._max_bytes:
                break
            unsent_bytes -= named[1].path.stat().st_size
            dropped.append(named)
        return dropped


def _read_object(path: Path) -> dict[str, object]:
    """Return an object of a JSON file; empty when there is none, or it is damaged."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
