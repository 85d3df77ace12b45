"""Test counts from the output of test runners."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.case_files import CASE_FILES, load_yaml
from verdikt.runs.runner_output import parse_test_counts

CASES = load_yaml(CASE_FILES / "test_output.yaml")
OUTPUTS = [
    ("======= 42 passed, 1 skipped in 3.21s =======", ("pytest", 42, 0, 1)),
    ("2 failed, 40 passed, 1 error in 0.5s", ("pytest", 40, 3, 0)),
    ("collected 0 items\n\n==== no tests ran in 0.01s ====", ("pytest", 0, 0, 0)),
    ("...\n-----\nRan 5 tests in 0.002s\n\nOK (skipped=1)", ("unittest", 4, 0, 1)),
    ("Ran 5 tests in 0.002s\n\nFAILED (failures=1, errors=1)", ("unittest", 3, 2, 0)),
    ("Test Suites: 2 passed, 2 total\nTests:       1 failed, 9 passed, 10 total", ("jest", 9, 1, 0)),
    (" Test Files  1 passed (1)\n      Tests  7 passed | 1 skipped (8)\n", ("vitest", 7, 0, 1)),
    (
        "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured\ntest result: ok. 2 passed; 0 failed; 0 ignored;",
        ("cargo", 7, 0, 1),
    ),
    ("ok  \texample.com/a\t0.01s\n?   \texample.com/b\t[no test files]", ("go", 1, 0, 0)),
    ("--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\texample.com/a\t0.01s", ("go", 1, 1, 0)),
    ("ok  \texample.com/a\t0.01s [no tests to run]", ("go", 0, 0, 0)),
    ("[INFO] Tests run: 8, Failures: 0, Errors: 0, Skipped: 2", ("maven", 6, 0, 2)),
    ("12 tests completed, 1 failed", ("gradle", 11, 1, 0)),
    ("> Task :test\n\nBUILD SUCCESSFUL in 3s", ("gradle", 1, 0, 0)),
    ("> Task :test UP-TO-DATE\n\nBUILD SUCCESSFUL in 3s", ("gradle", 0, 0, 0)),
    ("100% tests passed, 0 tests failed out of 12", ("ctest", 12, 0, 0)),
    ("\n  8 passing (20ms)\n  1 failing\n", ("mocha", 8, 1, 0)),
    ("9 examples, 1 failure", ("rspec", 8, 1, 0)),
    ("Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5", ("dotnet", 5, 0, 0)),
]


CASES += [{"name": output, "output": output, "counts": list(wanted)} for output, wanted in OUTPUTS]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_counts_of_every_runner_are_parsed(case: dict[str, Any]) -> None:
    """Every common runner is read, in its versions and modes."""
    counts = parse_test_counts(case["output"])

    if case["counts"] is None:
        assert counts is None
    else:
        assert counts is not None
        assert [counts.runner, counts.passed, counts.failed, counts.skipped] == case["counts"]
        assert counts.total == counts.passed + counts.failed


@given(st.text(max_size=300))
def test_any_output_gives_no_counts_or_whole_ones(text: str) -> None:
    """Text that is not a report gives no counts; counts are never negative and name their runner."""
    counts = parse_test_counts(text)

    assert counts is None or (counts.runner and min(counts.passed, counts.failed, counts.skipped) >= 0)
