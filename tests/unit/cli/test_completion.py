"""`verdikt completion`: tried in the shells themselves, and the old name of `stop-check`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Verdikt

ASK = {
    "bash": """
eval "$(verdikt completion bash)"
COMP_WORDS=({words})
COMP_CWORD={last}
_verdikt_completion verdikt
printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "zsh": """
autoload -U compinit && compinit -D
eval "$(verdikt completion zsh)"
# Outside of the editor nothing can be offered: print what the script would offer.
_describe() {{ print -l -- ${{(P)3}} }}
compadd() {{ print -l -- ${{(P)${{@[-1]}}}} }}
words=({words})
CURRENT={number}
_verdikt_completion
""",
    "fish": """
verdikt completion fish | source
complete --do-complete "{line}"
""",
}
"""Shell → a script that prints what it would offer."""


def complete(shell: str, line: str, tmp_path: Path) -> list[str]:
    """Return what a shell offers for the last word of a line."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} on PATH")
    directory = tmp_path / "bin"
    directory.mkdir()
    (directory / "verdikt").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m verdikt "$@"\n')
    (directory / "verdikt").chmod(0o755)
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    script = ASK[shell].format(words=quoted, last=len(words) - 1, number=len(words), line=line)
    env = {"HOME": str(tmp_path), "PATH": f"{directory}:{os.environ['PATH']}", "TERM": "dumb"}
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    completed = subprocess.run(
        [program, *options, "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert completed.stderr == ""
    # zsh separates a word and its help by a colon, fish by a tab.
    return [item.split("\t")[0].split(":")[0] for item in completed.stdout.splitlines() if item]


@pytest.mark.parametrize("shell", ASK)
def test_shell_completes_commands_subcommands_options_and_names(shell: str, tmp_path: Path) -> None:
    """The script that is printed works in the shell it is for."""
    directories = [tmp_path / str(number) for number in range(5)]
    for directory in directories:
        directory.mkdir()

    assert set(complete(shell, "verdikt re", directories[0])) == {"report", "replay"}
    assert set(complete(shell, "verdikt ledger t", directories[1])) == {"tail"}
    assert "--since" in complete(shell, "verdikt report --si", directories[2])
    assert complete(shell, "verdikt docs now", directories[3]) == ["now-what"]
    assert complete(shell, "verdikt rule git_fo", directories[4]) == ["git_force_push"]


def test_unknown_shell_is_refused_with_a_suggestion(verdikt: Verdikt) -> None:
    """`completion` names its shells."""
    refused = verdikt("completion", "bsh")

    assert refused.returncode == 2
    assert "no command `bsh` (did you mean `bash`?)" in refused.stderr


def test_old_name_of_stop_check_works_and_says_its_new_one(project: Path, verdikt: Verdikt) -> None:
    """Scripts of the last release go on for one more: the same output, status and options."""
    (project / "governance.yaml").write_text("completion: {checks: [{files: out.md}]}\n")
    old, new = verdikt("completion", "check", "--json"), verdikt("stop-check", "check", "--json")

    assert (old.returncode, old.stdout) == (new.returncode, new.stdout) == (2, new.stdout)
    assert old.stderr == "`verdikt completion check` is `verdikt stop-check check` now; this name goes away\n"
    assert verdikt("completion", "show").stdout == verdikt("stop-check", "show").stdout


@pytest.mark.parametrize("value", ["bash_source", "bash_complete", "zsh_complete", "nonsense"])
def test_completion_variable_does_not_replace_a_command(value: str, project: Path, verdikt: Verdikt) -> None:
    """A commit check that completes words and ends with 0 would let the commit through."""
    (project / "governance.yaml").write_text("completion: {checks: [{files: out.md}]}\n")

    assert verdikt("stop-check", "check", _VERDIKT_COMPLETE=value).returncode == 2
    assert verdikt("check", "rm -rf /usr", _VERDIKT_COMPLETE=value).returncode == 1


def test_help_is_grouped_by_task_with_init_first(verdikt: Verdikt) -> None:
    """What a newcomer needs comes first, and every command has one place."""
    lines = verdikt("--help").stdout.splitlines()
    titles = [line for line in lines if line and not line.startswith(" ") and line.endswith(":")]

    assert titles[1:6] == [
        "Start:",
        "Ask what would happen:",
        "Look at what happened:",
        "Change what is allowed:",
        "Prove that work is done:",
    ]
    assert lines[lines.index("Start:") + 1].split()[0] == "init"
