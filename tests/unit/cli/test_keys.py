"""`verdikt keys`."""

import json
from itertools import chain
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from verdikt.cli import root
from verdikt.observe.agent_environment import AGENT_VARIABLES


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERDIKT_HOME", str(tmp_path / "home"))
    for mark in chain(*AGENT_VARIABLES.values()):
        monkeypatch.delenv(mark, raising=False)


def run(*words: str) -> Result:
    """Run the command line."""
    return CliRunner().invoke(root, list(words), catch_exceptions=False)


def test_keys_are_created_listed_and_rotated(tmp_path: Path) -> None:
    """A key is created, listed and rotated out."""
    assert "no key in" in run("keys", "list").output
    first = run("keys", "init").output
    assert "only the holder of the private key can sign" in first
    assert "already has a key" in run("keys", "init").output
    assert "signs from now on" in run("keys", "rotate").output

    listed = json.loads(run("keys", "list", "--json").output)
    assert len(listed["keys"]) == 2
    assert listed["current"] == listed["keys"][1]["kid"]
    assert listed["keys"][0]["retired"]
    assert "verifies, rotated out" in run("keys", "list").output
    assert run("ledger", "verify").exit_code == 0


def test_hmac_key_is_labelled_as_forgeable(tmp_path: Path) -> None:
    """The weakness of HMAC is named."""
    assert "forgeable by everyone who can read it" in run("keys", "init", "--algorithm", "hmac-sha256").output
    assert "forgeable by everyone who can read it" in run("keys", "list").output


def test_commands_print_no_secret_key(tmp_path: Path) -> None:
    """No command prints a secret key."""
    run("keys", "init", "--algorithm", "hmac-sha256")
    secret = next((tmp_path / "home" / "keys").glob("*.key")).read_text().strip()

    for words in (["list"], ["list", "--json"], ["rotate", "--json"]):
        assert secret not in run("keys", *words).output


def test_rotate_inside_an_agent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a person may rotate keys."""
    run("keys", "init")
    monkeypatch.setenv("CLAUDECODE", "1")

    result = run("keys", "rotate")

    assert result.exit_code == 1
    assert "this runs inside Claude Code" in result.output
