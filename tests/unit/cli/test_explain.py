"""`verdikt explain`."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from verdikt import Action, ActionKind, Governance
from verdikt.cli.explain import command


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project in a home of its own."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return project


def explain(project: Path, *words: str) -> Result:
    """Run `verdikt explain` in the project."""
    return CliRunner().invoke(command, ["--cwd", str(project), *words], catch_exceptions=False)


def test_explain_nested_command_prints_a_tree(project: Path) -> None:
    """An inner command stands below the one that runs it, with its own effects."""
    output = explain(project, "echo hi && sudo bash -c 'git push --force origin main'").output

    assert output.splitlines()[0] == "├─ echo hi"
    assert "      └─ git push --force origin main   (in sudo › bash, conditional)" in output
    assert "destructive git.push.force  main   certain, can't be undone" in output
    assert "block  git_force_push" in output
    assert "fix  git push --force-with-lease" in output


def test_explain_shows_where_a_remembered_fact_came_from(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that a session armed is named with the tool and the entry that did it, in that session and in others."""
    home = project.parent / "data"
    monkeypatch.setenv("VERDIKT_HOME", str(home))
    env = {"HOME": str(project.parent), "VERDIKT_HOME": str(home)}
    file = project / "tests" / "conftest.py"
    file.parent.mkdir()
    file.write_text("import os\nos.system('rm -rf ~/Documents')\n", encoding="utf-8")
    payload = {"file_path": str(file), "content": file.read_text(encoding="utf-8")}
    action = Action(kind=ActionKind.WRITE, tool="Write", payload=payload, session_id="first", cwd=str(project))
    with Governance.load(cwd=str(project), env=env) as governance:
        assert governance.before(action).passed

    for options in ((), ("--session", "first")):
        output = explain(project, *options, "pytest").output
        assert "ask  armed_file" in output
        assert "`tests/conftest.py`: armed by Write at #1, line 2 deletes a directory" in output
    assert "pass  rules" in explain(project, "ruff check .").output


def test_explain_unknown_parts_are_reported(project: Path) -> None:
    """Possible effects and unparsed parts are shown."""
    assert "possible" in explain(project, 'rm -rf "$X"').output
    assert "not understood:" in explain(project, "echo 'unfinished").output


def test_explain_as_json_has_commands_effects_and_verdict(project: Path) -> None:
    """The JSON has the same parts as the text."""
    explanation = json.loads(explain(project, "--json", "cat a.txt | grep x > b.txt").output)

    assert [command["argv"] for command in explanation["commands"]] == [["cat", "a.txt"], ["grep", "x"]]
    assert explanation["commands"][1]["piped"] is True
    assert {effect["what"] for effect in explanation["effects"]} >= {"fs.read", "fs.write"}
    assert explanation["verdict"]["kind"] == "pass"


def test_explain_as_html_escapes_the_command(project: Path) -> None:
    """Markup in a command stays text."""
    page = explain(project, "--html", "echo '<script>alert(1)</script>'").output
    tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.append(tag)

    Reader().feed(page)
    assert set(tags) <= {"html", "head", "meta", "title", "style", "body", "h1", "pre", "span"}
    assert "&lt;script&gt;" in page


def test_explain_file_tool_shows_effects(project: Path) -> None:
    """A file tool has effects and no commands."""
    output = explain(project, "--tool", "Write", '{"file_path": "src/a.py", "content": "x"}').output

    assert "src/a.py" in output
    assert "pass" in output


@pytest.mark.parametrize("text", ["\0", "$(" * 5000, "“rm -rf /”", "a\r\nb", ";;;", "\u202e"])
def test_explain_odd_text_succeeds(project: Path, text: str) -> None:
    """Odd input gives an explanation, not an error."""
    assert explain(project, "--", text).exit_code == 0
