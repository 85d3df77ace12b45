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


PATCH = "--- a/kept.py\n+++ b/kept.py\n@@ -1 +1 @@\n-a\n+b\n"


def run_shell(governance: Governance, repo: Path, command: str, *, seconds: float = 0.1, does: str = "b\n") -> None:
    """Let a session's shell run a command that takes a while and leaves this content in the committed file."""
    payload = {"command": command}
    action = Action(
        kind=ActionKind.BASH, tool="Bash", payload=payload, session_id="s1", cwd=str(repo), call_id=f"c-{command[:9]}"
    )
    assert governance.before(action).passed
    (repo / "kept.py").write_text(does)
    governance.clock.sleep(seconds)
    governance.after(action, Outcome(success=True, exit_code=0))


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/a/b/ kept.py",
        "cd . && perl -pi -e s/a/b/ kept.py && git diff",
        "echo b > kept.py",
        "patch -p1 < fix.diff",
        "git apply fix.diff",
        f"git apply <<'EOF'\n{PATCH}EOF",
        f"patch -p1 <<'EOF'\n{PATCH}EOF",
    ],
)
def test_session_may_undo_what_its_shell_edited(governance: Governance, repo: Path, command: str) -> None:
    """An edit by `sed -i` or a patch is the session's own, like one by its file tool; another session's is not."""
    (repo / "fix.diff").write_text(PATCH)
    run_shell(governance, repo, command)

    assert restore(governance, repo) == "pass"
    assert restore(governance, repo, session="s2") != "pass"


def test_session_may_not_undo_a_file_that_was_changed_before_its_shell_edited_it(
    governance: Governance, repo: Path
) -> None:
    """What a person had changed would be lost with the edit."""
    (repo / "kept.py").write_text("mine\n")
    run_shell(governance, repo, "sed -i s/a/b/ kept.py", does="mine b\n")

    assert restore(governance, repo) != "pass"


def test_session_may_not_undo_what_changed_after_its_shell_edited_it(governance: Governance, repo: Path) -> None:
    """The file on disk must be what the command left."""
    run_shell(governance, repo, "sed -i s/a/b/ kept.py")
    (repo / "kept.py").write_text("b and mine\n")

    assert restore(governance, repo) != "pass"


def test_edit_of_a_command_that_took_long_is_not_its_own(governance: Governance, repo: Path) -> None:
    """While it ran, a person may have written the same file."""
    run_shell(governance, repo, "sed -i s/a/b/ kept.py && make", seconds=60, does="b and mine\n")

    assert restore(governance, repo) != "pass"


def test_edit_of_another_call_in_between_is_not_taken_for_this_one(governance: Governance, repo: Path) -> None:
    """Only the newest edit is open: the outcome of an earlier call says nothing of a later one's file."""
    first = Action(
        kind=ActionKind.BASH, tool="Bash", payload={"command": "ls"}, session_id="s1", cwd=str(repo), call_id="c-0"
    )
    governance.before(first)
    edit_action = Action(
        kind=ActionKind.BASH,
        tool="Bash",
        payload={"command": "sed -i s/a/b/ kept.py"},
        session_id="s1",
        cwd=str(repo),
        call_id="c-1",
    )
    assert governance.before(edit_action).passed
    (repo / "kept.py").write_text("b\n")
    governance.after(first, Outcome(success=True, exit_code=0))

    assert restore(governance, repo) != "pass"


@pytest.mark.parametrize(
    "command",
    ["mv notes.txt kept.py", "git stash pop; : fix.diff patch", "sed -i s/a/b/ kept.py && ./tool", "./tool > kept.py"],
)
def test_edit_that_may_bring_a_persons_work_may_not_be_undone(governance: Governance, repo: Path, command: str) -> None:
    """What was moved into the file is nowhere else any more; a program can do the same."""
    (repo / "fix.diff").write_text(PATCH)
    (repo / "notes.txt").write_text("b\n")
    run_shell(governance, repo, command)

    assert restore(governance, repo) == "ask"
