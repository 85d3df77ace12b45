"""Councils that run when a session starts or ends and when a file is saved."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.warm import wait_until
from tests.unit.council.conftest import Repo

EVENTS = {
    "session-start": {"hook_event_name": "SessionStart", "source": "startup"},
    "session-end": {"hook_event_name": "SessionEnd"},
    "file-save": {
        "hook_event_name": "PostToolUse",
        "tool_name": "Write",
        "tool_use_id": "1",
        "tool_response": {"filePath": "a.py"},
    },
}


def run_event(repo: Repo, trigger: str, **more: object) -> str:
    """Report an event as Claude Code does, and return the answer."""
    payload = {"session_id": "s", "cwd": str(repo.path), **EVENTS[trigger], **more}
    completed = subprocess.run(
        [sys.executable, "-m", "verdikt", "hook", "claude"],
        input=json.dumps(payload),
        cwd=repo.path,
        env=repo.env | {"VERDIKT_DAEMON": "off"},
        capture_output=True,
        text=True,
        check=True,
    )
    return completed.stdout


def list_verdicts(repo: Repo) -> list[Path]:
    """Return the verdict files."""
    return list(Path(repo.env["VERDIKT_RUNS_DIR"]).glob("*.verdict.json"))


@pytest.mark.parametrize("trigger", EVENTS)
def test_council_runs_at_its_event_in_the_background(repo: Repo, trigger: str) -> None:
    """The hook answers at once; the findings are there when the review has ended."""
    repo.policy(trigger=trigger)
    repo.write("a.py", "BAD\n")
    answer = run_event(repo, trigger, tool_input={"file_path": str(repo.path / "a.py"), "content": "BAD\n"})
    if trigger != "session-end":
        assert "council `ship-it` reviews in the background" in answer
    log = Path(repo.env["VERDIKT_HOME"]) / "councils.log"
    wait_until("the review ends", lambda: log.exists() and "[verdict]" in log.read_text())
    assert "BAD in a.py" in list_verdicts(repo)[0].read_text()
    assert "ship-it: words: running" in log.read_text()


def test_file_outside_of_the_scope_starts_nothing(repo: Repo) -> None:
    """A council that does not cover the saved file is not called, nor one with another trigger."""
    repo.policy(trigger="file-save", files=["src/*"])
    repo.write("a.py", "BAD\n")
    assert "council" not in run_event(repo, "file-save", tool_input={"file_path": str(repo.path / "a.py")})
    assert "council" not in run_event(repo, "session-start")


def test_trigger_command_shows_progress_and_verdict(repo: Repo) -> None:
    """The same can be run by hand."""
    repo.policy(trigger="file-save")
    repo.write("a.py", "MEH\n")
    completed = repo.verdikt("council", "trigger", "file-save", "--path", "a.py")
    assert "[MEDIUM] MEH in a.py" in completed.stdout
    assert "words: running" in completed.stderr
