"""Bring the log of this machine into the store and keep it up to date, without a network."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from verdikt.errors import LedgerError, WireError
from verdikt.model.chain_head import ChainHead
from verdikt.serve.ingest import Submission
from verdikt.ship.log_source import LogSource
from verdikt.team.chain_extension import Continuation
from verdikt.team.wire import MAX_BATCH_BYTES, ReceivedLine, build_stretches

if TYPE_CHECKING:
    from pathlib import Path

    from verdikt.observe.clock import Clock
    from verdikt.serve.store import TeamStore

BATCH_LINES = 500


class LogImporter:
    """Reads a data directory's log from where the store ends. One thread uses it at a time."""

    def __init__(self, store: TeamStore, home: Path, clock: Clock, organisation: int, machine: int) -> None:
        self._store = store
        self._source = LogSource(home)
        self._clock = clock
        self._organisation = organisation
        self._machine = machine
        self.problems: dict[str, str] = {}
        """Session → why its log could not be read to the end."""

    def import_new_lines(self) -> int:
        """Store what the log has and the store has not; return the number of new entries."""
        changed = self._source.find_changed_sessions()
        if not changed:
            return 0
        heads = self._store.read_heads(self._machine)
        return sum(self._import_session(session, heads.get(session, (0, ChainHead()))[1]) for session in changed)

    def _import_session(self, session: str, head: ChainHead) -> int:
        stored_seq, restarted, has_lines = head.seq, False, False
        self.problems.pop(session, None)
        try:
            lines = self._source.read_lines(session, head.seq)
            while batch := _take_batch(lines):
                has_lines = True
                stretch = next(build_stretches(batch))
                submission = Submission(self._organisation, self._machine, stretch)
                result = self._store.ingest([submission], int(self._clock.now() * 1_000_000))[0]
                if result.continuation is Continuation.FORKS and not restarted:
                    # The log was rewritten. Both histories are kept; this one is stored from its first entry.
                    lines, restarted, stored_seq = self._source.read_lines(session, 0), True, 0
                    head = ChainHead()
                    continue
                if result.continuation is Continuation.MISSING:
                    self.problems[session] = f"entries before {stretch.first_seq} are no longer on this machine"
                    break
                stored_seq = result.head.seq
        except (LedgerError, WireError) as error:
            self.problems[session] = str(error)
        if head.seq and not has_lines:
            self.problems[session] = f"the log ends before entry {head.seq}, which was imported earlier"
        return stored_seq - head.seq


def _take_batch(lines: Iterator[ReceivedLine]) -> list[ReceivedLine]:
    """Return the next lines, at most as many and as large as one batch may be."""
    batch, size = [], 0
    for line in islice(lines, BATCH_LINES):
        batch.append(line)
        size += len(line.line)
        if size > MAX_BATCH_BYTES // 2:
            break
    return batch
