"""Test counts from the output of test runners. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from verdikt.knowledge import find_task_words
from verdikt.model.lazy_regex import compile_lazily

MAX_CHARACTERS = 400_000


@dataclass(frozen=True, slots=True)
class TestCounts:
    """How many tests passed, failed and were skipped; `total` counts only those that ran."""

    __test__ = False  # not a test, whatever its name says

    runner: str
    passed: int
    failed: int
    skipped: int = 0

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
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "TestCounts":
        """Return the counts that `record` wrote."""
        return cls(
            str(record.get("runner", "")),
            int(record.get("passed", 0)),
            int(record.get("failed", 0)),
            int(record.get("skipped", 0)),
        )


_ANSI = compile_lazily(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\([A-Z0-9]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\\\))")
_PYTEST = compile_lazily(r"^=*\s*(\d+ [a-z]+(?: [a-z]+)?(?:, \d+ [a-z]+(?: [a-z]+)?)*) in [\d.]+s\b", re.M)
_PYTEST_SUGAR = compile_lazily(r"^Results \([\d.]+m?s\):\s*\n((?:\s+(?:- )?\d+ \w+.*\n?){1,8})", re.M)
_PYTEST_COUNT = compile_lazily(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)\b")
_UNITTEST = compile_lazily(r"^Ran (\d+) tests? in [\d.]+s\s*\n+\s*(OK|FAILED|NO TESTS RAN)(?: \(([^)]*)\))?", re.M)
_JEST = compile_lazily(r"^\s*Tests:\s+(.*?)(\d+) total", re.M)
_JEST_JSON = compile_lazily(r'"num(Passed|Failed|Pending|Todo)Tests":\s*(\d+)')
_VITEST = compile_lazily(r"^\s*Tests\s{2,}(.*?)\((\d+)\)\s*$", re.M)
_JEST_NO_TESTS = compile_lazily(r"^No test(?:s| files) found, exiting with code", re.M)
_CARGO = compile_lazily(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.M)
_NEXTEST = compile_lazily(
    r"^\s*Summary \[[^\]\n]+\] (?:\d+/)?\d+ tests? run: (\d+) passed(?: \([^)\n]*\))?(?:, (\d+) failed)?(?:, \d+"
    r" timed out)?(?:, (\d+) skipped)?",
    re.M,
)
_GO_CASE = compile_lazily(r"^\s*--- (PASS|FAIL|SKIP): ", re.M)
_GO_PACKAGE = compile_lazily(
    r"^(ok|FAIL|---)\s+(\S+)\s+(?:\(cached\)|[\d.]+s|\[build failed\]|\[setup failed\])(.*)$", re.M
)
_GO_JSON = compile_lazily(r'^\{(?=[^\n]*"Test":)[^\n]*"Action":"(pass|fail|skip)"', re.M)
_GOTESTSUM = compile_lazily(
    r"^DONE(?: \d+ runs,)? (\d+) tests?(?:, (\d+) skipped)?(?:, (\d+) failures?)?(?:, \d+ errors?)? in ", re.M
)
# A line without a time sums up a module; with several modules there are several.
_MAVEN = compile_lazily(r"Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?!.*Time elapsed)")
_GRADLE = compile_lazily(r"^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?", re.M)
_GRADLE_TASK = compile_lazily(r"^> Task \S*[tT]est\S*\s*$", re.M)
_CTEST = compile_lazily(r"(\d+)% tests passed, (\d+) tests? failed out of (\d+)")
_CTEST_NOT_RUN = compile_lazily(r"^\s+\d+ - .* \((Skipped|Disabled|Not Run)\)\s*$", re.M)
_MOCHA = compile_lazily(r"^\s+(\d+) passing\b(?:.*\n+\s+(\d+) pending)?(?:.*\n+\s+(\d+) failing)?", re.M)
_RSPEC = compile_lazily(r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?", re.M)
_PHPUNIT = compile_lazily(r"^OK \((\d+) tests?|^Tests: (\d+), Assertions: \d+([^\n]*)", re.M)
_DOTNET = compile_lazily(r"Failed:\s+(\d+), Passed:\s+(\d+), Skipped:\s+(\d+), Total:\s+(\d+)")
_DOTNET_SUMMARY = compile_lazily(r"^Test summary: total: (\d+), failed: (\d+), succeeded: (\d+), skipped: (\d+)", re.M)
_NODE = compile_lazily(
    r"^[#ℹ] tests (\d+)$[\s\S]{0,200}?^[#ℹ] pass (\d+)$[\s\S]{0,80}?^[#ℹ] fail (\d+)$(?:\n[#ℹ] cancelled (\d+)$)?"
    r"(?:\n[#ℹ] skipped (\d+)$)?",
    re.M,
)
_AVA = compile_lazily(r"^ {2}(\d+) tests? (passed|failed|skipped|todo)\b", re.M)
_DENO = compile_lazily(
    r"^(?:ok|FAILED) \| (\d+) passed(?: \([^)\n]*\))? \| (\d+) failed(?: \([^)\n]*steps?\))?(?: \| (\d+) ignored)?",
    re.M,
)
_PLAYWRIGHT = compile_lazily(
    r"^ {2}(\d+) (passed|failed|flaky|skipped|interrupted|did not run)(?: \([\d.]+m?s?\))?\s*$", re.M
)
_MINITEST = compile_lazily(
    r"^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors(?:, (\d+) skips)?", re.M
)
_EXUNIT = compile_lazily(
    r"^(?:(\d+) doctests?, )?(\d+) tests?, (\d+) failures?(?:, (\d+) (?:skipped|excluded))?\s*$", re.M
)
_SWIFT = compile_lazily(r"Executed (\d+) tests?, with (?:(\d+) tests? skipped and )?(\d+) failures?")
_KARMA = compile_lazily(r"Executed (\d+) of \d+(?: \((\d+) FAILED\))?(?: \(skipped (\d+)\))?(?: SUCCESS)? \(")
_BUN = compile_lazily(r"^\s*(\d+) pass\s*\n\s*(?:(\d+) skip\s*\n\s*)?(\d+) fail", re.M)


def parse_test_counts(output: str) -> TestCounts | None:
    """Return the counts that any known runner printed, several reports added up; None when there is no report."""
    # The summary is at the end, and long output must not make the hook slow.
    text = _ANSI.sub("", output[-MAX_CHARACTERS:]).replace("\r\n", "\n")
    for parse in _PARSERS:
        counts = parse(text)
        if counts is not None:
            return counts
    return None


def _parse_pytest(text: str) -> TestCounts | None:
    lines = _PYTEST.findall(text) or _PYTEST_SUGAR.findall(text)
    lines = [
        line for line in lines if re.search(r"\b(?:passed|failed|errors?|skipped|deselected|xfailed|xpassed)\b", line)
    ]
    if not lines:
        return TestCounts("pytest", 0, 0) if re.search(r"no tests (?:ran|collected)", text) else None
    return _tally_counts("pytest", [pair for line in lines for pair in _PYTEST_COUNT.findall(line)])


# An expected failure did not pass, and marking a failing test so must not turn it into a pass.
_PASS_WORDS = frozenset({"passed", "xpassed", "Passed", "pass", "flaky"})
_FAIL_WORDS = frozenset({"failed", "error", "errors", "Failed", "fail", "interrupted"})


def _tally_counts(runner: str, pairs: Iterable[tuple[str, str]]) -> TestCounts:
    """Return the counts of (number, word) pairs; an unknown word means that the tests did not run."""
    passed = failed = skipped = 0
    for number, word in pairs:
        passed += int(number) * (word in _PASS_WORDS)
        failed += int(number) * (word in _FAIL_WORDS)
        skipped += int(number) * (word not in _PASS_WORDS | _FAIL_WORDS)
    return TestCounts(runner, passed, failed, skipped)


def _parse_unittest(text: str) -> TestCounts | None:
    total = failed = skipped = 0
    reports = _UNITTEST.findall(text)
    for ran, _, details in reports:
        total += int(ran)
        numbers = {name: int(value) for name, value in re.findall(r"(?:^|, )([a-z ]+)=(\d+)", details)}
        failed += sum(numbers.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
        skipped += numbers.get("skipped", 0)
    return TestCounts("unittest", max(0, total - failed - skipped), failed, skipped) if reports else None


def _parse_word_counts(runner: str, pattern: re.Pattern[str], text: str) -> TestCounts | None:
    """Parse reports that list `N passed`, `N failed`, `N skipped` before a total."""
    reports = pattern.findall(text)
    pairs = [pair for line, _ in reports for pair in re.findall(r"(\d+) (passed|failed|skipped|todo|pending)", line)]
    return _tally_counts(runner, pairs) if reports else None


def _parse_count_lines(runner: str, pattern: re.Pattern[str], text: str) -> TestCounts | None:
    """Parse reports that give each number its own line."""
    pairs = pattern.findall(text)
    return _tally_counts(runner, pairs) if pairs else None


def _parse_jest_json(text: str) -> TestCounts | None:
    pairs = _JEST_JSON.findall(text)
    return _tally_counts("json", [(number, word) for word, number in pairs]) if pairs else None


def _parse_jest_empty(text: str) -> TestCounts | None:
    return TestCounts("jest", 0, 0) if _JEST_NO_TESTS.search(text) else None


def _parse_go(text: str) -> TestCounts | None:
    cases = _GO_CASE.findall(text) or [action.upper() for action in _GO_JSON.findall(text)]
    packages = [row for row in _GO_PACKAGE.findall(text) if row[0] != "---"]
    if cases:
        return TestCounts("go", cases.count("PASS"), cases.count("FAIL"), cases.count("SKIP"))
    if not packages:
        return TestCounts("go", 0, 0) if re.search(r"\[no test files\]", text) else None
    # Without -v, go reports packages instead of tests: each counts as one.
    ran = [row for row in packages if "no tests to run" not in row[2]]
    failed = sum(row[0] == "FAIL" for row in ran)
    return TestCounts("go", len(ran) - failed, failed)


def _parse_gradle(text: str) -> TestCounts | None:
    report = _GRADLE.search(text)
    if report:
        run, failed, skipped = (int(number or 0) for number in report.groups())
        return TestCounts("gradle", max(0, run - failed - skipped), failed, skipped)
    # Gradle prints no counts when all is well: that its test tasks ran, and were not skipped as up to date, must do.
    if "BUILD SUCCESSFUL" in text:
        return TestCounts("gradle", len(_GRADLE_TASK.findall(text)), 0)
    return None


def _parse_ctest(text: str) -> TestCounts | None:
    report = _CTEST.search(text)
    if not report:
        return TestCounts("ctest", 0, 0) if "No tests were found!!!" in text else None
    not_run = _CTEST_NOT_RUN.findall(text)
    # Of those that did not run, the disabled ones are not among the total.
    passed = int(report[3]) - int(report[2]) - sum(reason != "Disabled" for reason in not_run)
    return TestCounts("ctest", max(0, passed), int(report[2]), len(not_run))


def _parse_columns(
    runner: str, pattern: re.Pattern[str], order: str, text: str, last_only: bool = False
) -> TestCounts | None:
    """Parse reports with counts in fixed places: `t`otal, `p`assed, `f`ailed, `s`kipped.

    Parts of a run are added up; with `last_only`, the last report is the sum of those before it.
    """
    numbers = dict.fromkeys("tpfs", 0)
    rows = pattern.findall(text)[-1 if last_only else 0 :]
    for row in rows:
        for name, number in zip(order, row, strict=True):
            numbers[name] += int(number or 0)
    passed = numbers["p"] if "p" in order else max(0, numbers["t"] - numbers["f"] - numbers["s"])
    return TestCounts(runner, passed, numbers["f"], numbers["s"]) if rows else None


def _parse_karma(text: str) -> TestCounts | None:
    reports = _KARMA.findall(text)
    if not reports:
        return None
    ran, failed, skipped = (int(number or 0) for number in reports[-1])  # it counts as it goes
    return TestCounts("karma", max(0, ran - failed), failed, skipped)


def _parse_phpunit(text: str) -> TestCounts | None:
    report = _PHPUNIT.search(text)
    if not report:
        return TestCounts("phpunit", 0, 0) if re.search(r"^No tests executed!", text, re.M) else None
    numbers = {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", report[3] or "")}
    failed = numbers.get("Errors", 0) + numbers.get("Failures", 0)
    skipped = numbers.get("Skipped", 0) + numbers.get("Incomplete", 0)
    return TestCounts("phpunit", max(0, int(report[1] or report[2]) - failed - skipped), failed, skipped)


_PARSERS = (
    lambda text: _parse_columns("cargo", _NEXTEST, "pfs", text),
    lambda text: _parse_columns("cargo", _CARGO, "pfs", text),
    _parse_pytest,
    _parse_unittest,
    lambda text: _parse_word_counts("jest", _JEST, text),
    lambda text: _parse_word_counts("vitest", _VITEST, text),
    _parse_jest_json,
    _parse_jest_empty,
    lambda text: _parse_columns("go", _GOTESTSUM, "tsf", text),
    _parse_go,
    lambda text: _parse_columns("maven", _MAVEN, "tffs", text),
    _parse_ctest,
    _parse_gradle,
    lambda text: _parse_columns("mocha", _MOCHA, "psf", text),
    lambda text: _parse_columns("rspec", _RSPEC, "tfs", text),
    lambda text: _parse_columns("minitest", _MINITEST, "tffs", text),
    lambda text: _parse_columns("exunit", _EXUNIT, "ttfs", text),
    _parse_phpunit,
    lambda text: _parse_columns("dotnet", _DOTNET, "fpst", text),
    lambda text: _parse_columns("dotnet", _DOTNET_SUMMARY, "tfps", text),
    lambda text: _parse_columns("node", _NODE, "tpffs", text),
    lambda text: _parse_columns("bun", _BUN, "psf", text),
    lambda text: _parse_columns("deno", _DENO, "pfs", text),
    lambda text: _parse_columns("swift", _SWIFT, "tsf", text, last_only=True),
    _parse_karma,
    lambda text: _parse_count_lines("ava", _AVA, text),
    lambda text: _parse_count_lines("playwright", _PLAYWRIGHT, text),
)
"""The most distinctive report formats first: the first parser that finds its own format wins."""


_CLEAN_SUMMARIES = compile_lazily(
    r"^All checks passed!|^Success: no issues found|^0 errors, 0 warnings|^\s*Finished [`\w]|^Build succeeded"
    r"|^BUILD SUCCESS|^no issues found|^\d+ files? (?:would be left|already) (?:unchanged|formatted)$",
    re.M | re.I,
)
_ERROR_SUMMARIES = compile_lazily(
    r"^Found \d+ errors?\b|^error(?:\[\w+\])?: |: error[: ]|^\s*\d+ problems? \(", re.M | re.I
)


def has_clean_summary(output: str) -> bool:
    """Return whether a linter, type checker or compiler says itself that it found nothing."""
    text = _ANSI.sub("", output[-MAX_CHARACTERS:])
    return bool(_CLEAN_SUMMARIES.search(text)) and not _ERROR_SUMMARIES.search(text)


def can_have_printed(program: str, counts: TestCounts) -> bool:
    """Return whether a report is one that this program prints; a task runner may print any."""
    return counts.runner in (find_task_words(program, "reports") or (counts.runner,))
