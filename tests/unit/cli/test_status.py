"""`verdikt status`: the screen in a new, a governed and a broken project."""

import json
from pathlib import Path

from tests.unit.cli.conftest import Verdikt


def test_status_of_a_new_project_says_what_is_missing_and_creates_nothing(project: Path, verdikt: Verdikt) -> None:
    """Nothing is wired, the standard profile would be in force, and no data directory appears."""
    output = verdikt("status").stdout

    assert "host      none wired here; run `verdikt init`" in output
    assert "policy    " in output
    assert "default on standard" in output
    assert "today     nothing recorded yet" in output
    assert "warm      not running" in output
    assert not (project.parent / "home/.local/share/verdikt").exists()


def test_status_of_a_governed_project_is_one_screen(project: Path, verdikt: Verdikt) -> None:
    """Hosts with their last proof, policy, posture, what was decided today without canaries, and the log."""
    verdikt("init", "--host", "claude", "--yes")
    assert "claude (project), not proven yet; run `verdikt doctor`" in verdikt("status").stdout
    verdikt("doctor", "--calls", "1")
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "0123456789",
        "cwd": str(project),
        "tool_name": "Bash",
    }
    for command in ("ls", "rm -rf /usr", "git push --force origin feature"):
        verdikt("hook", "claude", "PreToolUse", json.dumps(payload | {"tool_input": {"command": command}}))

    output = verdikt("status").stdout
    status = json.loads(verdikt("status", "--json").stdout)

    assert len(output.splitlines()) < 15
    assert "host      claude (project), proven 20" in output
    assert "posture   interactive" in output
    assert status["today"] == {"decisions": 3, "asks": 1, "blocks": 1, "unproven_turns": 0}
    assert "3 decisions, 1 ask, 1 block, 0 unproven turns" in output
    assert "1 session; the newest (01234567) is intact:\n            3 entries, " in output
    assert "pending" not in output
    assert status["open_findings"] == 0


def test_status_counts_turns_that_ended_unproven_and_not_their_refusals(project: Path, verdikt: Verdikt) -> None:
    """Three refusals and then an end without proof are one turn."""
    (project / "governance.yaml").write_text("profile: standard\nevidence: {mode: enforce}\n")
    stop = {"hook_event_name": "Stop", "session_id": "s", "cwd": str(project), "stop_hook_active": False}
    counts = []
    for _ in range(4):
        payload = stop | {"last_assistant_message": "I fixed the login. All tests pass."}
        verdikt("hook", "codex", "Stop", json.dumps(payload))
        counts.append(json.loads(verdikt("status", "--json").stdout)["today"]["unproven_turns"])

    assert counts == [0, 0, 0, 1]
    assert "1 unproven turn" in verdikt("status").stdout
    assert "1 turn ended unproven" in verdikt("doctor", "--calls", "1").stdout


def test_status_of_a_project_with_a_faulty_policy_names_the_fault(project: Path, verdikt: Verdikt) -> None:
    """A standstill must not look like protection."""
    (project / "governance.yaml").write_text("rulez: []")

    output = verdikt("status").stdout

    assert "policy    can't be loaded, every call is blocked: " in output
    assert "did you mean `rules`?" in output


def test_status_and_doctor_say_that_a_change_of_the_policy_is_pending(project: Path, verdikt: Verdikt) -> None:
    """A rule that was written and is not in force alone, or one that was removed and still is, must not surprise."""
    note = "the policy on disk is not the accepted one"
    verdikt("init", "--host", "claude", "--yes")
    assert note not in verdikt("status").stdout + verdikt("doctor", "--calls", "1").stdout

    (project / "governance.yaml").write_text("profile: none\n")

    assert "pending   governance.yaml (changed) is not accepted" in verdikt("status").stdout
    pending = json.loads(verdikt("status", "--json").stdout)["policy"]["pending"]
    assert [(change["layer"], change["kind"]) for change in pending] == [("project", "changed")]
    assert f"policy: {note}" in verdikt("doctor", "--calls", "1").stdout


def test_command_alone_shows_status_where_a_policy_governs_and_help_elsewhere(project: Path, verdikt: Verdikt) -> None:
    """A newcomer sees the commands, and everybody else where they stand."""
    assert "Start:" in verdikt().stdout

    (project / "governance.yaml").write_text("profile: strict")

    output = verdikt().stdout
    assert str(project) in output
    assert "project on strict" in output


def test_status_names_a_policy_that_waits_for_acceptance(project: Path, verdikt: Verdikt) -> None:
    """What a person has not accepted is stricter than it reads, and the screen says so."""
    verdikt("init", "--host", "claude", "--yes")
    (project / "governance.yaml").write_text("profile: relaxed\n")

    assert (
        "pending   governance.yaml (changed) is not accepted: what it loosens does not count"
        in verdikt("status").stdout
    )
