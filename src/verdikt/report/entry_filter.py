"""Select log entries by time, project, host, verdict and rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.model.entry import Entry
from verdikt.report.entry_line import receipt_of, verdict_of


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFilter:
    """Conditions, all of which must hold; an empty one is none. Times are in seconds since the epoch."""

    since: float = 0.0
    until: float = 0.0
    project: str = ""
    host: str = ""
    verdict: str = ""
    rule: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether every entry is selected."""
        return self == EntryFilter()

    def matches(self, entry: Entry) -> bool:
        """Return whether an entry is selected; one without the field that is asked for is not."""
        if not self.is_in_time(entry):
            return False
        kind, rule = verdict_of(entry)
        if (self.verdict and kind != self.verdict) or (self.rule and rule != self.rule):
            return False
        return self.matches_place(entry)

    def is_in_time(self, entry: Entry) -> bool:
        """Return whether an entry was written in the time that is selected."""
        seconds = entry.timestamp_seconds
        return seconds >= self.since and not (self.until and seconds > self.until)

    def matches_place(self, entry: Entry) -> bool:
        """Return whether an entry comes from the host and the project that are selected."""
        action = _find_action(entry)
        if self.host and action.get("host") != self.host:
            return False
        directory = str(action.get("cwd", ""))
        return not self.project or directory == self.project or directory.startswith(self.project.rstrip("/") + "/")


def _find_action(entry: Entry) -> Mapping[str, Any]:
    """Return the action of a decision; a tool call has its fields in the entry itself."""
    action = receipt_of(entry).get("action")
    return action if isinstance(action, Mapping) else entry.body
