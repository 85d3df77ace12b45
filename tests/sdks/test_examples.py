"""The examples, run as a user runs them: in the SDK's environment, without a key, in two processes."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.sdks.environments import (
    ALWAYS,
    PACKAGES,
    ROOT,
    EnvironmentMissing,
    find_environment,
    install_environment,
)


def run_example(python: Path, example: str, workspace: Path, *arguments: str) -> str:
    """Return what an example printed."""
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY")
    env = {name: value for name, value in os.environ.items() if name not in keys}
    env |= {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "VERDIKT_EXAMPLE": str(workspace), "HOME": str(workspace.parent)}
    command = [str(python), "-m", f"examples.{example}.agent", *arguments]
    completed = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


@pytest.fixture(params=PACKAGES)
def environment(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """Return an SDK and the interpreter of its environment."""
    if request.param not in ALWAYS and find_environment(request.param, "newest") is None:
        pytest.skip(f"`make sdks` has not made the environments of {request.param}")
    try:
        return request.param, install_environment(request.param, "newest")
    except EnvironmentMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("answer", ["--approve", "--reject"])
def test_example_blocks_asks_and_refuses_the_end(environment: tuple[str, Path], tmp_path: Path, answer: str) -> None:
    """A block with a way out, an ask that a second process answers, and an end that waits for the report."""
    sdk, python = environment
    workspace = tmp_path / "project"

    first = run_example(python, sdk, workspace)
    assert "Blocked by policy (git_force_push)" in first
    assert "waiting for a person" in first
    assert not (workspace / "released.txt").exists()

    second = run_example(python, sdk, workspace, answer)
    assert (workspace / "released.txt").exists() is (answer == "--approve")
    assert "Released, and the report is in report.md." in second
    assert (workspace / "report.md").read_text() == "released\n"


def test_plain_python_example_blocks_and_asks(tmp_path: Path) -> None:
    """`govern` needs no SDK."""
    python = install_environment("pydantic_ai", "newest")
    output = run_example(python, "plain_python", tmp_path / "project")

    assert "git push --force origin main: Blocked by policy (git_force_push)" in output
    assert "sh release.sh: Blocked by policy (release): a person said no" in output
    assert not (tmp_path / "project" / "released.txt").exists()
