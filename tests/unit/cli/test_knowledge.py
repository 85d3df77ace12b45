"""`verdikt knowledge`: what is shown, what is checked, what is drafted."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from verdikt.cli.knowledge import command


def test_show_prints_names_options_and_effects() -> None:
    """A record is shown with its commands and their effects."""
    result = CliRunner().invoke(command, ["show", "rm"])

    assert result.exit_code == 0
    assert result.output.splitlines()[0] == "rm (coreutils)"
    assert "  does fs.delete.tree, on *, when -r -R --recursive" in result.output.splitlines()


def test_show_prints_the_records_of_the_policy_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of one's own is shown where its policy is in force, beside what verdikt knows of the name."""
    monkeypatch.chdir(tmp_path)
    for variable in ("HOME", "XDG_CONFIG_HOME", "VERDIKT_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    (tmp_path / "tools.toml").write_text('[[program]]\nnames = "shopctl rm"\ndoes = "cloud.delete on 0 as resource"\n')
    (tmp_path / "governance.yaml").write_text("profile: standard\nknowledge: [tools.toml]\n")

    own, both = (CliRunner().invoke(command, ["show", name]).output.splitlines() for name in ("shopctl", "rm"))

    assert own == ["shopctl rm (policy)", "  does cloud.delete, on 0"]
    assert both[0] == "rm (coreutils)"
    assert both[-2:] == own


def test_show_of_an_unknown_program_fails_with_a_suggestion() -> None:
    """A mistyped name is told, with the nearest one."""
    result = CliRunner().invoke(command, ["show", "kubctl"])

    assert result.exit_code == 1
    assert "kubectl" in result.output


def test_lint_passes_the_shipped_records() -> None:
    """Without a directory the records of verdikt are checked."""
    result = CliRunner().invoke(command, ["lint"])

    assert (result.exit_code, result.output.endswith("records: clean\n")) == (0, True)


def test_lint_checks_one_file(tmp_path: Path) -> None:
    """A project's own file need not stand alone in a directory; bytes that are no text are a mistake of the file."""
    file = tmp_path / "tools.toml"
    file.write_text('title = "Our tools."\n[[program]]\nnames = "shopctl"\ndoes = "sys.read"\n')
    result = CliRunner().invoke(command, ["lint", str(file)])
    assert (result.exit_code, result.output) == (0, "1 record: clean\n")

    file.write_bytes(b"title = \xff")
    result = CliRunner().invoke(command, ["lint", str(file)])
    assert result.exit_code == 1
    assert "tools.toml: invalid TOML" in result.output


def test_lint_tells_mistakes(tmp_path: Path) -> None:
    """A mistake gives status 1; so does a file that can't be compiled."""
    (tmp_path / "own.toml").write_text('title = "x"\n[[program]]\nnames = "acme"\ndoes = "fs.destroy"\n')
    result = CliRunner().invoke(command, ["lint", str(tmp_path)])
    assert (result.exit_code, result.output.splitlines()[0]) == (1, "own.toml: acme: unknown effect `fs.destroy`")

    (tmp_path / "own.toml").write_text("[[program]\n")
    assert CliRunner().invoke(command, ["lint", str(tmp_path)]).exit_code == 1


def test_learn_drafts_from_a_saved_help_text(tmp_path: Path) -> None:
    """The draft names the program and its options."""
    (tmp_path / "help.txt").write_text("Usage: acme\n\nOptions:\n  -f, --file FILE  a file\n")
    result = CliRunner().invoke(command, ["learn", "acme", "--from", str(tmp_path / "help.txt")])

    assert result.exit_code == 0
    assert 'names = "acme"\nvalues = "-f --file"' in result.output


def test_learn_drafts_from_a_completion_spec(tmp_path: Path) -> None:
    """A YAML file is read as a spec of carapace."""
    (tmp_path / "acme.yaml").write_text("name: acme\nflags:\n  -f, --file=: a file\n")
    result = CliRunner().invoke(command, ["learn", "acme", "--from", str(tmp_path / "acme.yaml")])

    assert 'values = "-f --file"' in result.output


def test_learn_of_a_program_that_is_not_installed_fails() -> None:
    """There is nothing to run, and the message says what to do."""
    result = CliRunner().invoke(command, ["learn", "no-such-program-here"])

    assert result.exit_code == 1
    assert "--from" in result.output


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("acme.json", '{"name": "acme", "options": [{"name": "--file", "args": {}}]}', 'values = "--file"'),
        ("acme.usage.kdl", 'bin "acme"\nflag "--file <file>"', 'values = "--file"'),
        ("acme.kdl", "bin {", "Error: "),
        ("acme.json", "{", "invalid JSON"),
        ("acme.yaml", "[", "invalid YAML"),
    ],
)
def test_learn_reads_a_spec_by_the_ending_of_its_file(tmp_path: Path, name: str, text: str, expected: str) -> None:
    """A spec of fig is JSON, one of `usage` KDL; a broken one fails with a line that names the file."""
    (tmp_path / name).write_text(text)
    result = CliRunner().invoke(command, ["learn", "acme", "--from", str(tmp_path / name)])

    assert expected in result.output
    assert result.exit_code == (0 if expected.startswith("values") else 1)
