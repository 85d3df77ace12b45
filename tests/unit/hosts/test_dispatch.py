"""One moment through governance, as a host hears it."""

from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from verdikt.govern import Governance
from verdikt.hosts.claude import adapter
from verdikt.hosts.dispatch import dispatch_event
from verdikt.hosts.host_decision import HostDecision
from verdikt.ledger import pause
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.entry import EntryKind
from verdikt.policy import parse_policy

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
    store = close_after_test(FileStore(tmp_path / "data", clock, load_projections()))
    return Governance(parse_policy(POLICY), store, clock=clock, env=env)


def said(governance: Governance, event: str, **fields: object) -> HostDecision:
    """The ruling on a payload of Claude Code."""
    project = governance.store.home.parent / "project"
    payload = {"hook_event_name": event, "session_id": "s1", "cwd": str(project), **fields}
    env = {"HOME": str(project.parent / "home"), "VERDIKT_HOME": str(governance.store.home)}
    return dispatch_event(governance, adapter.decode(payload, event, env), env)


def shell(governance: Governance, command: str) -> HostDecision:
    """The ruling on a command."""
    return said(governance, "PreToolUse", tool_name="Bash", tool_input={"command": command})


def test_a_pause_lets_through_what_is_no_red_line(governance: Governance) -> None:
    """Rules, stops and changed settings; not what would make the pause one for ever."""
    tampering = f"rm {governance.store.home}/state.db"
    assert shell(governance, "touch x").is_blocked
    assert said(governance, "Stop").is_blocked
    assert said(governance, "ConfigChange", source="project_settings").is_blocked

    pause.begin_pause(governance.store, seconds=600, reason="an errand", by="ada")

    assert not shell(governance, "touch x").is_blocked
    assert not said(governance, "Stop").is_blocked
    assert not said(governance, "ConfigChange", source="project_settings").is_blocked
    assert shell(governance, tampering).is_blocked


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

    judged = [entry.body for entry in governance.store.read_entries("s1") if entry.body.get("by") == "evidence"]
    assert judged[-1]["background"] == ["s1.a1"]


CALL = {"tool_name": "Bash", "tool_input": {"command": "touch x"}}
FINE = {"tool_name": "Bash", "tool_input": {"command": "ls"}}


def decisions(governance: Governance) -> int:
    """How many stand in the log."""
    return sum(entry.kind is EntryKind.DECISION for entry in governance.store.read_entries("s1"))


def test_a_call_is_not_decided_again_when_the_person_is_asked(governance: Governance) -> None:
    """Counted once, logged once; the person's own answer stands."""
    said(governance, "PreToolUse", **FINE, tool_use_id="t1")

    assert said(governance, "PermissionRequest", **FINE) == HostDecision()
    assert decisions(governance) == 1


def test_a_call_that_was_never_decided_is_decided_when_the_person_is_asked(governance: Governance) -> None:
    """The client gave up on the hook before it answered, say; what is forbidden does not get as far as the question."""
    assert said(governance, "PermissionRequest", **CALL).is_blocked
    assert said(governance, "PermissionRequest", **FINE) == HostDecision()
    assert decisions(governance) == 2


def test_an_earlier_call_that_says_the_same_does_not_stand_for_this_one(governance: Governance) -> None:
    """It is over: its outcome is in the log."""
    said(governance, "PreToolUse", **FINE, tool_use_id="t1")
    said(governance, "PostToolUse", **FINE, tool_use_id="t1", tool_response={"stdout": ""})

    said(governance, "PermissionRequest", **FINE)
    assert decisions(governance) == 2


def test_a_red_line_holds_when_the_person_is_asked_during_a_pause(governance: Governance) -> None:
    """As it does before the call."""
    pause.begin_pause(governance.store, seconds=600, reason="an errand", by="ada")
    tampering = {"tool_name": "Bash", "tool_input": {"command": f"rm {governance.store.home}/state.db"}}

    assert said(governance, "PermissionRequest", **tampering).is_blocked


def test_calls_that_ran_without_a_decision_are_told_and_recorded(governance: Governance) -> None:
    """Those that were decided are not, nor those that never ran."""
    said(governance, "PreToolUse", **FINE, tool_use_id="t1")
    batch = [
        {**FINE, "tool_use_id": "t1", "tool_response": "a"},
        {**FINE, "tool_use_id": "t2", "tool_response": "<tool_use_error>no such tool</tool_use_error>"},
        {**FINE, "tool_use_id": "t3", "tool_response": "[verdikt] blocked"},
        {"tool_name": "Write", "tool_use_id": "t4", "tool_response": "written"},
        "what is this",
    ]

    assert "`Write` ran without a decision" in said(governance, "PostToolBatch", tool_calls=batch).context
    gaps = [entry.body for entry in governance.store.read_entries("s1") if entry.kind is EntryKind.GAP]
    assert gaps == [{"moment": "batch", "integrity": ["`Write` ran without a decision"]}]
    assert said(governance, "PostToolBatch", tool_calls=batch[:3]) == HostDecision()
    assert said(governance, "PostToolBatch", tool_calls={}) == HostDecision()


def test_a_large_batch_is_covered_by_its_decisions(governance: Governance) -> None:
    """However many entries each of its calls left."""
    batch = [{**FINE, "tool_use_id": f"t{number}", "tool_response": "a"} for number in range(40)]
    for call in batch:
        said(governance, "PreToolUse", **call)
        said(governance, "PostToolUse", **call)

    assert said(governance, "PostToolBatch", tool_calls=batch) == HostDecision()


def test_the_log_is_sealed_before_the_conversation_is_shortened(governance: Governance) -> None:
    """By a signed checkpoint, where there is something to seal."""
    assert said(governance, "PreCompact", trigger="auto") == HostDecision()
    said(governance, "PreToolUse", **FINE, tool_use_id="t1")
    said(governance, "PreCompact", trigger="auto")

    last = list(governance.store.read_entries("s1"))[-1]
    assert (last.kind, last.body["reason"], bool(last.sig)) == (EntryKind.CHECKPOINT, "compact", True)
