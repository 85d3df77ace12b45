"""Cases of shell text and the commands that it would run: tests/cases/shell_*.yaml."""

from typing import Any

import pytest

from tests.case_files import CASE_FILES, load_yaml
from verdikt.shell import analyse
from verdikt.shell.command import UNKNOWN, Command, Script
from verdikt.shell.possible_wrapper import POSSIBLE_WRAPPER

HOME, CWD = "/home/dev", "/home/dev/project"


def load_cases() -> list[Any]:
    """Return every case of every file, named by the file and the case."""
    cases = []
    for path in sorted(CASE_FILES.glob("shell_*.yaml")):
        for case in load_yaml(path):
            cases.append(pytest.param(case, id=f"{path.stem}: {case['name']}"))
    return cases


def render_argv(command: Command) -> list[str]:
    """Return the words as a case writes them, with `…` for each unknown part."""
    return [word.text.replace(UNKNOWN, "…") for word in command.argv]


def analyse_case(case: dict[str, Any]) -> Script:
    """Analyse the text of a case in the surroundings that it describes."""
    files = case.get("files", {})
    return analyse(
        case["run"],
        home=case.get("home", HOME),
        cwd=case.get("cwd", CWD),
        env=case.get("env"),
        read=files.get,
        aliases=case.get("aliases"),
    )


def describe_command(command: Command) -> dict[str, Any]:
    """Return the fields of a command that a case may mention under `with`."""
    return {
        "argv": render_argv(command),
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


@pytest.mark.parametrize("case", load_cases())
def test_case(case: dict[str, Any]) -> None:
    """The script is as the case says: all `commands` in order, or some under `has`, `lacks` and `with`; and `codes`."""
    script = analyse_case(case)
    commands = [render_argv(command) for command in script.commands]
    # `run` is no known program, so that its words may be a command; `has` and `with` see that one too.
    certain = [render_argv(c) for c in script.commands if not any(v.startswith(POSSIBLE_WRAPPER) for v in c.via)]
    if "commands" in case:
        assert [words for words in certain if words] == case["commands"]
    for wanted in case.get("has", []):
        assert wanted in commands
    for unwanted in case.get("lacks", []):
        assert unwanted not in [words[0] for words in certain if words]
    for wanted in case.get("with", []):
        descriptions = [describe_command(command) for command in script.commands]
        assert any(all(description[key] == value for key, value in wanted.items()) for description in descriptions), (
            descriptions
        )
    if "codes" in case:
        assert [[code.language, code.text.replace(UNKNOWN, "…")] for code in script.codes] == case["codes"]
    assert bool(script.problems) == case.get("problem", False), script.problems
