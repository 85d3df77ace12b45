"""Mistakes in records are found."""

from typing import Any

import pytest

from verdikt.effects.effect_catalog import EFFECT_CATALOG
from verdikt.effects.record_check import find_row_mistakes
from verdikt.knowledge import find_record
from verdikt.knowledge.compiler import compile_files, read_files
from verdikt.knowledge.lint import lint_files, lint_overlaps, lint_records, lint_reports


def test_shipped_records_are_clean() -> None:
    """What verdikt ships has no mistake that the linter knows."""
    files = read_files()
    records = compile_files(files)
    assert [*lint_files(files), *lint_reports(files), *lint_records(records, EFFECT_CATALOG)] == []
    assert [mistake for record in records.values() for mistake in find_row_mistakes(record)] == []


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"does": "fs.destroy"}, "unknown effect `fs.destroy`"),
        (
            {"effects": [{"does": "fs.read"}, {"does": "fs.list", "else": True}]},
            "`fs.list` is never reached: an earlier row always applies",
        ),
        (
            {"effects": [{"does": "fs.read", "on": "0"}, {"does": "fs.read", "on": "0"}]},
            "`fs.read` is listed twice with the same conditions",
        ),
        (
            {"effects": [{"does": "fs.read", "when": "-a -b"}, {"does": "fs.list", "else": True, "when": "-b"}]},
            "`fs.list` is never reached: earlier rows apply under the same conditions",
        ),
        (
            {
                "effects": [
                    {"does": "fs.read", "when": "--force"},
                    {"does": "fs.list", "else": True, "when": "--force+--all"},
                ]
            },
            "`fs.list` is never reached: earlier rows apply under the same conditions",
        ),
        (
            {"effects": [{"does": "fs.read", "when": "-a+!-a"}]},
            "`fs.read` is never reached: its conditions contradict each other",
        ),
        (
            {"prefixes": "beta*", "commands": [{"names": "betas list", "does": "fs.list"}]},
            "betas list: is never reached: `betas` is one of the `prefixes`",
        ),
        (
            {"commands": [{"names": "a b c d e", "does": "fs.list"}]},
            "a b c d e: only 4 words are compared with a command",
        ),
        ({"values": "-o", "flags": "-o -v"}, "`-o` is listed with and without a value"),
        (
            {"values": "-o", "commands": [{"names": "go", "flags": "-o"}]},
            "`-o` takes a value by the program's own list",
        ),
        (
            {"flags": "-o", "commands": [{"names": "go", "values": "-o"}]},
            "`-o` takes no value by the program's own list",
        ),
    ],
)
def test_mistake_is_told(record: dict[str, Any], problem: str) -> None:
    """Each kind of mistake is told with the file and the program."""
    problems = list(lint_records(compile_files({"test": {"program": [{"names": "x", **record}]}}), EFFECT_CATALOG))

    assert [
        line.removeprefix("test.toml: x ").removeprefix("go: ").removeprefix("test.toml: x: ") for line in problems
    ] == [problem]


def test_record_that_contradicts_the_shipped_one_is_told() -> None:
    """An own record that takes an option otherwise than the shipped one is wrong, or the shipped one is."""
    records = compile_files({"own": {"program": [{"names": "kubectl", "flags": "-n", "values": "--context"}]}})

    (problem,) = lint_overlaps(records, find_record)

    assert problem == "own.toml: kubectl: `-n` takes no value here, unlike in the shipped record"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"on": "first"}, "expected words after `on`, found `first`"),
        ({"on": "zone:last=temp"}, "expected words after `on`, found `zone:last=temp`"),
        ({"as": "thing"}, "unknown kind `thing`"),
        ({"when": "is:0=nonsense"}, "unknown kind or role `nonsense` in `is:0=nonsense`"),
        ({"unless": "-f+!zone:x=temp"}, "expected words in `zone:x=temp`, found `x`"),
        ({"when": "-f++-g"}, "an empty term in `-f++-g`"),
    ],
)
def test_row_that_could_not_be_evaluated_is_told(row: dict[str, str], problem: str) -> None:
    """A selector, a kind or a condition that fails in the middle of a decision is found before."""
    records = compile_files({"test": {"program": [{"names": "x", "effects": [{"does": "fs.read", **row}]}]}})

    assert list(find_row_mistakes(records["x"])) == [problem]


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ({"reports": [{"name": "x", "pattern": "({passed"}]}, "report `x`: `pattern` is no regular expression: "),
        ({"reports": [{"name": "x", "words": "{green} ok"}]}, "report `x`: unknown group `green`"),
        (
            {"reports": [{"name": "x", "pattern": "{passed} ok"}], "tasks": [{"names": "tester", "reports": "y"}]},
            "tasks of `tester`: unknown report `y`",
        ),
    ],
)
def test_mistake_in_a_report_is_told(file: dict[str, Any], problem: str) -> None:
    """A format that can't be read would make a green run look like no run."""
    (line,) = lint_reports({"test": file})

    assert line.startswith(problem)
