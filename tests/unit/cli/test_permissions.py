"""`verdikt check` and `verdikt explain` with grants and pauses."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.acceptance import accept
from tests.cleanup import close_after_test
from verdikt.cli import root
from verdikt.ledger import pause
from verdikt.ledger.files import FileStore, open_store
from verdikt.ledger.grants import add_grant
from verdikt.ledger.projections import load_projections
from verdikt.model.grant import Grant

Run = Callable[..., Result]
COMMAND = "make deploy"
POLICY = "rules: [{name: no_deploy, command: make deploy, verdict: block, reason: it is late, fix: wait}]"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileStore:
    """Return the log of a user whose project is the working directory."""
    project = tmp_path / "home/project"
    (project / ".git").mkdir(parents=True)
    (project / "governance.yaml").write_text(POLICY)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VERDIKT_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return close_after_test(open_store(tmp_path / "data", projections=load_projections()))


def run(*words: str) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(root, words, catch_exceptions=False)


def grant_command(store: FileStore, session: str) -> None:
    """Permit the command of these tests in a session."""
    now = int(store.clock.now())
    fields = {"id": "g1", "guard": "no_deploy", "target": COMMAND, "session": session, "reason": "cleanup"}
    add_grant(store, Grant(**fields, expires=now + 600, created=now))


@pytest.mark.parametrize("subcommand", ["check", "explain"])
def test_grant_for_any_session_is_honoured_and_named(store: FileStore, subcommand: str) -> None:
    """The answer is what a hook would decide now; --plain, --profile and --policy ask the policy alone."""
    assert run("check", COMMAND).exit_code == 1
    grant_command(store, "*")

    result = run(subcommand, COMMAND)

    assert result.exit_code == 0
    assert "let through by the operator's grant `g1`: cleanup" in result.stdout
    for words in (["--plain"], ["--policy", "governance.yaml"]):
        assert "block  no_deploy" in run(subcommand, *words, COMMAND).stdout


@pytest.mark.parametrize("subcommand", ["check", "explain"])
def test_grant_for_another_session_is_named_and_changes_nothing(store: FileStore, subcommand: str) -> None:
    """A grant for one session does not hold for a call without one."""
    grant_command(store, "s9")

    output = run(subcommand, COMMAND).stdout

    assert "block  no_deploy" in output
    assert "grant `g1` lifts `no_deploy` in session `s9`: cleanup" in output


@pytest.mark.parametrize("subcommand", ["check", "explain"])
def test_pause_is_honoured_with_the_verdict_it_suspends(store: FileStore, subcommand: str) -> None:
    """The answer names the pause, and what the policy says without it."""
    pause.begin_pause(store, seconds=600, reason="an errand", by="ada")

    output = run(subcommand, COMMAND).stdout

    assert "warn  pause" in output
    assert "paused by ada: an errand" in output
    assert "without the pause: block by no_deploy" in output
    assert "block  no_deploy" in run(subcommand, "--plain", COMMAND).stdout


def test_question_does_not_create_a_data_directory(store: FileStore, tmp_path: Path) -> None:
    """Where nothing was recorded, nothing is after a question."""
    result = CliRunner().invoke(root, ["check", COMMAND], env={"VERDIKT_HOME": str(tmp_path / "none")})

    assert result.exit_code == 1
    assert not (tmp_path / "none/ledger").exists()


def test_explanation_as_json_has_the_notes(store: FileStore) -> None:
    """Scripts find the pause in `notes`."""
    pause.begin_pause(store, seconds=600, reason="an errand", by="ada")

    explanation = json.loads(run("explain", "--json", COMMAND).stdout)

    assert explanation["notes"] == ["without the pause: block by no_deploy"]


@pytest.mark.parametrize("subcommand", ["check", "explain"])
def test_exception_is_named_with_what_it_lifts(store: FileStore, subcommand: str) -> None:
    """The answer says which exception let it pass, and what the policy says without it."""
    user_policy = Path.home() / ".config/verdikt/governance.yaml"
    user_policy.parent.mkdir(parents=True)
    user_policy.write_text("exceptions: [{rule: no_deploy, command: make deploy, reason: on call, by: ada}]")
    accept(Path.cwd())

    output = run(subcommand, COMMAND).stdout

    assert "without an exception: block by no_deploy" in output
    assert "exception no_deploy: command `make deploy`: on call (ada)" in output
    assert "exception" not in run(subcommand, "make build").stdout
    assert "in force     no_deploy: command `make deploy`: on call (ada)" in run("policy", "show").stdout


@pytest.mark.parametrize("subcommand", ["check", "explain"])
def test_block_ends_with_the_command_that_would_allow_it(store: FileStore, subcommand: str) -> None:
    """A person can copy it; there is none for a red line, and none where only the policy is asked."""
    assert "to allow it: verdikt allow no_deploy --command 'make deploy'\n" in run(subcommand, COMMAND).stdout
    assert "to allow it" not in run(subcommand, "verdikt uninstall").stdout
    assert "to allow it" not in run(subcommand, "--plain", COMMAND).stdout
