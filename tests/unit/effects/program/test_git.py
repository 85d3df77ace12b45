"""Commands of git in a real repository, where its state decides what they can lose."""

import subprocess
from pathlib import Path

import pytest

from verdikt.cli.batch import observe_and_decide
from verdikt.model.action import Action, ActionKind
from verdikt.policy import parse_policy

STANDARD = parse_policy("profile: standard")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Return a repository with a committed file and an untracked one."""
    repo = tmp_path / "home/project"
    repo.mkdir(parents=True)
    run_git(repo, "init", "-q")
    (repo / "kept.py").write_text("a\n")
    run_git(repo, "add", ".")
    run_git(repo, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "a")
    (repo / "new.py").write_text("b\n")
    return repo


def run_git(repo: Path, *words: str) -> None:
    """Run git in a repository."""
    subprocess.run(["git", *words], cwd=repo, check=True, capture_output=True)


def decide(repo: Path, command: str) -> str:
    """Return the verdict of the standard profile on a command in the repository."""
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, cwd=str(repo))
    return observe_and_decide(action, STANDARD, STANDARD.posture, home=str(repo.parent)).verdict.kind.word


@pytest.mark.parametrize("command", ["git checkout -- .", "git checkout .", "git restore .", "git checkout HEAD -- ."])
def test_discarding_changes_passes_where_there_are_only_untracked_files(repo: Path, command: str) -> None:
    """Discarding leaves untracked files alone, so nothing is lost; with a changed file, the same command is blocked."""
    assert decide(repo, command) == "pass"

    (repo / "kept.py").write_text("changed\n")

    assert decide(repo, command) == "block"


@pytest.mark.parametrize("command", ["git checkout -f main", "git switch --discard-changes main", "git clean -fd"])
def test_forced_commands_count_untracked_files(repo: Path, command: str) -> None:
    """Forced, git overwrites or deletes untracked files too."""
    assert decide(repo, command) == "block"
