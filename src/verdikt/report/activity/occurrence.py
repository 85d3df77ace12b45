"""One thing that happened, as a report lists it, and lists of such things that stay small over a long log."""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from verdikt.model.action import describe_payload
from verdikt.model.entry import Entry
from verdikt.report.entry_line import receipt_of
from verdikt.report.findings import escape_nonprintable

MAX_TEXT = 300
"""Characters of a command that a report shows."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Occurrence:
    """One entry of the log in a report; `seconds` is its time since the epoch. Ordered by time."""

    seconds: float
    session: str
    seq: int
    what: str
    verdict: str = ""
    rule: str = ""
    reason: str = ""
    note: str = ""
    milliseconds: float = 0.0

    def to_record(self) -> dict[str, Any]:
        """Return the fields that are set, as plain data."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in fields.items() if value}

    def with_note(self, note: str) -> "Occurrence":
        """Return the same occurrence with a note."""
        return replace(self, note=shorten_text(note))


def shorten_text(text: str) -> str:
    """Return a text in one line, printable, and not too long: it comes from an agent."""
    line = escape_nonprintable(" ".join(text[: 4 * MAX_TEXT].split()))
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 1] + "…"


def occurrence_from_decision(entry: Entry) -> Occurrence:
    """Return the decision of an entry as a report lists it."""
    receipt = receipt_of(entry)
    verdict, action = receipt.get("verdict"), receipt.get("action")
    verdict = verdict if isinstance(verdict, Mapping) else {}
    action = action if isinstance(action, Mapping) else {}
    return Occurrence(
        seconds=entry.timestamp_seconds,
        session=shorten_text(entry.session),
        seq=entry.seq,
        what=shorten_text(f"{action.get('tool', '')} {describe_payload(action.get('payload'))}".strip()),
        verdict=shorten_text(str(verdict.get("kind", ""))),
        rule=shorten_text(str(verdict.get("guard", ""))),
        reason=shorten_text(str(verdict.get("reason") or "")),
    )


@dataclass(slots=True)
class OccurrenceList:
    """Counts everything that is added and keeps the greatest occurrences by `order`, at most `limit` of them.

    `order` is a field of an occurrence: by `seconds`, the newest are kept.
    """

    limit: int = 100
    order: str = "seconds"
    total: int = 0
    _heap: list[tuple[float, Occurrence]] = field(default_factory=list)

    def add(self, occurrence: Occurrence) -> None:
        """Count an occurrence, and keep it if it is among the greatest."""
        self.total += 1
        item = (float(getattr(occurrence, self.order)), occurrence)
        # The log is read session by session, so what comes later need not be newer.
        if len(self._heap) < self.limit:
            heapq.heappush(self._heap, item)
        else:
            heapq.heappushpop(self._heap, item)

    @property
    def omitted_count(self) -> int:
        """How many occurrences were counted and not kept."""
        return self.total - len(self._heap)

    def __iter__(self) -> Iterator[Occurrence]:
        """Iterate over the kept occurrences, the greatest (by default: the newest) first."""
        return (occurrence for _, occurrence in sorted(self._heap, reverse=True))

    def to_record(self) -> dict[str, Any]:
        """Return the number and the kept occurrences as plain data."""
        return {"count": self.total, "listed": [occurrence.to_record() for occurrence in self]}
