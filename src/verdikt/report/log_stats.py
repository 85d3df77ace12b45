"""Count log entries by verdict, guard, effect, session and kind."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from verdikt.model.entry import Entry
from verdikt.report.entry_line import effects_of, verdict_of


@dataclass(slots=True)
class LogStats:
    """Numbers of entries by several criteria. `guard` counts only what a guard asked about or blocked."""

    entries: int = 0
    kind: Counter[str] = field(default_factory=Counter)
    verdict: Counter[str] = field(default_factory=Counter)
    guard: Counter[str] = field(default_factory=Counter)
    effect: Counter[str] = field(default_factory=Counter)
    session: Counter[str] = field(default_factory=Counter)

    def record(self) -> dict[str, Any]:
        """Return the counts as plain data, the most frequent first."""
        tables = {name: dict(getattr(self, name).most_common()) for name in TABLES}
        return {"entries": self.entries, **tables}


TABLES = ("verdict", "guard", "effect", "kind", "session")


def count_entries(entries: Iterable[Entry]) -> LogStats:
    """Count the entries."""
    stats = LogStats()
    for entry in entries:
        stats.entries += 1
        stats.kind[entry.kind.value] += 1
        stats.session[entry.session] += 1
        verdict, guard = verdict_of(entry)
        if verdict:
            stats.verdict[verdict] += 1
        # The guard of a pass stopped nothing: counting it would hide the guards that matter.
        if verdict in ("ask", "block") and guard:
            stats.guard[guard] += 1
        stats.effect.update(effects_of(entry))
    return stats
