"""Results in the output of test runners, linters and compilers, by the formats of `report.toml`. Pure."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from verdikt.knowledge import find_task_words, list_reports, list_summaries
from verdikt.model.lazy_regex import compile_lazily

MAX_CHARACTERS = 400_000


@dataclass(frozen=True, slots=True)
class TestCounts:
    """How many tests passed, failed and were skipped; `total` counts only those that ran.

    `errors` are those of the failures that may be about the same test as another result: one of a fixture, for example.
    """

    __test__ = False  # not a test, whatever its name says

    runner: str
    passed: int
    failed: int
    skipped: int = 0
    errors: int = 0

    @property
    def total(self) -> int:
        """Return the number of tests that ran."""
        return self.passed + self.failed

    @property
    def is_green(self) -> bool:
        """Return whether at least one test ran and none failed."""
        return self.total > 0 and self.failed == 0

    def record(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {
            "runner": self.runner,
            "passed": self.passed,
            "failed": self.failed,
            "skipped": self.skipped,
            "total": self.total,
            **({"errors": self.errors} if self.errors else {}),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "TestCounts":
        """Return the counts that `record` wrote."""
        return cls(
            str(record.get("runner", "")),
            int(record.get("passed", 0)),
            int(record.get("failed", 0)),
            int(record.get("skipped", 0)),
            int(record.get("errors", 0)),
        )


_ANSI = compile_lazily(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\([A-Z0-9]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\\\))")
_DIGITS = "0123456789"
# An expected failure did not pass, and marking a failing test so must not turn it into a pass.
_PASS_WORDS = frozenset("passed xpassed pass ok flaky".split())
_FAIL_WORDS = frozenset(("failed", "failures", "fail", "interrupted", "unexpected successes"))
_ERROR_WORDS = frozenset(("error", "errors"))
_UNCOUNTED_WORDS = frozenset(("disabled",))
"""Tests that did not run and are not among the total; the other words mean tests that did not run either."""


class ReportFormat(NamedTuple):
    """How one runner reports: a row `reports` of `report.toml`, where the keys are explained."""

    name: str
    pattern: re.Pattern[str] | None
    words: re.Pattern[str] | None
    is_last: bool
    is_empty: bool

    def parse(self, text: str) -> TestCounts | None:
        """Return the counts of all reports of this format; None when there is none."""
        reports = list(self.pattern.finditer(text)) if self.pattern is not None else []
        reports = reports[-1:] if self.is_last else reports
        if self.is_empty and reports:
            return TestCounts(self.name, 0, 0)
        numbers: Counter[str] = Counter()
        for report in reports:
            for group, number in report.groupdict().items():
                if group != "words":
                    numbers[group.rstrip(_DIGITS)] += int(number or 0)
        has_words = self._count_words(text, reports, numbers)
        if not reports and (self.pattern is not None or not has_words):
            return None
        failed, skipped = numbers["failed"] + numbers["errors"], numbers["skipped"]
        passed = numbers["passed"] + max(0, numbers["total"] - failed - skipped) + max(0, numbers["ran"] - failed)
        return TestCounts(self.name, passed, failed, skipped + numbers["uncounted"], numbers["errors"])

    def _count_words(self, text: str, reports: list[re.Match[str]], numbers: Counter[str]) -> bool:
        """Add the results that stand as single words; return whether there are any."""
        if self.words is None:
            return False
        is_inside = self.pattern is not None and "words" in self.pattern.groupindex
        matches = [
            match
            for part in ([report["words"] or "" for report in reports] if is_inside else [text])
            for match in self.words.finditer(part)
        ]
        for match in matches:
            groups = match.groupdict()
            numbers[_classify_word(groups.get("word", "passed").lower())] += int(groups.get("number", 1))
        return bool(matches)


def _classify_word(word: str) -> str:
    """Return what a word of a report says about a test."""
    if word in _PASS_WORDS:
        return "passed"
    if word in _FAIL_WORDS:
        return "failed"
    if word in _ERROR_WORDS:
        return "errors"
    return "uncounted" if word in _UNCOUNTED_WORDS else "skipped"


@cache
def _load_formats() -> list[ReportFormat]:
    return [
        ReportFormat(
            row["name"],
            re.compile(row["pattern"], re.M) if "pattern" in row else None,
            re.compile(row["words"], re.M) if "words" in row else None,
            row.get("last", False),
            row.get("none", False),
        )
        for row in list_reports()
    ]


@cache
def _load_summaries(kind: str) -> re.Pattern[str]:
    """Return the pattern of the lines that say `clean` or `faults`."""
    return re.compile("|".join(row[kind] for row in list_summaries() if kind in row), re.M | re.I)


def parse_test_counts(output: str) -> TestCounts | None:
    """Return the counts that any known runner printed, several reports added up; None when there is no report."""
    # The summary is at the end, and long output must not make the hook slow.
    text = _ANSI.sub("", output[-MAX_CHARACTERS:]).replace("\r\n", "\n")
    return next((counts for report in _load_formats() if (counts := report.parse(text)) is not None), None)


def has_clean_summary(output: str) -> bool:
    """Return whether a linter, type checker or compiler says itself that it found nothing."""
    text = _ANSI.sub("", output[-MAX_CHARACTERS:])
    return bool(_load_summaries("clean").search(text)) and not _load_summaries("faults").search(text)


def can_have_printed(program: str, counts: TestCounts) -> bool:
    """Return whether a report is one that this program prints; a task runner may print any."""
    return counts.runner in (find_task_words(program, "reports") or (counts.runner,))
