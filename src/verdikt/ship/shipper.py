"""Send what the service does not have yet, from where it says that it ends."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import zstandard

from verdikt.errors import LedgerError, WireError
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.verdict import VerdictKind
from verdikt.ship.service_client import Refused, Unreachable
from verdikt.team.index_row import build_index, build_index_row
from verdikt.team.wire import format_index

if TYPE_CHECKING:
    from verdikt.observe.clock import Clock
    from verdikt.ship.log_source import LogSource
    from verdikt.ship.service_client import ServiceClient
    from verdikt.team.wire import ReceivedLine

BATCH_LINES = 300
BATCH_BYTES = 600_000
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0
LOOK_SECONDS = 1.0
SEND_SECONDS = 5.0
SEND_LINES = 64
"""New entries are sent after so many seconds, when there are so many of them, or at the look that finds an ask or a
block among them: many small batches cost the service more than a few large ones."""


@dataclass
class Shipper:
    """Sends a log. `problems` says of a session why its log cannot be sent to the end."""

    source: LogSource
    client: ServiceClient
    level: str = "full"
    problems: dict[str, str] = field(default_factory=dict)
    sent_count: int = 0
    _seqs: dict[str, int] | None = None
    _failures: int = 0
    _changed: set[str] = field(default_factory=set)
    """Sessions that were seen to have grown and are still to be sent."""

    def ship_new_lines(self) -> None:
        """Send everything that is new; raise `Unreachable` or `Refused` when the service does not take it."""
        if self._seqs is None:
            # The service knows best how far it is: nothing about it is stored here.
            heads = self.client.call("GET", "/v1/heads").get("heads")
            self._seqs = {session: _read_seq(head) for session, head in _as_mapping(heads).items()}
            self.source.forget_sizes()
        try:
            self._changed.update(self.source.find_changed_sessions())
            for session in sorted(self._changed):
                self._ship_session(session, self._seqs)
                self._changed.discard(session)
        except (Unreachable, Refused):
            # Which of them arrived is asked again.
            self._seqs = None
            raise
        self._failures = 0

    @property
    def acknowledged_seqs(self) -> dict[str, int]:
        """Session → the last entry that the service has, as far as it said so."""
        return dict(self._seqs or {})

    def count_unsent(self) -> int:
        """Return the entries of sessions that cannot be sent to their end."""
        seqs = self._seqs or {}
        return sum(max(0, self.source.read_seq(session) - seqs.get(session, 0)) for session in self.problems)

    def wait_for_entries(self, clock: Clock) -> None:
        """Wait until what is new is worth sending, or for `SEND_SECONDS`."""
        started_at = clock.now()
        while 0 <= clock.now() - started_at < SEND_SECONDS:
            clock.sleep(LOOK_SECONDS)
            self._changed.update(self.source.find_changed_sessions())
            if self._is_urgent():
                return

    def _is_urgent(self) -> bool:
        seqs, count = self._seqs or {}, 0
        for session in self._changed:
            with suppress(LedgerError, WireError):
                for line in islice(self.source.read_lines(session, seqs.get(session, 0) + 1), SEND_LINES):
                    count += 1
                    if count >= SEND_LINES or _is_ask_or_block(line):
                        return True
        return False

    def choose_pause(self, error: Unreachable | Refused) -> float:
        """Return the seconds until the next attempt: longer after each failure, never the same on two machines."""
        self._failures += 1
        longest = min(FIRST_PAUSE_SECONDS * float(1 << min(self._failures - 1, 12)), LONGEST_PAUSE_SECONDS)
        requested_pause = error.retry_seconds if isinstance(error, Unreachable) else 0.0
        return min(max(requested_pause, longest * random.uniform(0.5, 1.0)), LONGEST_PAUSE_SECONDS)

    def _ship_session(self, session: str, seqs: dict[str, int]) -> None:
        self.problems.pop(session, None)
        lines = self.source.read_lines(session, seqs.get(session, 0))
        attempts = 0
        while batch := self._take_batch(session, lines):
            try:
                answer = self.client.call("POST", "/v1/entries", self._encode_batch(batch))
            except Refused as error:
                if error.status != 422:
                    raise
                self.problems[session] = str(error)
                return
            head = _as_mapping(_as_mapping(answer.get("heads")).get(session))
            became, seq = head.get("became"), _read_seq(head)
            seqs[session] = seq
            if became in ("extends", "repeats"):
                self.sent_count += len(batch) if became == "extends" else 0
                continue
            attempts += 1
            if attempts > 2 or (became == "missing" and batch[0].seq <= seq + 1):
                self.problems[session] = f"the service does not take entry {batch[0].seq}"
                return
            if became == "missing" and batch[0].seq > seq + 1 and self._find_first_seq(session) > seq + 1:
                self.problems[session] = f"entries before {self._find_first_seq(session)} are no longer on this machine"
                return
            # After a fork the service begins another chain, and names its end: the beginning.
            lines = self.source.read_lines(session, seq)

    def _find_first_seq(self, session: str) -> int:
        first = next(self.source.read_lines(session, 0), None)
        return first.seq if first else 0

    def _take_batch(self, session: str, lines: Iterator[ReceivedLine]) -> list[ReceivedLine]:
        batch: list[ReceivedLine] = []
        size = 0
        try:
            for line in lines:
                if self.level != "full" and line.fields["v"] == 1:
                    # Its hash covers the body itself, so it cannot be sent without.
                    self.problems[session] = f"entry {line.seq} was written by an older verdikt"
                    return batch
                batch.append(line)
                size += len(line.line)
                if len(batch) >= BATCH_LINES or size >= BATCH_BYTES:
                    break
        except (LedgerError, WireError) as error:
            self.problems[session] = str(error)
        return batch

    def _encode_batch(self, batch: list[ReceivedLine]) -> bytes:
        has_index = self.level == "index"
        data = b"".join(
            line.line if self.level == "full" else _leave_out_body(line, has_index=has_index) for line in batch
        )
        return zstandard.ZstdCompressor(level=3).compress(data)


def _is_ask_or_block(line: ReceivedLine) -> bool:
    return build_index_row(line.fields).verdict in (VerdictKind.ASK, VerdictKind.BLOCK)


def _leave_out_body(line: ReceivedLine, *, has_index: bool) -> bytes:
    """Return a line without its body, and what may be searched by instead."""
    entry = Entry(**{**line.fields, "kind": EntryKind(line.fields["kind"])})
    if not has_index:
        return entry.to_line(with_body=False)
    index = build_index(build_index_row(line.fields))
    return entry.to_line(with_body=False) + format_index(index)


def _as_mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_seq(head: Any) -> int:
    seq = _as_mapping(head).get("seq")
    return seq if type(seq) is int and seq >= 0 else 0
