"""`verdikt grant`, with and without a terminal."""

import json
import os
import pty
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from verdikt.observe.agent_environment import AGENT_VARIABLES

WORDS = ["grant", "add", "--guard", "delete_outside", "--target", "/srv/cache", "--session", "s", "--reason", "cleanup"]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a person."""
    mine = {name: value for name, value in os.environ.items() if name not in {*chain(*AGENT_VARIABLES.values())}}
    return {**mine, "VERDIKT_HOME": str(tmp_path / "home"), "TERM": "dumb"}


def run(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "verdikt", *words],
        env=env,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def run_at_terminal(env: dict[str, str], answer: str, *words: str) -> tuple[int, str]:
    """Run the command line at a terminal and type an answer."""
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


def test_grant_confirmed_at_terminal_is_listed_and_revoked(env: dict[str, str]) -> None:
    """A grant is confirmed by typing the guard's name, recorded, and gone when revoked."""
    code, text = run_at_terminal(env, "delete_outside", *WORDS, "--for", "2h")
    assert code == 0, text
    assert "`delete_outside` will not stop `/srv/cache` in session s until" in text

    (grant,) = json.loads(run(env, "grant", "list", "--json").stdout)
    assert (grant["guard"], grant["target"], grant["session"], grant["reason"]) == (
        "delete_outside",
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


def test_grant_with_wrong_confirmation_is_not_recorded(env: dict[str, str]) -> None:
    """A wrong answer records nothing."""
    code, _ = run_at_terminal(env, "yes", *WORDS)

    assert code == 1
    assert run(env, "grant", "list").stdout == "no valid grants\n"


def test_grant_without_terminal_is_refused(env: dict[str, str]) -> None:
    """An answer from a pipe does not count."""
    done = run(env, *WORDS)

    assert done.returncode == 1
    assert "granting needs a person at a terminal: expected a TTY, found none" in done.stderr


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "AI_AGENT"])
def test_grant_inside_an_agent_is_refused(env: dict[str, str], mark: str) -> None:
    """An agent is recognized by its environment, also at a terminal."""
    code, text = run_at_terminal({**env, mark: "1"}, "delete_outside", *WORDS)

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
def test_grant_with_invalid_lifetime_is_a_usage_error(env: dict[str, str], words: list[str], message: str) -> None:
    """The lifetime must be a duration of at most 30 days."""
    done = run(env, *WORDS, *words)

    assert done.returncode == 2
    assert message in done.stderr


def test_grant_for_every_guard_is_refused(env: dict[str, str]) -> None:
    """A grant for everything would be a way around the policy."""
    code, text = run_at_terminal(env, "*", *WORDS, "--guard", "*")

    assert code == 1
    assert "a grant names one guard and one target" in text


@pytest.mark.parametrize(
    ("guard", "message"),
    [
        ("delete_outsid", "no rule or guard `delete_outsid` in the policy in force here (did you mean"),
        ("guard_tamper", "`guard_tamper` is a red line: no grant and no exception gets past it"),
    ],
)
def test_grant_for_unknown_rule_or_red_line_is_refused(env: dict[str, str], guard: str, message: str) -> None:
    """A grant that could never apply is refused with the reason, and nothing is recorded."""
    code, text = run_at_terminal(env, guard, *WORDS, "--guard", guard)

    assert code == 1
    assert message in " ".join(text.split())
    assert run(env, "grant", "list").stdout == "no valid grants\n"


def test_grant_for_a_rule_of_another_project_needs_that_project(env: dict[str, str], tmp_path: Path) -> None:
    """The rule is looked up in the policy of the named project."""
    project = tmp_path / "other"
    project.mkdir()
    (project / "governance.yaml").write_text(
        "rules: [{name: no_make, command: make, verdict: block, reason: slow, fix: wait}]"
    )
    words = [*WORDS, "--guard", "no_make"]

    assert run_at_terminal(env, "no_make", *words)[0] == 1
    assert run_at_terminal(env, "no_make", *words, "--project", str(project))[0] == 0
