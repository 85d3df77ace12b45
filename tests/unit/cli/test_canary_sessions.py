"""What `verdikt doctor` leaves in the log, and the views that hide it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cleanup import close_after_test
from tests.fakes import FakeClock, FakeWorld
from verdikt.cli import root
from verdikt.cli.posture import find_newest_session
from verdikt.govern import Governance
from verdikt.hosts.live.canary import Canary
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.hook_message import Prompt
from verdikt.model.session_state import CANARY_SESSION
from verdikt.policy import parse_policy


@pytest.fixture
def governance(tmp_path: Path) -> Governance:
    """Return governance by the standard profile, with an agent's session, doctor's and a live client's in its log."""
    store = close_after_test(FileStore(tmp_path / "data", FakeClock(), load_projections(), durable=False))
    world = FakeWorld(guarded=(str(tmp_path / "data"),))
    governance = Governance(
        parse_policy("profile: standard"), store, world_factory=lambda cwd: world, clock=store.clock
    )
    canary = Canary(data_directory=str(store.home)).command
    for session, command in (("agent", "ls"), (CANARY_SESSION, canary), ("live", canary)):
        if session != CANARY_SESSION:
            governance.prompt(Prompt(session_id=session, text="verdikt doctor", human=True))
        governance.before(bash(session, command))
    return governance


def bash(session: str, command: str) -> Action:
    """Return a shell command in a session."""
    return Action(
        kind=ActionKind.BASH, tool="Bash", payload={"command": command}, session_id=session, cwd="/home/dev/project"
    )


def list_shown_sessions(store: FileStore, *words: str) -> set[str]:
    """Return the sessions that a view shows as JSON lines."""
    result = CliRunner().invoke(root, ["ledger", "tail", "--json", *words, "--home", str(store.home)])
    return {json.loads(line)["session"] for line in result.output.splitlines()}


def test_views_hide_canaries_unless_asked(governance: Governance, tmp_path: Path) -> None:
    """Doctor's session, and one of a real client in which only a canary was decided, are hidden by default."""
    store = governance.store

    assert list_shown_sessions(store) == {"agent"}
    assert list_shown_sessions(store, "--canaries") == {"agent", "live", CANARY_SESSION}
    assert list_shown_sessions(store, "--session", "live") == {"live"}
    run = CliRunner().invoke
    stats = json.loads(run(root, ["ledger", "stats", "--json", "--home", str(store.home)]).output)
    assert stats["session"].keys() == {"agent"}
    assert stats["guard"] == {}
    replayed = json.loads(run(root, ["replay", "--json", "--home", str(store.home)]).output)
    assert replayed == {"total": 1, "same": 1, "different": []}
    exported = tmp_path / "log.jsonl"
    run(root, ["ledger", "export", "-o", str(exported), "--home", str(store.home)])
    assert CANARY_SESSION in exported.read_text()
    assert find_newest_session(store) == "agent"


@pytest.mark.parametrize("command", ["ls", "touch /home/dev/project/canary", "touch a; ls"])
def test_session_with_another_decision_is_shown(governance: Governance, command: str) -> None:
    """A canary does not hide what else an agent did."""
    governance.before(bash("live", command))

    assert "live" in list_shown_sessions(governance.store)


def test_session_with_a_tool_call_is_shown(governance: Governance) -> None:
    """A session in which something ran is never hidden."""
    governance.after(bash("live", "ls"), Outcome(success=True))

    assert "live" in list_shown_sessions(governance.store)
