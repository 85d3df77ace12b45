"""`verdikt posture`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.cleanup import close_after_test
from tests.fakes import FakeWorld
from tests.unit.test_decide import RULED, action
from verdikt.cli import root
from verdikt.govern import Governance
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.session_state import CANARY_SESSION

Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a data directory with one session."""
    store = close_after_test(FileStore(tmp_path / "data", None, load_projections(), durable=False))
    Governance(RULED, store, world_factory=lambda cwd: FakeWorld()).before(action("Read", file_path="a"))
    store.close()
    return tmp_path / "data"


@pytest.fixture
def run(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs `verdikt posture` without a terminal."""
    monkeypatch.setenv("VERDIKT_HOME", str(home))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Result:
        return CliRunner().invoke(root, ["posture", *words], catch_exceptions=False)

    return call


def test_show_prints_posture_and_its_source(run: Run) -> None:
    """The policy's default is shown until the posture is set."""
    assert "interactive: a person is there to answer (session `s`, the policy's default)" in run("show").stdout
    run("set", "locked", "--reason", "lunch")
    assert "locked: only reads are allowed (session `s`, set for this session)" in run("show").stdout
    assert json.loads(run("show", "--json").stdout) == {"session": "s", "posture": "locked", "set": True}


def test_newest_session_is_one_of_an_agent(run: Run, home: Path) -> None:
    """Sessions of doctor's canary and of councils are ignored."""
    store = close_after_test(FileStore(home, None, load_projections(), durable=False))
    store.append(CANARY_SESSION, "gap", {})
    store.append("council-abc123", "finding", {})
    store.close()

    assert "(session `s`, " in run("set", "locked").stdout


def test_set_accepts_session_prefix_and_unknown_session(run: Run, home: Path) -> None:
    """A prefix selects a session; an unknown one is accepted with a message."""
    store = close_after_test(FileStore(home, None, load_projections(), durable=False))
    store.append("947e0df6-49fe", "gap", {})
    store.close()

    assert json.loads(run("set", "locked", "--session", "947e", "--json").stdout)["session"] == "947e0df6-49fe"
    later = run("set", "locked", "--session", "later")
    assert "the log has no session `later` yet" in later.stderr
    assert "(session `later`, entry 1)" in later.stdout


def test_set_is_recorded_and_affects_the_next_decision(run: Run, home: Path) -> None:
    """The entry is signed, with the posture before and after."""
    report = json.loads(run("set", "locked", "--json").stdout)
    assert (report["before"], report["after"]) == ("interactive", "locked")

    store = close_after_test(FileStore(home, None, load_projections(), durable=False))
    entry = list(store.read_entries("s"))[-1]
    assert (entry.kind, entry.body["after"], bool(entry.sig)) == ("posture", "locked", True)
    governance = Governance(RULED, store, world_factory=lambda cwd: FakeWorld())
    assert governance.before(action("Write", file_path="a", content="b")).guard == "posture"
    store.close()


def test_set_with_illegal_move_is_refused(run: Run) -> None:
    """The posture stays as it was."""
    run("set", "autonomous")

    result = run("set", "dry_run")

    assert result.exit_code == 1
    assert "illegal posture transition: autonomous → dry_run" in result.output
    assert json.loads(run("show", "--json").stdout)["posture"] == "autonomous"
    assert run("set", "asleep").exit_code == 64


def test_loosening_without_terminal_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent in a locked session cannot unlock it."""
    run("set", "locked")

    result = run("set", "interactive")

    assert result.exit_code == 1
    assert "loosening the posture needs a person at a terminal" in result.output
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "for operators" in run("set", "interactive").output
    assert json.loads(run("show", "--json").stdout)["posture"] == "locked"


def test_log_without_sessions_asks_for_a_name(run: Run, home: Path) -> None:
    """The message says to name a session."""
    for path in (home / "ledger").glob("*.jsonl"):
        path.unlink()

    assert "no session in the log yet" in run("show").output
    assert run("set", "locked", "--session", "new").exit_code == 0
    assert json.loads(run("show", "--json").stdout) == {"session": "new", "posture": "locked", "set": True}
