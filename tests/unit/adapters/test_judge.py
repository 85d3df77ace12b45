"""One moment through governance, as a host hears it."""

from pathlib import Path

import pytest

from tests.fakes import FakeClock
from verdikt.adapters import claude_hooks
from verdikt.adapters.judge import judge
from verdikt.adapters.ruling import Ruling
from verdikt.govern import Governance
from verdikt.ledger import pause
from verdikt.ledger.files import FileStore
from verdikt.policy import parse_policy
from verdikt.projections import projections

POLICY = """\
profile: standard
rules:
  - {name: no_touch, command: touch, verdict: block, reason: "no", fix: "do not"}
completion:
  checks: [{files: [done.txt]}]
"""


@pytest.fixture
def governance(tmp_path: Path) -> Governance:
    """Governance of a project of its own."""
    env = {"HOME": str(tmp_path / "home"), "VERDIKT_HOME": str(tmp_path / "data")}
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    clock = FakeClock()
    store = FileStore(tmp_path / "data", clock, projections())
    return Governance(parse_policy(POLICY), store, clock=clock, env=env)


def said(governance: Governance, event: str, **fields: object) -> Ruling:
    """The ruling on a payload of Claude Code."""
    project = governance.store.home.parent / "project"
    payload = {"hook_event_name": event, "session_id": "s1", "cwd": str(project), **fields}
    env = {"HOME": str(project.parent / "home"), "VERDIKT_HOME": str(governance.store.home)}
    return judge(governance, claude_hooks.decode(payload, event, env), env)


def shell(governance: Governance, command: str) -> Ruling:
    """The ruling on a command."""
    return said(governance, "PreToolUse", tool_name="Bash", tool_input={"command": command})


def test_a_pause_lets_through_what_is_no_red_line(governance: Governance) -> None:
    """Rules, stops and changed settings; not what would make the pause one for ever."""
    tampering = f"rm {governance.store.home}/state.db"
    assert shell(governance, "touch x").blocked
    assert said(governance, "Stop").blocked
    assert said(governance, "ConfigChange", source="project_settings").blocked

    pause.begin(governance.store, seconds=600, reason="an errand", by="ada")

    assert not shell(governance, "touch x").blocked
    assert not said(governance, "Stop").blocked
    assert not said(governance, "ConfigChange", source="project_settings").blocked
    assert shell(governance, tampering).blocked


def test_what_changed_before_a_conversation_was_compacted_is_told_after_it(governance: Governance) -> None:
    """The session goes on, and so does what it is measured by."""
    policy = governance.store.home.parent / "project" / "governance.yaml"
    policy.write_text("profile: standard\n")
    said(governance, "SessionStart", source="startup")
    policy.write_text("profile: relaxed\n")

    assert "changed during the session" in said(governance, "SessionStart", source="compact").context
    assert said(governance, "SessionStart", source="startup").context == ""


def test_sub_agents_in_the_background_are_known_at_stop(governance: Governance) -> None:
    """By the session that their own calls are logged under; those that ended, and what is no agent, are not named."""
    (governance.store.home.parent / "project" / "done.txt").touch()
    tasks = [
        {"id": "a1", "type": "subagent", "status": "running"},
        {"id": "a2", "type": "subagent", "status": "completed"},
        {"id": "b1", "type": "shell", "status": "running"},
        "odd",
    ]
    said(governance, "Stop", last_assistant_message="waiting", background_tasks=tasks)

    judged = [entry.body for entry in governance.store.entries("s1") if entry.body.get("by") == "evidence"]
    assert judged[-1]["background"] == ["s1.a1"]
