"""`verdikt grant`, at a real terminal and elsewhere."""

import json
import os
import pty
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from verdikt.observe.agent_environment import AGENT_VARIABLES

WORDS = ["grant", "add", "--guard", "fs_delete", "--target", "/srv/cache", "--session", "s", "--reason", "cleanup"]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A person's environment."""
    mine = {name: value for name, value in os.environ.items() if name not in {*chain(*AGENT_VARIABLES.values())}}
    return {**mine, "VERDIKT_HOME": str(tmp_path / "home"), "TERM": "dumb"}


def run(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """The command line without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "verdikt", *words],
        env=env,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def at_terminal(env: dict[str, str], answer: str, *words: str) -> tuple[int, str]:
    """The command line at a terminal, where somebody types an answer."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "verdikt", *words], env=env, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True
    )
    os.close(theirs)
    os.write(ours, answer.encode() + b"\n")
    text = b""
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:  # the terminal is gone: the command has ended
            break
        if not chunk:
            break
        text += chunk
    os.close(ours)
    return process.wait(), text.decode()


def test_a_person_grants_lists_and_revokes(env: dict[str, str]) -> None:
    """Confirmed by typing the guard's name; recorded, signed, and gone when revoked."""
    code, text = at_terminal(env, "fs_delete", *WORDS, "--for", "2h")
    assert code == 0, text
    assert "`fs_delete` will not stop `/srv/cache` in session s until" in text

    (grant,) = json.loads(run(env, "grant", "list", "--json").stdout)
    assert (grant["guard"], grant["target"], grant["session"], grant["reason"]) == (
        "fs_delete",
        "/srv/cache",
        "s",
        "cleanup",
    )
    assert grant["expires"] - grant["created"] == 7200
    assert "cleanup" in run(env, "grant", "list").stdout
    assert run(env, "ledger", "verify").returncode == 0

    assert run(env, "grant", "revoke", grant["id"]).returncode == 0
    assert run(env, "grant", "list").stdout == "no valid grants\n"
    again = run(env, "grant", "revoke", grant["id"])
    assert again.returncode == 1
    assert "no live grant" in again.stderr


def test_another_word_grants_nothing(env: dict[str, str]) -> None:
    """Nothing is recorded."""
    code, _ = at_terminal(env, "yes", *WORDS)

    assert code == 1
    assert run(env, "grant", "list").stdout == "no valid grants\n"


def test_without_a_terminal_nothing_is_granted(env: dict[str, str]) -> None:
    """Whoever pipes an answer is no person."""
    done = run(env, *WORDS)

    assert done.returncode == 1
    assert "granting needs a person at a terminal: expected a TTY, found none" in done.stderr


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "AI_AGENT"])
def test_an_agent_grants_nothing_even_at_a_terminal(env: dict[str, str], mark: str) -> None:
    """Its environment tells."""
    code, text = at_terminal({**env, mark: "1"}, "fs_delete", *WORDS)

    assert code == 1
    assert "this runs inside " in text
    assert run({**env, mark: "1"}, "grant", "revoke", "x").returncode == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--for", "forever"], "expected a time such as 30m, 2h or 1d, found `forever`"),
        (["--for", "90d"], "expected at most 30d"),
    ],
)
def test_a_grant_has_a_bounded_time(env: dict[str, str], words: list[str], message: str) -> None:
    """Usage errors, told as such."""
    done = run(env, *WORDS, *words)

    assert done.returncode == 2
    assert message in done.stderr


def test_a_grant_for_everything_is_refused(env: dict[str, str]) -> None:
    """It would be a way around the policy."""
    code, text = at_terminal(env, "*", *WORDS, "--guard", "*")

    assert code == 1
    assert "a grant names one guard and one target" in text
