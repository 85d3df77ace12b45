"""The examples, run as a user runs them: in the SDK's environment, without a key, in two processes."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.sdks.environments import ALWAYS, ROOT, require_environment

IN_TWO_PROCESSES = (*ALWAYS, "agent_framework", "google_adk", "strands")
"""Examples whose question is answered in another process."""

IN_ONE_PROCESS = ("crewai", "llama_index", "smolagents", "ag2")
"""Examples whose question is answered while the call waits."""


def run_example(python: Path, example: str, workspace: Path, *arguments: str) -> str:
    """Return what an example printed."""
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY")
    env = {name: value for name, value in os.environ.items() if name not in keys}
    env |= {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "VERDIKT_EXAMPLE": str(workspace), "HOME": str(workspace.parent)}
    env |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}  # tests reach no network
    command = [str(python), "-m", f"examples.{example}.agent", *arguments]
    completed = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


@pytest.mark.parametrize("answer", ["--approve", "--reject"])
@pytest.mark.parametrize("sdk", IN_TWO_PROCESSES)
def test_example_blocks_asks_and_refuses_the_end(sdk: str, tmp_path: Path, answer: str) -> None:
    """A block with a way out, an ask that a second process answers, and an end that waits for the report."""
    python = require_environment(sdk, "newest")
    workspace = tmp_path / "project"

    first = run_example(python, sdk, workspace)
    assert "Blocked by policy (git_force_push)" in first
    assert "waiting for a person: " in first
    assert "it publishes a release to every user\nanswer it with `python -m" in first
    assert not (workspace / "released.txt").exists()

    second = run_example(python, sdk, workspace, answer)
    assert (workspace / "released.txt").exists() is (answer == "--approve")
    assert "All finished." in second
    assert "1 required output file(s) not found: report.md" in second
    assert "The report is in report.md." in second
    assert (workspace / "report.md").read_text() == "what was done\n"


@pytest.mark.parametrize("answer", ["--approve", "--reject"])
@pytest.mark.parametrize("sdk", IN_ONE_PROCESS)
def test_example_asks_while_the_call_waits(sdk: str, tmp_path: Path, answer: str) -> None:
    """A block with a way out, an ask that is answered at once, and an end that waits for the report."""
    workspace = tmp_path / "project"
    output = run_example(require_environment(sdk, "newest"), sdk, workspace, answer)

    assert "Blocked by policy (git_force_push)" in output
    assert "waiting for a person" in output
    assert (workspace / "released.txt").exists() is (answer == "--approve")
    assert "1 required output file(s) not found: report.md" in output
    assert "The report is in report.md." in output
    assert (workspace / "report.md").read_text() == "what was done\n"


def test_plain_python_example_blocks_and_asks(tmp_path: Path) -> None:
    """`govern` needs no SDK."""
    output = run_example(require_environment("pydantic_ai", "newest"), "plain_python", tmp_path / "project")

    assert "git push --force origin main: Blocked by policy (git_force_push)" in output
    assert "sh release.sh: Blocked by policy (release): a person said no" in output
    assert "All finished. (refused: <blocker>\n1 required output file(s) not found: report.md" in output
    assert output.endswith("The report is in report.md.\n")
    assert not (tmp_path / "project" / "released.txt").exists()


def test_answer_without_a_question_says_what_to_do_first(tmp_path: Path) -> None:
    """A user may try the second command first."""
    python, workspace = require_environment("langchain", "newest"), tmp_path / "project"
    with pytest.raises(AssertionError, match="run it without an option first"):
        run_example(python, "langchain", workspace, "--approve")
    assert not workspace.exists()
