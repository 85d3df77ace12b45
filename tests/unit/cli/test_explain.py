"""`verdikt explain`, as people, machines and browsers see it."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from verdikt.cli.explain import command


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a home of its own."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return project


def explained(project: Path, *words: str) -> Result:
    """The command's run there."""
    return CliRunner().invoke(command, ["--cwd", str(project), *words], catch_exceptions=False)


def test_the_parse_is_a_tree_with_the_effects_of_each_command(project: Path) -> None:
    """A command inside another stands below it."""
    said = explained(project, "echo hi && sudo bash -c 'git push --force origin main'").output

    assert said.splitlines()[0] == "├─ echo hi"
    assert "      └─ git push --force origin main   (in sudo › bash, conditional)" in said
    assert "destructive git.push.force  main   certain, can't be undone" in said
    assert "block  git_force_push" in said
    assert "fix  git push --force-with-lease" in said


def test_what_is_not_known_is_said(project: Path) -> None:
    """Possible effects and what could not be understood both show."""
    assert "possible" in explained(project, 'rm -rf "$X"').output
    assert "not understood:" in explained(project, "echo 'unfinished").output


def test_machines_get_json(project: Path) -> None:
    """The same in fields."""
    told = json.loads(explained(project, "--json", "cat a.txt | grep x > b.txt").output)

    assert [found["argv"] for found in told["commands"]] == [["cat", "a.txt"], ["grep", "x"]]
    assert told["commands"][1]["piped"] is True
    assert {effect["what"] for effect in told["effects"]} >= {"fs.read", "fs.write"}
    assert told["verdict"]["kind"] == "pass"


def test_a_page_shows_and_never_runs(project: Path) -> None:
    """Whatever the command holds stays text."""
    page = explained(project, "--html", "echo '<script>alert(1)</script>'").output
    tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.append(tag)

    Reader().feed(page)
    assert set(tags) <= {"html", "head", "meta", "title", "style", "body", "h1", "pre", "span"}
    assert "&lt;script&gt;" in page


def test_other_tools_are_explained_too(project: Path) -> None:
    """A file tool has effects and no commands."""
    said = explained(project, "--tool", "Write", '{"file_path": "src/a.py", "content": "x"}').output

    assert "src/a.py" in said
    assert "pass" in said


@pytest.mark.parametrize("text", ["\0", "$(" * 5000, "“rm -rf /”", "a\r\nb", ";;;", "\u202e"])
def test_any_text_is_explained(project: Path, text: str) -> None:
    """Bad input is normal input."""
    assert explained(project, "--", text).exit_code == 0
