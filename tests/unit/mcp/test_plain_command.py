"""The plain form of `verdikt mcp`, which starts its server before the command line is loaded."""

import subprocess
import sys
from pathlib import Path

import pytest

from verdikt.mcp.plain_command import PlainCommand, parse_plain_command


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["--name", "git", "--", "srv", "-x"], PlainCommand("git", ("srv", "-x"))),
        (["--trust-first", "--name", "git", "--", "srv"], PlainCommand("git", ("srv",), trust_first=True)),
        (["--name", "git", "--trust-first", "--", "srv", "--", "y"], PlainCommand("git", ("srv", "--", "y"), True)),
    ],
)
def test_the_plain_form_is_understood(arguments: list[str], command: PlainCommand) -> None:
    """A name, perhaps trust at first sight, and the server's command."""
    assert parse_plain_command(arguments) == command


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--help"],
        ["--", "srv"],
        ["--name", "git"],
        ["--name", "git", "--"],
        ["--name", "a__b", "--", "srv"],
        ["--name", "", "--", "srv"],
        ["--name", "--trust-first", "--", "srv"],
        ["--name", "git", "srv", "--", "x"],
        ["--name", "git", "--to", "http://127.0.0.1/", "--", "srv"],
        ["--name", "git", "--trust-first", "--trust-first", "--", "srv"],
        ["--name", "git", "--name", "other", "--", "srv"],
        ["run", "--name", "git", "--", "srv"],
        ["pins", "--", "srv"],
    ],
)
def test_every_other_form_is_left_to_the_command_line(arguments: list[str]) -> None:
    """It knows every option, and reports what is wrong."""
    assert parse_plain_command(arguments) is None


@pytest.mark.parametrize("variables", [{}, {"HOME": "", "VERDIKT_HOME": ""}])
def test_an_error_reads_as_on_the_command_line(tmp_path: Path, variables: dict[str, str]) -> None:
    """A server that cannot be started, or a place for the log that is missing: the same text and the same status."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **variables}
    server = ["cat"] if variables else [str(tmp_path / "missing")]

    def run(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "verdikt", "mcp", *words, "--name", "x", "--", *server]
        completed = subprocess.run(
            command, env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        return completed.returncode, completed.stderr.decode()

    plain = run()

    assert plain == run("run")
    assert plain[0] == 1
    assert plain[1].startswith("Error: ")
