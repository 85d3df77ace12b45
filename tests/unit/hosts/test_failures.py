"""Failures of a hook outside of governance: each counts for the alarm, and an unreadable stop is refused once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance import accept


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a home without a warm process."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "VERDIKT_HOME": str(tmp_path / "data"),
        "VERDIKT_DAEMON": "off",
    }


def run_hook(env: dict[str, str], event: str, text: str) -> "subprocess.CompletedProcess[str]":
    """Run the hook of Claude Code for one event."""
    command = [sys.executable, "-m", "verdikt.hosts.hook", "claude", event]
    return subprocess.run(command, input=text, env=env, cwd=env["HOME"], capture_output=True, text=True, check=False)


def test_unreadable_payloads_raise_the_alarm(env: dict[str, str], tmp_path: Path) -> None:
    """Three within an hour are noted in the marker, and in the memory file that the policy names."""
    memory = tmp_path / "memory" / "MEMORY.md"
    (tmp_path / "governance.yaml").write_text(f"profile: standard\nevidence: {{memory: '{memory}'}}\n")
    accept(tmp_path, env)
    for _ in range(3):
        assert run_hook(env, "PreToolUse", "not json").returncode == 2
    marks = json.loads((tmp_path / "data" / "_hook_crash_breach.json").read_text())
    assert list(marks) == ["claude.PreToolUse"]
    assert (memory.parent / "feedback_hook_crash_claude-PreToolUse.md").exists()


def test_broken_policy_raises_the_alarm_beside_the_log(env: dict[str, str], tmp_path: Path) -> None:
    """Without a policy the place of notes is unknown, so the note lies in the data directory."""
    (tmp_path / "governance.yaml").write_text("profile: [")
    call = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(tmp_path), "tool_name": "Bash"}
    for _ in range(3):
        assert run_hook(env, "PreToolUse", json.dumps(call | {"tool_input": {"command": "ls"}})).returncode == 2
    data = tmp_path / "data"
    assert (data / "_hook_crash_breach.json").exists()
    assert list(data.glob("feedback_hook_crash_*.md"))
    assert "feedback_hook_crash" in (data / "MEMORY.md").read_text()


def test_unreadable_stop_is_refused_once(env: dict[str, str]) -> None:
    """The first refusal says why; the next stop is let go, because its session is unknown."""
    first, second = (run_hook(env, "Stop", "not json") for _ in range(2))
    assert "no decision could be made" in first.stdout + first.stderr
    assert json.loads(second.stdout) == {}
