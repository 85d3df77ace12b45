"""Every example in the README and the docs that is marked runnable runs, and generated tables match the code.

How an example is marked, after the three backticks: `python run` is executed; `yaml policy` must load as a policy;
`yaml cases` must hold for the policy above it; `yaml file=NAME` is a file for what follows; `console run` is a list of
`$ commands` whose output must be what is shown, where `…` stands for anything on a line.
"""

import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner
from tools.record_session import PICTURE, record_session, render_picture

from tests.documents import PAGES, ROOT, TABLES, update_tables
from verdikt.cli import root
from verdikt.cli.docs import find_page, find_pages
from verdikt.cli.policy_test import run_cases
from verdikt.graph.policy import Policy
from verdikt.graph.policy_test import read_cases
from verdikt.model.yaml_document import parse_document
from verdikt.policy import parse_policy

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# A `verdikt` command in text or code, up to a comment or the closing backtick.
COMMAND = re.compile(r"(?m)(?:^    |^\$ |`)verdikt ((?!entry v1)(?:[^`\n# ]| (?! |#))+)")
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")


def find_examples(text: str) -> Iterator[tuple[str, list[str], str, int]]:
    """Yield language, marks, body and line of each fenced block."""
    for match in FENCE.finditer(text):
        yield match[1], match[2].split(), match[3], text[: match.start()].count("\n") + 1


def get_page_name(page: Path) -> str:
    """Return the path of a page in the repository."""
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=get_page_name)
def test_generated_tables_match_the_code(page: Path) -> None:
    """The tables are what `make docs` writes."""
    assert page.read_text() == update_tables(page.read_text()), f"run `make docs` to update {get_page_name(page)}"


def test_every_table_is_in_the_docs() -> None:
    """Each generated table is shown on a page."""
    text = "".join(page.read_text() for page in PAGES)

    assert [name for name in TABLES if f"<!-- generated: {name} -->" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=get_page_name)
def test_links_lead_to_existing_files(page: Path) -> None:
    """Links within the repository lead to files that exist."""
    assert [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=get_page_name)
def test_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples run in the order of the page, in an empty project with an empty home."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in [name for name in os.environ if name.startswith(("XDG_", "VERDIKT_"))]:
        monkeypatch.delenv(name)
    policy: Policy | None = None
    for language, marks, body, line in find_examples(page.read_text()):
        where = f"{get_page_name(page)}:{line}"
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
    """Fail when the policy does not decide a case as it says."""
    document = parse_document(body, where)
    cases = read_cases(document)
    document.raise_errors()
    assert [f"{case.where}: {case.name}\n{failure}" for case, failure in run_cases(policy, cases) if failure] == []


def check_session(body: str, where: str) -> None:
    """Run each `$ verdikt …` and each `$ echo … | verdikt …`, and compare what it prints."""
    status = 0
    for step in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        if command == "echo $?":
            assert expected.strip() == str(status), where
            continue
        words, stdin = shlex.split(command), ""
        if words[0] == "echo" and words[2] == "|":
            words, stdin = words[3:], f"{words[1]}\n"
        program, *arguments = words
        assert program == "verdikt", f"{where}: expected a verdikt command, found `{command}`"
        result = CliRunner().invoke(root, arguments, input=stdin)
        status = result.exit_code
        pattern = "[^\n]*".join(re.escape(part) for part in expected.rstrip().split("…"))
        assert re.fullmatch(pattern, result.output.rstrip()), f"{where}: `{command}` printed\n{result.output}"


