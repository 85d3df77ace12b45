"""What a test runner printed, as counts. Pure."""

import re
from collections.abc import Iterable, Mapping
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


_ANSI = regex(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\([A-Z0-9]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\\\))")
_PYTEST = regex(r"^=*\s*(\d+ [a-z]+(?: [a-z]+)?(?:, \d+ [a-z]+(?: [a-z]+)?)*) in [\d.]+s\b", re.M)
_SUGAR = regex(r"^Results \([\d.]+m?s\):\s*\n((?:\s+(?:- )?\d+ \w+.*\n?){1,8})", re.M)
_WORD = regex(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)\b")
_UNITTEST = regex(r"^Ran (\d+) tests? in [\d.]+s\s*\n+\s*(OK|FAILED|NO TESTS RAN)(?: \(([^)]*)\))?", re.M)
_JEST = regex(r"^\s*Tests:\s+(.*?)(\d+) total", re.M)
_JEST_JSON = regex(r'"num(Passed|Failed|Pending|Todo)Tests":\s*(\d+)')
_VITEST = regex(r"^\s*Tests\s{2,}(.*?)\((\d+)\)\s*$", re.M)
_NONE_FOUND = regex(r"^No test(?:s| files) found, exiting with code", re.M)
_CARGO = regex(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.M)
_NEXTEST = regex(
    r"^\s*Summary \[[^\]\n]+\] (?:\d+/)?\d+ tests? run: (\d+) passed(?: \([^)\n]*\))?(?:, (\d+) failed)?(?:, \d+ timed out)?(?:, (\d+) skipped)?",
    re.M,
)
_GO_CASE = regex(r"^\s*--- (PASS|FAIL|SKIP): ", re.M)
_GO_PACKAGE = regex(r"^(ok|FAIL|---)\s+(\S+)\s+(?:\(cached\)|[\d.]+s|\[build failed\]|\[setup failed\])(.*)$", re.M)
_GO_JSON = regex(r'^\{(?=[^\n]*"Test":)[^\n]*"Action":"(pass|fail|skip)"', re.M)
_GOTESTSUM = regex(
    r"^DONE(?: \d+ runs,)? (\d+) tests?(?:, (\d+) skipped)?(?:, (\d+) failures?)?(?:, \d+ errors?)? in ", re.M
)
# A line without a time sums up a module; with several modules there are several.
_MAVEN = regex(r"Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?!.*Time elapsed)")
_GRADLE = regex(r"^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?", re.M)
_GRADLE_TASK = regex(r"^> Task \S*[tT]est\S*\s*$", re.M)
_CTEST = regex(r"(\d+)% tests passed, (\d+) tests? failed out of (\d+)")
_CTEST_LEFT = regex(r"^\s+\d+ - .* \((Skipped|Disabled|Not Run)\)\s*$", re.M)
_MOCHA = regex(r"^\s+(\d+) passing\b(?:.*\n+\s+(\d+) pending)?(?:.*\n+\s+(\d+) failing)?", re.M)
_RSPEC = regex(r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?", re.M)
_PHPUNIT = regex(r"^OK \((\d+) tests?|^Tests: (\d+), Assertions: \d+([^\n]*)", re.M)
_DOTNET = regex(r"Failed:\s+(\d+), Passed:\s+(\d+), Skipped:\s+(\d+), Total:\s+(\d+)")
_DOTNET_SUM = regex(r"^Test summary: total: (\d+), failed: (\d+), succeeded: (\d+), skipped: (\d+)", re.M)
_NODE = regex(
    r"^[#ℹ] tests (\d+)$[\s\S]{0,200}?^[#ℹ] pass (\d+)$[\s\S]{0,80}?^[#ℹ] fail (\d+)$(?:\n[#ℹ] cancelled (\d+)$)?(?:\n[#ℹ] skipped (\d+)$)?",
    re.M,
)
_AVA = regex(r"^ {2}(\d+) tests? (passed|failed|skipped|todo)\b", re.M)
_DENO = regex(
    r"^(?:ok|FAILED) \| (\d+) passed(?: \([^)\n]*\))? \| (\d+) failed(?: \([^)\n]*steps?\))?(?: \| (\d+) ignored)?",
    re.M,
)
_PLAYWRIGHT = regex(r"^ {2}(\d+) (passed|failed|flaky|skipped|interrupted|did not run)(?: \([\d.]+m?s?\))?\s*$", re.M)
_MINITEST = regex(r"^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors(?:, (\d+) skips)?", re.M)
_EXUNIT = regex(r"^(?:(\d+) doctests?, )?(\d+) tests?, (\d+) failures?(?:, (\d+) (?:skipped|excluded))?\s*$", re.M)
_SWIFT = regex(r"Executed (\d+) tests?, with (?:(\d+) tests? skipped and )?(\d+) failures?")
_KARMA = regex(r"Executed (\d+) of \d+(?: \((\d+) FAILED\))?(?: \(skipped (\d+)\))?(?: SUCCESS)? \(")
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
    lines = _PYTEST.findall(text) or _SUGAR.findall(text)
    lines = [
        line for line in lines if re.search(r"\b(?:passed|failed|errors?|skipped|deselected|xfailed|xpassed)\b", line)
    ]
    if not lines:
        return TestCounts("pytest", 0, 0) if re.search(r"no tests (?:ran|collected)", text) else None
    return _tallied("pytest", [pair for line in lines for pair in _WORD.findall(line)])


_WELL = frozenset({"passed", "xpassed", "xfailed", "Passed", "pass", "flaky"})
_BADLY = frozenset({"failed", "error", "errors", "Failed", "fail", "interrupted"})


def _tallied(runner: str, pairs: Iterable[tuple[str, str]]) -> TestCounts:
    """Numbers with the word that says what became of so many tests; other words mean that they did not run."""
    passed = failed = skipped = 0
    for number, word in pairs:
        passed += int(number) * (word in _WELL)
        failed += int(number) * (word in _BADLY)
        skipped += int(number) * (word not in _WELL | _BADLY)
    return TestCounts(runner, passed, failed, skipped)


def _unittest(text: str) -> TestCounts | None:
    total = failed = skipped = 0
    found = _UNITTEST.findall(text)
    for ran, _, details in found:
        total += int(ran)
        numbers = {name: int(value) for name, value in re.findall(r"(?:^|, )([a-z ]+)=(\d+)", details)}
        failed += sum(numbers.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
        skipped += numbers.get("skipped", 0)
    return TestCounts("unittest", max(0, total - failed - skipped), failed, skipped) if found else None


def _worded(runner: str, pattern: re.Pattern[str], text: str) -> TestCounts | None:
    """Runners that list `N passed`, `N failed`, `N skipped` before a total."""
    found = pattern.findall(text)
    words = [pair for line, _ in found for pair in re.findall(r"(\d+) (passed|failed|skipped|todo|pending)", line)]
    return _tallied(runner, words) if found else None


def _listed(runner: str, pattern: re.Pattern[str], text: str) -> TestCounts | None:
    """Runners that give each number a line of its own."""
    found = pattern.findall(text)
    return _tallied(runner, found) if found else None


def _jest_json(text: str) -> TestCounts | None:
    found = _JEST_JSON.findall(text)
    return _tallied("json", [(number, word) for word, number in found]) if found else None


def _jest_none(text: str) -> TestCounts | None:
    return TestCounts("jest", 0, 0) if _NONE_FOUND.search(text) else None


def _go(text: str) -> TestCounts | None:
    cases = _GO_CASE.findall(text) or [action.upper() for action in _GO_JSON.findall(text)]
    packages = [row for row in _GO_PACKAGE.findall(text) if row[0] != "---"]
    if cases:
        return TestCounts("go", cases.count("PASS"), cases.count("FAIL"), cases.count("SKIP"))
    if not packages:
        return TestCounts("go", 0, 0) if re.search(r"\[no test files\]", text) else None
    ran = [row for row in packages if "no tests to run" not in row[2]]
    failed = sum(row[0] == "FAIL" for row in ran)
    return TestCounts("go", len(ran) - failed, failed)


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
    if not found:
        return TestCounts("ctest", 0, 0) if "No tests were found!!!" in text else None
    left = _CTEST_LEFT.findall(text)
    # Of those that did not run, the disabled ones are not among the total.
    passed = int(found[3]) - int(found[2]) - sum(why != "Disabled" for why in left)
    return TestCounts("ctest", max(0, passed), int(found[2]), len(left))


def _columns(runner: str, pattern: re.Pattern[str], order: str, text: str, last: bool = False) -> TestCounts | None:
    """Runners whose counts stand in fixed places: `t`otal, `p`assed, `f`ailed, `s`kipped. Parts of a run are added up,
    unless the last report is the sum of those before it.
    """
    numbers = dict.fromkeys("tpfs", 0)
    found = pattern.findall(text)[-1 if last else 0 :]
    for row in found:
        for name, number in zip(order, row, strict=True):
            numbers[name] += int(number or 0)
    passed = numbers["p"] if "p" in order else max(0, numbers["t"] - numbers["f"] - numbers["s"])
    return TestCounts(runner, passed, numbers["f"], numbers["s"]) if found else None


def _karma(text: str) -> TestCounts | None:
    found = _KARMA.findall(text)
    if not found:
        return None
    ran, failed, skipped = (int(number or 0) for number in found[-1])  # it counts as it goes
    return TestCounts("karma", max(0, ran - failed), failed, skipped)


def _phpunit(text: str) -> TestCounts | None:
    found = _PHPUNIT.search(text)
    if not found:
        return TestCounts("phpunit", 0, 0) if re.search(r"^No tests executed!", text, re.M) else None
    numbers = {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", found[3] or "")}
    failed = numbers.get("Errors", 0) + numbers.get("Failures", 0)
    skipped = numbers.get("Skipped", 0) + numbers.get("Incomplete", 0)
    return TestCounts("phpunit", max(0, int(found[1] or found[2]) - failed - skipped), failed, skipped)


_READERS = (
    lambda text: _columns("cargo", _NEXTEST, "pfs", text),
    lambda text: _columns("cargo", _CARGO, "pfs", text),
    _pytest,
    _unittest,
    lambda text: _worded("jest", _JEST, text),
    lambda text: _worded("vitest", _VITEST, text),
    _jest_json,
    _jest_none,
    lambda text: _columns("go", _GOTESTSUM, "tsf", text),
    _go,
    lambda text: _columns("maven", _MAVEN, "tffs", text),
    _ctest,
    _gradle,
    lambda text: _columns("mocha", _MOCHA, "psf", text),
    lambda text: _columns("rspec", _RSPEC, "tfs", text),
    lambda text: _columns("minitest", _MINITEST, "tffs", text),
    lambda text: _columns("exunit", _EXUNIT, "ttfs", text),
    _phpunit,
    lambda text: _columns("dotnet", _DOTNET, "fpst", text),
    lambda text: _columns("dotnet", _DOTNET_SUM, "tfps", text),
    lambda text: _columns("node", _NODE, "tpffs", text),
    lambda text: _columns("bun", _BUN, "psf", text),
    lambda text: _columns("deno", _DENO, "pfs", text),
    lambda text: _columns("swift", _SWIFT, "tsf", text, last=True),
    _karma,
    lambda text: _listed("ava", _AVA, text),
    lambda text: _listed("playwright", _PLAYWRIGHT, text),
)
"""From those whose reports are like no other's to those that say little; the first that finds its own is believed."""
