"""What a report shows: counts, bounded lists and distributions over the selected part of the log."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from shlex import quote
from typing import Any

from verdikt.report.activity.block_outcome import OUTCOMES
from verdikt.report.activity.call_scope import CallScope
from verdikt.report.activity.occurrence import OccurrenceList
from verdikt.report.activity.percentiles import Percentiles

MAX_SCOPES = 500
"""Different commands and directories that are counted for one rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRange:
    """The time that a report is about, cut into equal periods, each with a label; in seconds since the epoch."""

    since: float
    until: float
    labels: tuple[str, ...]
    filters: Mapping[str, str] = field(default_factory=dict)

    @property
    def period_seconds(self) -> float:
        """The length of one period."""
        return (self.until - self.since) / len(self.labels)

    @property
    def period_name(self) -> str:
        """The length of one period in words: `6 hours`, `a day`, `5 days`."""
        hours = round(self.period_seconds / 3600)
        if hours < 1:
            return f"{max(1, round(self.period_seconds / 60))} minutes"
        if hours % 24 == 0:
            return "a day" if hours == 24 else f"{hours // 24} days"
        return "an hour" if hours == 1 else f"{hours} hours"

    def find_period(self, seconds: float) -> int:
        """Return the index of the period that a time lies in."""
        return min(len(self.labels) - 1, max(0, int((seconds - self.since) / self.period_seconds)))


@dataclass(slots=True)
class Period:
    """One period: decisions by verdict, and what was stopped in it."""

    label: str
    verdicts: Counter[str] = field(default_factory=Counter)
    stopped: OccurrenceList = field(default_factory=lambda: OccurrenceList(limit=25))


@dataclass(slots=True)
class AskedScope:
    """How often one command or directory was asked about, how often a person let it run, and whether it varied."""

    asked: int = 0
    approved: int = 0
    command: str = ""
    has_several_commands: bool = False


@dataclass(slots=True)
class RuleActivity:
    """One rule: how often it asked and blocked, what became of that, and what it was about."""

    name: str
    verdicts: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    examples: OccurrenceList = field(default_factory=lambda: OccurrenceList(limit=25))
    scopes: dict[tuple[str, str], AskedScope] = field(default_factory=dict)

    @property
    def stopped_count(self) -> int:
        """How often the rule asked or blocked."""
        return self.verdicts["ask"] + self.verdicts["block"]

    def count_ask(self, scope: CallScope, *, approved: bool) -> None:
        """Count the outcome of an ask for its command, its directories and its tool."""
        keys = [("command", scope.command)] if scope.command else []
        keys += [("path", directory) for directory in scope.directories]
        keys += [("tool", scope.tool)] if not keys and scope.tool else []
        for key in keys:
            # Bounded, because the commands come from the agent.
            if key in self.scopes or len(self.scopes) < MAX_SCOPES:
                counts = self.scopes.setdefault(key, AskedScope())
                counts.asked += 1
                counts.approved += approved
                counts.has_several_commands |= counts.asked > 1 and counts.command != scope.command
                counts.command = scope.command


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A change of the policy, the command that makes it, and what a replay says it would have changed."""

    rules: tuple[str, ...]  # the rule that asked, then others that object to the same
    scope: tuple[str, str]  # `command`, `path` or `tool`, and its value
    text: str
    proof: str = ""
    replayed: int = 0

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that make the exceptions."""
        kind, value = self.scope
        return tuple(f"verdikt allow {quote(rule)} --{kind} {quote(value)} --for always" for rule in self.rules)

    def to_record(self) -> dict[str, Any]:
        """Return the suggestion as plain data."""
        kind, value = self.scope
        texts = {"text": self.text, "commands": list(self.commands), "proof": self.proof}
        return {"rules": list(self.rules), kind: value, **texts, "replayed": self.replayed}


# Lists by name, in the order in which a report shows them → the title of each.
LISTS: dict[str, str] = {
    "blocks": "Blocked",
    "asks": "Asked",
    "passes": "Passed",
    **{name: f"After a block: {title}" for name, title in OUTCOMES.items()},
    "approved": "Asked, and a person let it run",
    "not_run": "Asked, and it did not run",
    "unproven": "Turns that ended unproven",
    "refused": "Stops that were refused for lack of proof",
    "slowest": "Slowest decisions",
    "operator": "Exceptions, grants and pauses",
    "granted": "Let through by a grant",
    "paused": "Let through during a pause",
    "crashes": "Crashes of verdikt",
    "sessions": "Sessions",
}


@dataclass(slots=True)
class Activity:
    """Everything that a report shows, as it is collected."""

    range: ReportRange
    periods: list[Period]
    decisions: int = 0
    turns: int = 0
    hosts: Counter[str] = field(default_factory=Counter)
    projects: Counter[str] = field(default_factory=Counter)
    rules: dict[str, RuleActivity] = field(default_factory=dict)
    lists: dict[str, OccurrenceList] = field(default_factory=lambda: {name: OccurrenceList() for name in LISTS})
    answer_seconds: Percentiles = field(default_factory=Percentiles)
    decision_milliseconds: Percentiles = field(default_factory=Percentiles)
    suggestions: list[Suggestion] = field(default_factory=list)

    @classmethod
    def from_range(cls, report_range: ReportRange) -> "Activity":
        """Return an empty activity."""
        return cls(report_range, [Period(label) for label in report_range.labels])

    def count(self, name: str) -> int:
        """Return how many occurrences a list counted."""
        return self.lists[name].total

    def rank_rules(self) -> list[RuleActivity]:
        """Return the rules that stopped something, the busiest first."""
        stopping = [rule for rule in self.rules.values() if rule.stopped_count]
        return sorted(stopping, key=lambda rule: (-rule.stopped_count, rule.name))

    @property
    def approval_rate(self) -> float | None:
        """The share of the asks that a person let run; None without any."""
        answered = self.count("approved") + self.count("not_run")
        return self.count("approved") / answered if answered else None

    def to_record(self) -> dict[str, Any]:
        """Return the report as plain data."""
        percentiles = {"p50": 0.50, "p90": 0.90, "p99": 0.99}
        rate = self.approval_rate
        return {
            "since": self.range.since,
            "until": self.range.until,
            "filters": dict(self.range.filters),
            "decisions": self.decisions,
            "sessions": self.count("sessions"),
            "turns": self.turns,
            "hosts": dict(self.hosts.most_common()),
            "projects": dict(self.projects.most_common()),
            "periods": [{"label": period.label, **period.verdicts} for period in self.periods],
            "rules": [
                {
                    "rule": rule.name,
                    "asks": rule.verdicts["ask"],
                    "blocks": rule.verdicts["block"],
                    "outcomes": dict(rule.outcomes),
                    "examples": [occurrence.to_record() for occurrence in rule.examples],
                }
                for rule in self.rank_rules()
            ],
            "answers": {
                "approval_rate": None if rate is None else round(rate, 3),
                "timed": self.answer_seconds.total,
                **{f"{name}_seconds": self.answer_seconds.find_percentile(at) for name, at in percentiles.items()},
            },
            "decision_time": {
                "timed": self.decision_milliseconds.total,
                **{f"{name}_ms": self.decision_milliseconds.find_percentile(at) for name, at in percentiles.items()},
            },
            "lists": {name: occurrences.to_record() for name, occurrences in self.lists.items()},
            "suggestions": [suggestion.to_record() for suggestion in self.suggestions],
        }
