"""The dispatch of events to governance."""

from collections.abc import Sequence
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
    """Return governance of an empty project."""
    return create_governance(tmp_path, POLICY)


def create_governance(tmp_path: Path, policy: str) -> Governance:
    """Return governance of an empty project by a policy."""
    env = {"HOME": str(tmp_path / "home"), "VERDIKT_HOME": str(tmp_path / "data")}
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    clock = FakeClock()
    store = close_after_test(FileStore(tmp_path / "data", clock, load_projections()))
    return Governance(parse_policy(policy), store, clock=clock, env=env)


def dispatch(governance: Governance, event: str, faults: Sequence[str] = (), **fields: object) -> HostDecision:
    """Return the decision about a payload of Claude Code, after these faults were found."""
    project = governance.store.home.parent / "project"
    payload = {"hook_event_name": event, "session_id": "s1", "cwd": str(project), **fields}
    env = {"HOME": str(project.parent / "home"), "VERDIKT_HOME": str(governance.store.home)}
    return dispatch_event(governance, adapter.decode(payload, event, env), env, faults)


def dispatch_command(governance: Governance, command: str) -> HostDecision:
    """Return the decision about a command."""
    return dispatch(governance, "PreToolUse", tool_name="Bash", tool_input={"command": command})


def test_during_a_pause_only_red_lines_block(governance: Governance) -> None:
    """Rules, stops and changed settings pass; an attack on verdikt's own files does not."""
    tampering = f"rm {governance.store.home}/state.db"
    assert dispatch_command(governance, "touch x").is_blocked
    assert dispatch(governance, "Stop").is_blocked
    assert dispatch(governance, "ConfigChange", source="project_settings").is_blocked

    pause.begin_pause(governance.store, seconds=600, reason="an errand", by="ada")

    assert not dispatch_command(governance, "touch x").is_blocked
    assert not dispatch(governance, "Stop").is_blocked
    assert not dispatch(governance, "ConfigChange", source="project_settings").is_blocked
    assert dispatch_command(governance, tampering).is_blocked


def test_a_change_before_a_compaction_is_reported_after_it(governance: Governance) -> None:
    """The session goes on, and its baseline stays."""
    policy = governance.store.home.parent / "project" / "governance.yaml"
    policy.write_text("profile: standard\n")
    dispatch(governance, "SessionStart", source="startup")
    policy.write_text("profile: relaxed\n")

    assert "changed during the session" in dispatch(governance, "SessionStart", source="compact").context
    assert dispatch(governance, "SessionStart", source="startup").context == ""


def test_running_sub_agents_are_recorded_at_a_stop(governance: Governance) -> None:
    """They are named by the session of their calls; ended agents and other tasks are left out."""
    (governance.store.home.parent / "project" / "done.txt").touch()
    tasks = [
        {"id": "a1", "type": "subagent", "status": "running"},
        {"id": "a2", "type": "subagent", "status": "completed"},
        {"id": "b1", "type": "shell", "status": "running"},
        "odd",
    ]
    dispatch(governance, "Stop", last_assistant_message="waiting", background_tasks=tasks)

    verdicts = [entry.body for entry in governance.store.read_entries("s1") if entry.body.get("by") == "evidence"]
    assert verdicts[-1]["background"] == ["s1.a1"]


CALL = {"tool_name": "Bash", "tool_input": {"command": "touch x"}}
FINE = {"tool_name": "Bash", "tool_input": {"command": "ls"}}


def count_decisions(governance: Governance) -> int:
    """Return how many decisions are in the log."""
    return sum(entry.kind is EntryKind.DECISION for entry in governance.store.read_entries("s1"))


def test_a_permission_request_for_a_decided_call_is_not_decided_again(governance: Governance) -> None:
    """The call is counted and logged once, and the person's answer holds."""
    dispatch(governance, "PreToolUse", **FINE, tool_use_id="t1")

    assert dispatch(governance, "PermissionRequest", **FINE) == HostDecision()
    assert count_decisions(governance) == 1


def test_a_permission_request_for_an_undecided_call_is_decided(governance: Governance) -> None:
    """A forbidden call is refused before the person is asked, even if the first hook was lost."""
    assert dispatch(governance, "PermissionRequest", **CALL).is_blocked
    assert dispatch(governance, "PermissionRequest", **FINE) == HostDecision()
    assert count_decisions(governance) == 2


def test_a_permission_request_for_a_blocked_call_is_blocked_again(governance: Governance) -> None:
    """A host that still asks a person did not obey the block, and the person is not to be asked about it."""
    assert dispatch(governance, "PreToolUse", **CALL, tool_use_id="t1").is_blocked

    assert dispatch(governance, "PermissionRequest", **CALL).is_blocked


