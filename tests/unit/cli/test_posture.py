"""`verdikt posture`: shown, moved by the rules, on record."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.fakes import FakeWorld
from tests.unit.test_decide import RULED, action
from verdikt.cli import root
from verdikt.govern import Governance
from verdikt.hosts.live.canary import CANARY_SESSION
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections

Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data directory with one session."""
    store = FileStore(tmp_path / "data", None, load_projections(), durable=False)
    Governance(RULED, store, world_factory=lambda cwd: FakeWorld()).before(action("Read", file_path="a"))
    store.close()
    return tmp_path / "data"


@pytest.fixture
def run(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line, not at a terminal."""
    monkeypatch.setenv("VERDIKT_HOME", str(home))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Result:
        return CliRunner().invoke(root, ["posture", *words], catch_exceptions=False)

    return call


def test_show_tells_the_posture_and_where_it_comes_from(run: Run) -> None:
    """The policy's start until somebody moved it."""
    assert "interactive: a person is there to answer (session `s`, the policy's default)" in run("show").stdout
    run("set", "locked", "--reason", "lunch")
    assert "locked: only reads are allowed (session `s`, set for this session)" in run("show").stdout
    assert json.loads(run("show", "--json").stdout) == {"session": "s", "posture": "locked", "set": True}


def test_the_newest_session_is_an_agents(run: Run, home: Path) -> None:
    """Not that of the canary, which `verdikt doctor` writes to, and none of a council's."""
    store = FileStore(home, None, load_projections(), durable=False)
    store.append(CANARY_SESSION, "gap", {})
    store.append("council-abc123", "finding", {})
    store.close()

    assert "(session `s`, " in run("set", "locked").stdout


def test_a_session_is_moved_by_the_beginning_of_its_id(run: Run, home: Path) -> None:
    """And one that the log does not know yet is moved all the same, with a word about it."""
    store = FileStore(home, None, load_projections(), durable=False)
    store.append("947e0df6-49fe", "gap", {})
    store.close()

    assert json.loads(run("set", "locked", "--session", "947e", "--json").stdout)["session"] == "947e0df6-49fe"
    later = run("set", "locked", "--session", "later")
    assert "the log has no session `later` yet" in later.stderr
    assert "(session `later`, entry 1)" in later.stdout


def test_a_move_is_in_the_log_and_the_next_decision_obeys_it(run: Run, home: Path) -> None:
    """Signed, with before and after."""
    told = json.loads(run("set", "locked", "--json").stdout)
    assert (told["before"], told["after"]) == ("interactive", "locked")

    store = FileStore(home, None, load_projections(), durable=False)
    entry = list(store.read_entries("s"))[-1]
    assert (entry.kind, entry.body["after"], bool(entry.sig)) == ("posture", "locked", True)
    governance = Governance(RULED, store, world_factory=lambda cwd: FakeWorld())
    assert governance.before(action("Write", file_path="a", content="b")).guard == "posture"
    store.close()


def test_an_illegal_move_is_refused(run: Run) -> None:
    """And leaves the posture as it was."""
    run("set", "autonomous")

    result = run("set", "dry_run")

    assert result.exit_code == 1
    assert "illegal posture transition: autonomous → dry_run" in result.output
    assert json.loads(run("show", "--json").stdout)["posture"] == "autonomous"
    assert run("set", "asleep").exit_code == 64


def test_loosening_needs_a_person_at_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever was locked in cannot let himself out."""
    run("set", "locked")

    result = run("set", "interactive")

    assert result.exit_code == 1
    assert "loosening the posture needs a person at a terminal" in result.output
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "for operators" in run("set", "interactive").output
    assert json.loads(run("show", "--json").stdout)["posture"] == "locked"


def test_a_log_without_sessions_says_so(run: Run, home: Path) -> None:
    """Name one, then."""
    for path in (home / "ledger").glob("*.jsonl"):
        path.unlink()

    assert "no session in the log yet" in run("show").output
    assert run("set", "locked", "--session", "new").exit_code == 0
    assert json.loads(run("show", "--json").stdout) == {"session": "new", "posture": "locked", "set": True}
