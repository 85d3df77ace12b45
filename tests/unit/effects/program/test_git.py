"""Commands of git in a real repository, where its state decides what they can lose."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.cleanup import close_after_test
from tests.fakes import FakeClock

from verdikt.cli.batch import observe_and_decide
from verdikt.govern import Governance
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.policy import parse_policy
from verdikt.replay import find_differences, read_decision, replay

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


@pytest.fixture
def governance(repo: Path, tmp_path: Path) -> Governance:
    """Return governance by the standard profile, with a log and the real world."""
    store = close_after_test(FileStore(tmp_path / "data", FakeClock(), load_projections(), durable=False))
    env = {"HOME": str(repo.parent), "PATH": os.environ["PATH"]}
    return Governance(STANDARD, store, clock=store.clock, env=env)


def edit(governance: Governance, repo: Path, text: str, session: str = "s1") -> None:
    """Let a session's file tool write the committed file."""
    payload = {"file_path": str(repo / "kept.py"), "content": text}
    action = Action(kind=ActionKind.WRITE, tool="Write", payload=payload, session_id=session, cwd=str(repo))
    assert governance.before(action).passed
    (repo / "kept.py").write_text(text)
    governance.after(action, Outcome(success=True))


def restore(governance: Governance, repo: Path, session: str = "s1") -> str:
    """Return the verdict on restoring the committed file, after checking that it replays to the byte."""
    command = {"command": "git checkout -- kept.py"}
    action = Action(kind=ActionKind.BASH, tool="Bash", payload=command, session_id=session, cwd=str(repo))
    verdict = governance.before(action).verdict
    past = read_decision(list(governance.store.read_entries(session))[-1])
    assert past is not None
    assert find_differences(past, replay(past, governance.policy)) == []
    return verdict.kind.word


def test_session_may_undo_its_own_edits(governance: Governance, repo: Path) -> None:
    """What only this session changed can be restored by it, after one edit or several; another session is asked."""
    edit(governance, repo, "one\n")
    assert restore(governance, repo) == "pass"
    edit(governance, repo, "two\n")
    assert restore(governance, repo) == "pass"
    assert restore(governance, repo, session="s2") == "ask"


def test_edit_on_top_of_a_persons_change_may_not_be_undone(governance: Governance, repo: Path) -> None:
    """The file differed from git before the session touched it: restoring would lose that too."""
    (repo / "kept.py").write_text("by a person\n")
    edit(governance, repo, "by a person, then the agent\n")

    assert restore(governance, repo) == "ask"


@pytest.mark.parametrize("again", [False, True])
def test_edit_that_a_person_changed_since_may_not_be_undone(governance: Governance, repo: Path, again: bool) -> None:
    """A change from elsewhere after the session's edit is not the session's to lose, also when it edits again."""
    edit(governance, repo, "by the agent\n")
    (repo / "kept.py").write_text("by the agent, then a person\n")
    if again:
        edit(governance, repo, "and the agent again\n")

    assert restore(governance, repo) == "ask"


def test_edit_of_a_staged_change_may_not_be_undone(governance: Governance, repo: Path) -> None:
    """What a person staged is in the index alone, which a restore from the last commit would lose."""
    (repo / "kept.py").write_text("staged\n")
    run_git(repo, "add", "kept.py")
    edit(governance, repo, "by the agent\n")

    assert restore(governance, repo) == "ask"
