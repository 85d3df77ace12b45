"""What a test runner printed, as counts. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from verdikt.model.regex import regex
from verdikt.model.value import Value

LONGEST = 400_000


class TestCounts(Value):
    """How many tests ran and what came of them; `total` counts those that really ran, skipped ones left out."""

    __test__ = False  # not a test, whatever its name says

    runner: str
    passed: int
    failed: int
    skipped: int = 0

    @property
    def total(self) -> int:
        """Passed and failed together."""
        return self.passed + self.failed

    @property
    def green(self) -> bool:
        """Whether at least one test ran and none failed."""
        return self.total > 0 and self.failed == 0

    def record(self) -> dict[str, Any]:
        """The counts as plain data."""
        return {
            "runner": self.runner,
            "passed": self.passed,
            "failed": self.failed,
            "skipped": self.skipped,
            "total": self.total,
        }

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "TestCounts":
        """The counts that `record` wrote down."""
        return cls(
            str(record.get("runner", "")),
            int(record.get("passed", 0)),
            int(record.get("failed", 0)),
            int(record.get("skipped", 0)),
        )


_ANSI = regex(r"\x1b\[[0-9;?]*[A-Za-z]")
_PYTEST = regex(
    r"^=*\s*(?=.*\b\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed)\b)(.*?) in [\d.]+s", re.M
)
_WORD = regex(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed|deselected)\b")
_UNITTEST = regex(r"^Ran (\d+) tests? in [\d.]+s\s*\n+\s*(OK|FAILED)(?: \(([^)]*)\))?", re.M)
_JEST = regex(r"^\s*Tests:\s+(.*?)(\d+) total", re.M)
_VITEST = regex(r"^\s*Tests\s{2,}(.*?)\((\d+)\)\s*$", re.M)
_CARGO = regex(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.M)
_GO_CASE = regex(r"^\s*--- (PASS|FAIL|SKIP): ", re.M)
_GO_PACKAGE = regex(r"^(ok|FAIL|---)\s+(\S+)\s+(?:\(cached\)|[\d.]+s)(.*)$", re.M)
_MAVEN = regex(r"Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?!.*Time elapsed)")
_GRADLE = regex(r"^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?", re.M)
_GRADLE_TASK = regex(r"^> Task \S*[tT]est\S*\s*$", re.M)
_CTEST = regex(r"(\d+)% tests passed, (\d+) tests failed out of (\d+)")
_MOCHA = regex(r"^\s+(\d+) passing\b(?:.*\n+\s+(\d+) pending)?(?:.*\n+\s+(\d+) failing)?", re.M)
_RSPEC = regex(r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?", re.M)
_PHPUNIT = regex(r"^OK \((\d+) tests?|^Tests: (\d+), Assertions: \d+(?:, Errors: (\d+))?(?:, Failures: (\d+))?", re.M)
_DOTNET = regex(r"Failed:\s+(\d+), Passed:\s+(\d+), Skipped:\s+(\d+), Total:\s+(\d+)")
_NODE = regex(
    r"^# tests (\d+)$[\s\S]{0,200}?^# pass (\d+)$[\s\S]{0,80}?^# fail (\d+)$(?:[\s\S]{0,120}?^# skipped (\d+)$)?", re.M
)
_BUN = regex(r"^\s*(\d+) pass\s*\n\s*(?:(\d+) skip\s*\n\s*)?(\d+) fail", re.M)


def read_counts(output: str) -> TestCounts | None:
    """The counts that a runner printed, whichever it was; several reports in one output are added up. None: no report."""
    text = _ANSI.sub("", output[-LONGEST:]).replace("\r\n", "\n")
    for read in _READERS:
        found = read(text)
        if found is not None:
            return found
    return None


def _pytest(text: str) -> TestCounts | None:
    lines = _PYTEST.findall(text)
    if not lines:
        return TestCounts("pytest", 0, 0) if re.search(r"no tests (?:ran|collected)", text) else None
    passed = failed = skipped = 0
    for line in lines:
        for number, word in _WORD.findall(line):
            if word in ("passed", "xpassed", "xfailed"):
                passed += int(number)
            elif word in ("failed", "error", "errors"):
                failed += int(number)
            elif word == "skipped":
                skipped += int(number)
    return TestCounts("pytest", passed, failed, skipped)


def _unittest(text: str) -> TestCounts | None:
    total = failed = skipped = 0
    found = _UNITTEST.findall(text)
    for ran, _, details in found:
        total += int(ran)
        numbers = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", details)}
        failed += numbers.get("failures", 0) + numbers.get("errors", 0)
        skipped += numbers.get("skipped", 0)
    return TestCounts("unittest", max(0, total - failed - skipped), failed, skipped) if found else None


def _worded(runner: str, pattern: re.Pattern[str], text: str) -> TestCounts | None:
    """Runners that list `N passed`, `N failed`, `N skipped` before a total."""
    passed = failed = skipped = 0
    found = pattern.findall(text)
    for words, _ in found:
        for number, word in re.findall(r"(\d+) (passed|failed|skipped|todo|pending)", words):
            passed += int(number) * (word == "passed")
            failed += int(number) * (word == "failed")
            skipped += int(number) * (word in ("skipped", "todo", "pending"))
    return TestCounts(runner, passed, failed, skipped) if found else None


def _cargo(text: str) -> TestCounts | None:
    found = [tuple(map(int, row)) for row in _CARGO.findall(text)]
    return TestCounts("cargo", *(sum(column) for column in zip(*found, strict=True))) if found else None


def _go(text: str) -> TestCounts | None:
    packages = [row for row in _GO_PACKAGE.findall(text) if row[0] != "---"]
    cases = _GO_CASE.findall(text)
    if not packages:
        return TestCounts("go", 0, 0) if re.search(r"\[no test files\]", text) else None
    if cases:
        return TestCounts("go", cases.count("PASS"), cases.count("FAIL"), cases.count("SKIP"))
    ran = [row for row in packages if "no tests to run" not in row[2]]
    failed = sum(row[0] == "FAIL" for row in ran)
    return TestCounts("go", len(ran) - failed, failed)


def _maven(text: str) -> TestCounts | None:
    found = [tuple(map(int, row)) for row in _MAVEN.findall(text)]
    if not found:
        return None
    run, failures, errors, skipped = found[-1]  # the last one sums up those before it
    return TestCounts("maven", max(0, run - failures - errors - skipped), failures + errors, skipped)


def _gradle(text: str) -> TestCounts | None:
    found = _GRADLE.search(text)
    if found:
        run, failed, skipped = (int(number or 0) for number in found.groups())
        return TestCounts("gradle", max(0, run - failed - skipped), failed, skipped)
    # Gradle prints no counts when all is well: that its test tasks ran, and were not skipped as up to date, must do.
    if "BUILD SUCCESSFUL" in text:
        return TestCounts("gradle", len(_GRADLE_TASK.findall(text)), 0)
    return None


def _ctest(text: str) -> TestCounts | None:
    found = _CTEST.search(text)
    return TestCounts("ctest", int(found[3]) - int(found[2]), int(found[2])) if found else None


def _columns(runner: str, pattern: re.Pattern[str], order: str, text: str) -> TestCounts | None:
    """Runners whose counts stand in fixed places: `t`otal, `p`assed, `f`ailed, `s`kipped."""
    numbers = dict.fromkeys("tpfs", 0)
    found = pattern.findall(text)
    for row in found:
        for name, number in zip(order, row, strict=True):
            numbers[name] += int(number or 0)
    passed = numbers["p"] if "p" in order else max(0, numbers["t"] - numbers["f"] - numbers["s"])
    return TestCounts(runner, passed, numbers["f"], numbers["s"]) if found else None


def _phpunit(text: str) -> TestCounts | None:
    found = _PHPUNIT.search(text)
    if not found:
        return None
    total = int(found[1] or found[2])
    failed = int(found[3] or 0) + int(found[4] or 0)
    return TestCounts("phpunit", total - failed, failed)


_READERS = (
    _pytest,
    _unittest,
    lambda text: _worded("jest", _JEST, text),
    lambda text: _worded("vitest", _VITEST, text),
    _cargo,
    _go,
    _maven,
    _ctest,
    _gradle,
    lambda text: _columns("mocha", _MOCHA, "psf", text),
    lambda text: _columns("rspec", _RSPEC, "tfs", text),
    _phpunit,
    lambda text: _columns("dotnet", _DOTNET, "fpst", text),
    lambda text: _columns("node", _NODE, "tpfs", text),
    lambda text: _columns("bun", _BUN, "psf", text),
)