@pytest.mark.parametrize("page", PAGES, ids=get_page_name)
def test_commands_on_a_page_exist(page: Path) -> None:
    """Subcommands and options exist, in running text as in examples."""
    wrong = []
    for shown in COMMAND.findall(page.read_text()):
        words, command = re.sub(r"'[^']*'|\"[^\"]*\"", "quoted", shown).split(), root
        while words and isinstance(command, click.Group) and words[0].isalpha():
            subcommand = command.get_command(click.Context(command), words[0])
            if subcommand is None:
                wrong.append(shown)
                break
            words, command = words[1:], subcommand
        if words and (default := getattr(command, "default_command", "")):
            # `verdikt mcp -- SERVER` stands for `verdikt mcp run -- SERVER`.
            command = command.get_command(click.Context(command), default)
        words = words[: words.index("--")] if "--" in words else words
        known = {"--help", *(option for parameter in command.params for option in parameter.opts)}
        wrong += [shown for word in words if word.startswith("--") and word.partition("=")[0] not in known]

    assert wrong == []


def test_messages_refer_to_pages_that_verdikt_docs_shows() -> None:
    """A path of the repository is of no use to a person who installed a package."""
    sources = {path: path.read_text() for path in (ROOT / "src").rglob("*.py")}
    named = {name for text in sources.values() for name in re.findall(r"`verdikt docs ([\w/-]+)`", text)}

    assert [str(path) for path, text in sources.items() if re.search(r"(?:see|of) docs/", text)] == []
    assert named >= {"claude", "gemini", "daemon"}
    assert [name for name in named if find_page(name) not in find_pages()] == []


def test_index_lists_every_page() -> None:
    """The index is the list that `verdikt docs` shows; pages of hosts and programs have lists of their own."""
    index = (ROOT / "docs/README.md").read_text()
    pages = [name for name in find_pages() if "/" not in name and name != "README"]

    assert [name for name in pages if f"({name}.md)" not in index] == []


def test_every_package_and_module_is_on_the_architecture_page() -> None:
    """Each package and each module of the top level is described in docs/architecture.md."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "verdikt"
    names = [f"{path.name}/" for path in source.iterdir() if path.is_dir() and path.name != "__pycache__"]
    names += [path.name for path in source.glob("*.py") if not path.name.startswith("__")]

    assert [name for name in names if f"`{name}`" not in page] == []


def test_every_file_on_the_architecture_page_exists() -> None:
    """A file that docs/architecture.md names with its package is in the tree."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`((?:\w+/)+\w+\.py)`", page))

    assert len(names) > 50
    assert [name for name in names if not any((ROOT / base / name).is_file() for base in ("src/verdikt", "."))] == []


def test_every_row_of_what_holds_names_its_test() -> None:
    """A row of the threat model says which test shows it, or that nothing holds and why."""
    page = (ROOT / "docs/threat-model.md").read_text()
    tables = re.findall(r"(?m)^\|[^\n]*\| test \|\n\|[-|]+\n((?:\|.*\n)+)", page)
    rows = [row for table in tables for row in table.splitlines()]
    proofs = [row.rstrip("| ").rpartition(" | ")[2] for row in rows]

    assert len(tables) >= 4
    assert [
        row for row, proof in zip(rows, proofs, strict=True) if not re.search(r"`test_|the same|none: ", proof)
    ] == []


def test_every_test_that_the_threat_model_names_exists() -> None:
    """A line about what holds is worth as much as its test."""
    page = (ROOT / "docs/threat-model.md").read_text()
    names = set(re.findall(r"`(test_\w+)`", page))
    files = list((ROOT / "tests").rglob("test_*.py"))
    defined = {name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)}

    assert names
    assert names - defined == set()
    assert set(re.findall(r"`(test_\w+\.py)`", page)) <= {file.name for file in files}


def test_the_picture_of_a_session_shows_what_a_terminal_shows() -> None:
    """The committed picture has the text and the colours of a new recording; `make docs` makes it again."""
    picture = render_picture(record_session())
    elements = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")
    lines = ["".join(element.itertext()) for element in elements]

    assert lines[0] == "$ verdikt demo --short"
    assert any("`Documents` lies outside the project" in line for line in lines)
    assert '<tspan class="red bold">block   </tspan>' in picture
    assert PICTURE.read_text(encoding="utf-8") == picture
    # A reader's browser must reach nothing, and run nothing.
    assert not re.search(r"href|url\(|<script|@import", picture)
