"""What shell text would run, as data: tests/cases/shell_*.yaml."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from verdikt.shell import analyse
from verdikt.shell.command import UNKNOWN, Command, Script

CASES = Path(__file__).parent.parent.parent / "cases"
HOME, CWD = "/home/dev", "/home/dev/project"


def load() -> list[Any]:
    """Every case of every file, named by the file and the case."""
    found = []
    for path in sorted(CASES.glob("shell_*.yaml")):
        for case in yaml.safe_load(path.read_text(encoding="utf-8")):
            found.append(pytest.param(case, id=f"{path.stem}: {case['name']}"))
    return found


def argv(command: Command) -> list[str]:
    """The words as a case writes them: `…` for each unknown part."""
    return [word.text.replace(UNKNOWN, "…") for word in command.argv]


def look(case: dict[str, Any]) -> Script:
    """The case's text, analysed where it says."""
    files = case.get("files", {})
    return analyse(
        case["run"],
        home=case.get("home", HOME),
        cwd=case.get("cwd", CWD),
        env=case.get("env"),
        read=files.get,
        aliases=case.get("aliases"),
    )


def described(command: Command) -> dict[str, Any]:
    """A command's circumstances as a case may ask for them."""
    return {
        "argv": argv(command),
        "cwd": command.cwd.text.replace(UNKNOWN, "…") if command.cwd else None,
        "via": list(command.via),
        "where": command.host,
        "stdin": command.stdin,
        "background": command.background,
        "conditional": command.conditional,
        "repeated": command.repeated,
        "pipe_from": command.pipe_from,
        "pipe_to": command.pipe_to,
        "feeds": command.feeds,
        "glob": any(word.glob for word in command.argv),
        "assignments": {name: word.text.replace(UNKNOWN, "…") for name, word in command.assignments},
        "redirects": [f"{r.fd}{r.op}{r.target.text.replace(UNKNOWN, '…')}" for r in command.redirects],
    }


@pytest.mark.parametrize("case", load())
def test_case(case: dict[str, Any]) -> None:
    """`commands` are all of them, in order; `has` and `lacks` speak of some; `codes` are language and text."""
    script = look(case)
    found = [argv(command) for command in script.commands]
    if "commands" in case:
        assert [words for words in found if words] == case["commands"]
    for wanted in case.get("has", []):
        assert wanted in found
    for unwanted in case.get("lacks", []):
        assert unwanted not in [words[0] for words in found if words]
    for wanted in case.get("with", []):
        seen = [described(command) for command in script.commands]
        assert any(all(one[key] == value for key, value in wanted.items()) for one in seen), seen
    if "codes" in case:
        assert [[code.language, code.text.replace(UNKNOWN, "…")] for code in script.codes] == case["codes"]
    assert bool(script.problems) == case.get("problem", False), script.problems
