"""The walk through one decision in docs/architecture.md: its files exist and are entered in its order."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import verdikt
from tests.acceptance import accept
from verdikt import Action, ActionKind, Governance

SOURCE = Path(verdikt.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
HEADING = "## One decision, file by file"
COMMAND = "rm -rf build && ls"

MAX_LISTED_FILES = 25
"""The most files that a newcomer should have to read to understand one decision, nouns included."""

MAX_ENTERED_FILES = 35
"""The most files that an ordinary decision may run through."""


def read_walk(page: str) -> list[str]:
    """Return the files of the numbered list under the heading, in order."""
    section = page.partition(HEADING)[2].partition("\n## ")[0]
    return re.findall(r"^\d+\. `([^`]+)`", section, re.MULTILINE)


def read_mentioned_files(page: str) -> set[str]:
    """Return all source files that the section names, in the list or in its introduction."""
    section = page.partition(HEADING)[2].partition("`tests/")[0]
    return set(re.findall(r"`([\w/]+\.py)`", section))


def trace_files(call: Callable[[], Any]) -> list[str]:
    """Return the files of verdikt that a call runs through, in the order of their first entry."""
    entered: dict[str, None] = {}

    def note_file(frame: FrameType, event: str, argument: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(f"{SOURCE}{os.sep}"):
            entered.setdefault(Path(path).relative_to(SOURCE).as_posix())

    previous = sys.getprofile()
    sys.setprofile(note_file)
    try:
        call()
    finally:
        sys.setprofile(previous)
    return list(entered)


def find_walk_faults(listed: list[str], entered: list[str]) -> list[str]:
    """Return what is wrong with a list of files, given the files that a decision entered."""
    faults = [f"{name} is not entered" for name in listed if name not in entered]
    positions = [entered.index(name) for name in listed if name in entered]
    if positions != sorted(positions):
        faults.append(f"expected this order: {', '.join(name for name in entered if name in listed)}")
    return faults


@pytest.fixture
def entered_files(tmp_path: Path) -> list[str]:
    """Return the files that one ordinary decision enters, with all modules imported by an earlier one."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "governance.yaml").write_text("profile: standard\n")
    env = {"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "data"), "PATH": os.environ["PATH"]}
    accept(project, env)

    def build_action(command: str, session: str) -> Action:
        payload = {"command": command}
        return Action(
            kind=ActionKind.BASH, tool="Bash", payload=payload, session_id=session, cwd=str(project), call_id=session
        )

    with Governance.load(cwd=str(project), env=env) as governance:
        governance.before(build_action("rm -rf dist && ls docs", "first"))
        action = build_action(COMMAND, "second")
        return trace_files(lambda: governance.before(action))


def test_walk_in_the_docs_names_existing_files_that_are_few_enough_to_read() -> None:
    """The page lists at most 25 files, and each of them is in the source tree."""
    page = PAGE.read_text(encoding="utf-8")
    listed, mentioned = read_walk(page), read_mentioned_files(page)

    assert len(listed) >= 15
    assert len(mentioned | set(listed)) <= MAX_LISTED_FILES
    assert [name for name in sorted(mentioned | set(listed)) if not (SOURCE / name).is_file()] == []


def test_walk_in_the_docs_has_the_order_in_which_a_decision_enters_files(entered_files: list[str]) -> None:
    """The files of the list are entered by a real `before`, in the order of the list."""
    assert find_walk_faults(read_walk(PAGE.read_text(encoding="utf-8")), entered_files) == []


def test_ordinary_decision_enters_few_files(entered_files: list[str]) -> None:
    """One decision runs through at most 35 files of verdikt."""
    assert len(entered_files) <= MAX_ENTERED_FILES, "\n".join(entered_files)


@pytest.mark.parametrize(
    ("listed", "fault"),
    [
        (["a.py", "x.py"], "x.py is not entered"),
        (["b.py", "a.py"], "expected this order: a.py, b.py"),
    ],
)
def test_walk_fault_is_found_when_the_list_is_wrong(listed: list[str], fault: str) -> None:
    """A file that is not entered and a wrong order are both reported."""
    assert find_walk_faults(listed, ["a.py", "b.py"]) == [fault]