def test_what_the_policy_approves_is_not_approved_once_a_fault_was_found(tmp_path: Path) -> None:
    """A person should look at the fault first; it is in the context and in the log."""
    governance = create_governance(tmp_path, "profile: none\napprove: [{class: read}]\n")
    assert dispatch(governance, "PreToolUse", **FINE).approved

    decision = dispatch(governance, "PreToolUse", ["the hook was replaced"], **FINE)

    assert not decision.approved
    assert "the hook was replaced" in decision.context
    faults = [entry.body.get("integrity") for entry in governance.store.read_entries("s1") if entry.kind == "gap"]
    assert faults == [["the hook was replaced"]]


def test_the_decision_about_an_earlier_equal_call_does_not_count_for_this_one(governance: Governance) -> None:
    """The earlier call has ended: its outcome is in the log."""
    dispatch(governance, "PreToolUse", **FINE, tool_use_id="t1")
    dispatch(governance, "PostToolUse", **FINE, tool_use_id="t1", tool_response={"stdout": ""})

    dispatch(governance, "PermissionRequest", **FINE)
    assert count_decisions(governance) == 2


def test_a_permission_request_during_a_pause_still_refuses_a_red_line(governance: Governance) -> None:
    """A pause does not lift red lines."""
    pause.begin_pause(governance.store, seconds=600, reason="an errand", by="ada")
    tampering = {"tool_name": "Bash", "tool_input": {"command": f"rm {governance.store.home}/state.db"}}

    assert dispatch(governance, "PermissionRequest", **tampering).is_blocked


def test_a_batch_with_an_undecided_call_reports_and_records_it(governance: Governance) -> None:
    """Decided calls, and calls that never ran, are not reported."""
    dispatch(governance, "PreToolUse", **FINE, tool_use_id="t1")
    batch = [
        {**FINE, "tool_use_id": "t1", "tool_response": "a"},
        {**FINE, "tool_use_id": "t2", "tool_response": "<tool_use_error>no such tool</tool_use_error>"},
        {**FINE, "tool_use_id": "t3", "tool_response": "[verdikt] blocked"},
        {"tool_name": "Write", "tool_use_id": "t4", "tool_response": "written"},
        "what is this",
    ]

    assert "`Write` ran without a decision" in dispatch(governance, "PostToolBatch", tool_calls=batch).context
    gaps = [entry.body for entry in governance.store.read_entries("s1") if entry.kind is EntryKind.GAP]
    assert gaps == [{"moment": "batch", "integrity": ["`Write` ran without a decision"]}]
    assert dispatch(governance, "PostToolBatch", tool_calls=batch[:3]) == HostDecision()
    assert dispatch(governance, "PostToolBatch", tool_calls={}) == HostDecision()


def test_a_large_batch_of_decided_calls_is_not_reported(governance: Governance) -> None:
    """The search goes back far enough for all entries of a batch."""
    batch = [{**FINE, "tool_use_id": f"t{number}", "tool_response": "a"} for number in range(40)]
    for call in batch:
        dispatch(governance, "PreToolUse", **call)
        dispatch(governance, "PostToolUse", **call)

    assert dispatch(governance, "PostToolBatch", tool_calls=batch) == HostDecision()


def test_a_compaction_seals_the_log_with_a_signed_checkpoint(governance: Governance) -> None:
    """An empty log is not sealed."""
    assert dispatch(governance, "PreCompact", trigger="auto") == HostDecision()
    dispatch(governance, "PreToolUse", **FINE, tool_use_id="t1")
    dispatch(governance, "PreCompact", trigger="auto")

    last = list(governance.store.read_entries("s1"))[-1]
    assert (last.kind, last.body["reason"], bool(last.sig)) == (EntryKind.CHECKPOINT, "compact", True)


def test_slash_command_whose_text_runs_what_is_blocked_is_refused(governance: Governance) -> None:
    """The host runs the commands in the text without any other event, so the expansion is what is decided."""
    commands = governance.store.home.parent / "project" / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "wipe.md").write_text("Look: !`rm -rf ~/Documents`\n")
    (commands / "look.md").write_text("Look: !`git status`\n")

    def expand(name: str, source: str = "projectSettings") -> HostDecision:
        fields = {"command_name": name, "command_args": "", "command_source": source, "prompt": f"/{name}"}
        return dispatch(governance, "UserPromptExpansion", expansion_type="slash_command", **fields)

    assert expand("wipe").is_blocked
    assert not expand("look").is_blocked
    assert not expand("compact", "builtin").is_blocked
