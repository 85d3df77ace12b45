"""What the runs of a command are, whatever they are called."""

from pathlib import Path
from typing import Any

import pytest

from verdikt.model.work_tree import WorkTree
from verdikt.observe.work_tree import read_work_tree
from verdikt.runs.shell_runs import read_runs
from verdikt.turns.run_inspector import find_checked_directory, inspect_runs

SCRIPTS = (
    '{"scripts": {"verify": "eslint . && tsc --noEmit && node --test", "loose": "eslint . || true; node --test",'
    ' "start": "node x.js"}}'
)


def read_path(path: str, read: Any, default: Any) -> Any:
    """Read with the rights of this process."""
    return read(path)


def inspect(directory: Path, command: str) -> list[tuple[str, str, bool]]:
    """Return the words, the kind and whether the status counts, of each run that is recorded."""
    tree = read_work_tree(str(directory))
    assert isinstance(tree, WorkTree)
    runs = [run.record() for run in read_runs(command)]
    found = inspect_runs(str(directory), command, runs, tree, read_path)
    return [(" ".join(run["argv"]), run["kind"], run["speaks"]) for run in found]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "npm run verify",
            [
                ("npm run verify", "other", True),
                ("npm run verify", "lint", True),
                ("tsc --noEmit", "lint", True),
                ("npm run verify", "test", True),
            ],
        ),
        (
            "npm run loose",
            [("npm run loose", "other", True), ("npm run loose", "lint", False), ("npm run loose", "test", True)],
        ),
        ("npm run start", [("npm run start", "other", True)]),
        ("make ci", [("make ci", "other", True), ("make ci", "lint", True), ("make ci", "test", True)]),
        ("make lint test", [("make lint", "lint", True), ("make test", "test", True)]),
        ("make -n lint test", [("make -n lint", "lint", True), ("make -n test", "test", True)]),
    ],
)
def test_task_is_a_run_of_each_check_behind_it(
    tmp_path: Path, command: str, expected: list[tuple[str, str, bool]]
) -> None:
    """A linter whose status the task throws away says nothing, whatever stands behind it."""
    (tmp_path / "package.json").write_text(SCRIPTS)
    (tmp_path / "Makefile").write_text("ci: lint test\n\nlint:\n\truff check .\n\ntest:\n\tpytest -q\n")

    assert inspect(tmp_path, command) == expected


def test_runner_of_the_project_behind_a_task_checks_nothing(tmp_path: Path) -> None:
    """A module of the project that is called like the runner is found behind a task as well."""
    (tmp_path / "Makefile").write_text("ci:\n\tpython -m pytest\n")
    (tmp_path / "pytest.py").write_text("print('3 passed in 0.1s')\n")

    assert inspect(tmp_path, "make ci") == [("make ci", "other", True)]


@pytest.mark.parametrize(
    ("command", "is_checked"),
    [("pytest -q", True), ("make ci", True), ("python x.py", True), ("cp x.py y.py", False), ("ls", False)],
)
def test_sources_are_looked_at_after_what_may_be_a_check(tmp_path: Path, command: str, is_checked: bool) -> None:
    """A task of the project may be one; copying a file is none."""
    (tmp_path / "x.py").write_text("")
    runs = [run.record() for run in read_runs(command)]

    directory = find_checked_directory(str(tmp_path), runs, (), read_path)

    assert directory == (str(tmp_path) if is_checked else "")
