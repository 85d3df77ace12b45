"""Every example in the README and the docs that is marked runnable runs, and generated tables match the code.

How an example is marked, after the three backticks: `python run` is executed; `yaml policy` must load as a policy; `yaml
cases` must hold for the policy above it; `yaml file=NAME` is a file for what follows; `console run` is a list of `$ commands`
whose output must be what is shown, where `…` stands for anything on a line.
"""

import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.documents import PAGES, ROOT, TABLES, generated
from verdikt.cli import root
from verdikt.cli.policy_test import run_cases
from verdikt.graph.policy import Policy
from verdikt.graph.policy_test import read_cases
from verdikt.model.yaml_document import parse_document
from verdikt.policy import parse_policy

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"(?m)(?:^    |^\$ |`)verdikt ((?!entry v1)(?:[^`\n# ]| (?! |#))+)")
"""A call of ours, up to what is said about it."""
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")


def examples(text: str) -> Iterator[tuple[str, list[str], str, int]]:
    """Language, marks, body and line of each fenced block."""
    for found in FENCE.finditer(text):
        yield found[1], found[2].split(), found[3], text[: found.start()].count("\n") + 1


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_generated_tables_match_the_code(page: Path) -> None:
    """`make docs` writes them anew."""
    assert page.read_text() == generated(page.read_text()), f"run `make docs` to write {named(page)} anew"


def test_every_table_is_in_the_docs() -> None:
    """A table that no page shows tells nobody anything."""
    text = "".join(page.read_text() for page in PAGES)

    assert [name for name in TABLES if f"<!-- generated: {name} -->" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    """Within the repository."""
    assert [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the page, in an empty project with an empty home."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in [name for name in os.environ if name.startswith(("XDG_", "VERDIKT_"))]:
        monkeypatch.delenv(name)
    policy: Policy | None = None
    for language, marks, body, line in examples(page.read_text()):
        where = f"{named(page)}:{line}"
        for mark in marks:
            if mark.startswith("file="):
                path = Path(mark.removeprefix("file="))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(body)
        if language == "python" and "run" in marks:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * line + body, str(page), "exec"), {"__name__": "__main__"})
        elif language == "yaml" and "policy" in marks:
            policy = parse_policy(body, where)
        elif language == "yaml" and "cases" in marks:
            assert policy is not None, f"{where}: no policy above these cases"
            check_cases(policy, body, where)
        elif language == "console" and "run" in marks:
            check_session(body, where)


def check_cases(policy: Policy, body: str, where: str) -> None:
    document = parse_document(body, where)
    cases = read_cases(document)
    document.raise_errors()
    assert [f"{case.where}: {case.name}\n{failure}" for case, failure in run_cases(policy, cases) if failure] == []


def check_session(body: str, where: str) -> None:
    """Runs each `$ verdikt …`, and each `$ echo … | verdikt …`, and compares what it prints."""
    status = 0
    for step in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        if command == "echo $?":
            assert expected.strip() == str(status), where
            continue
        words, said = shlex.split(command), ""
        if words[0] == "echo" and words[2] == "|":
            words, said = words[3:], f"{words[1]}\n"
        program, *arguments = words
        assert program == "verdikt", f"{where}: expected a verdikt command, found `{command}`"
        result = CliRunner().invoke(root, arguments, input=said)
        status = result.exit_code
        pattern = "[^\n]*".join(re.escape(part) for part in expected.rstrip().split("…"))
        assert re.fullmatch(pattern, result.output.rstrip()), f"{where}: `{command}` printed\n{result.output}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_that_are_shown_exist(page: Path) -> None:
    """Subcommands and options, in running text as in examples."""
    wrong = []
    for shown in COMMAND.findall(page.read_text()):
        words, command = re.sub(r"'[^']*'|\"[^\"]*\"", "quoted", shown).split(), root
        while words and isinstance(command, click.Group) and words[0].isalpha():
            found = command.get_command(click.Context(command), words[0])
            if found is None:
                wrong.append(shown)
                break
            words, command = words[1:], found
        known = {"--help", *(option for parameter in command.params for option in parameter.opts)}
        wrong += [shown for word in words if word.startswith("--") and word.partition("=")[0] not in known]

    assert wrong == []


def test_every_room_is_on_the_page_about_the_architecture() -> None:
    """Whoever looks for a file finds what it is for."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "verdikt"
    rooms = [f"{path.name}/" for path in source.iterdir() if path.is_dir() and path.name != "__pycache__"]
    rooms += [path.name for path in source.glob("*.py") if not path.name.startswith("__")]

    assert [room for room in rooms if f"`{room}`" not in page] == []
