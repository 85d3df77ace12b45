"""Commands that guidance asks for: recognised as the evidence gate does, and stale when the sources change."""

import subprocess
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.guided import Guided
from verdikt.govern import Governance
from verdikt.guidance.command_success import mentions_command, proves_command
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.hook_message import Turn
from verdikt.replay import find_differences, read_decision, replay

PROVING = [
    "pytest",
    "pytest -q tests",
    "python -m pytest",
    "python3.11 -m pytest -x",
    "uv run pytest",
    "poetry run pytest -q",
    "timeout 60 pytest",
    "PYTHONPATH=src pytest",
    "./venv/bin/pytest tests",
    "bash -c 'pytest -q'",
    "cd app && pytest -q",
    "pytest && git status",
]
NOT_PROVING = [
    "pytest || true",
    "pytest; true",
    "pytest | tail -3",
    "pytest --collect-only",
    "echo pytest",
    "pytest-watch",
    "./pytest",
    "python -m pytest_extra",
]


@pytest.mark.parametrize("text", PROVING)
def test_command_is_recognised_however_it_is_started(text: str) -> None:
    """A wrapper, an interpreter, a variable or an inner shell does not hide the program."""
    assert proves_command(text, "pytest")
    assert proves_command(text, "python -m pytest")
    assert mentions_command(text, "pytest")


@pytest.mark.parametrize("text", NOT_PROVING)
def test_command_line_whose_status_is_not_the_command_proves_nothing(text: str) -> None:
    """A pipe, an alternative, a dry run or another program is no proof."""
    assert not proves_command(text, "pytest")


@pytest.mark.parametrize("text", ["git push", "git -C app push origin main", "sudo git push", "/usr/bin/git push"])
def test_gated_command_is_recognised_however_it_is_started(text: str) -> None:
    """What must not run yet is found behind options and wrappers too."""
    assert mentions_command(text, "git push")


POLICY = "profile: none\nguards: [audit]\ncompletion: {checks: [{command: pytest}]}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with a source file, and a home beside it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VERDIKT_HOME", str(tmp_path / "data"))
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "policy.yaml").write_text(POLICY)
    (project / "a.py").write_text("x = 1\n")
    (project / "notes.md").write_text("one\n")
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    subprocess.run(["git", "-C", str(project), "add", "-A"], check=True)
    return project


def run_tests(project: Path) -> Governance:
    """Return governance of a session in which the tests have just passed."""
    governance = Governance.load(project.parent / "policy.yaml")
    close_after_test(governance.store)
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "pytest"}, session_id="s", cwd=str(project))
    governance.before(action)
    governance.after(action, Outcome(success=True, exit_code=0, output="3 passed in 0.1s"))
    return governance


def may_stop(governance: Governance, project: Path) -> bool:
    """Return whether the agent may stop now."""
    return governance.stop(Turn(session_id="s", cwd=str(project), message="ok")).allowed


def test_source_that_another_process_rewrote_makes_a_run_stale(project: Path) -> None:
    """The sources are compared with those of the run, whatever changed them; changing them back helps."""
    governance = run_tests(project)
    assert may_stop(governance, project)
    (project / "a.py").write_text("x = 2\n")
    assert not may_stop(governance, project)
    (project / "a.py").write_text("x = 1\n")
    assert may_stop(governance, project)


def test_note_that_is_edited_later_does_not_make_a_run_stale(project: Path) -> None:
    """Documents are no sources."""
    governance = run_tests(project)
    edit = Action(
        kind=ActionKind.WRITE,
        tool="Write",
        payload={"file_path": str(project / "notes.md"), "content": "two"},
        session_id="s",
        cwd=str(project),
    )
    governance.before(edit)
    (project / "notes.md").write_text("two")
    governance.after(edit, Outcome(success=True))
    assert may_stop(governance, project)


ORDER = "{sequential_dependency: {dependencies: {git push: [pytest]}, reset_by: [edit]}}"


def may_push(governance: Governance, project: Path) -> bool:
    """Return whether the agent may push now."""
    payload = {"command": "git push"}
    action = Action(kind=ActionKind.BASH, tool="Bash", payload=payload, session_id="s", cwd=str(project))
    return governance.before(action).passed


def test_source_that_another_process_rewrote_resets_a_dependency(project: Path) -> None:
    """`reset_by: edit` means what the evidence gate means: the sources are compared, whatever changed them."""
    (project.parent / "policy.yaml").write_text(f"profile: none\nguards: [audit]\ntool_policies: [{ORDER}]\n")
    governance = run_tests(project)
    assert may_push(governance, project)
    (project / "notes.md").write_text("two\n")
    assert may_push(governance, project)
    (project / "a.py").write_text("x = 2\n")
    assert not may_push(governance, project)
    (project / "a.py").write_text("x = 1\n")
    assert may_push(governance, project)


def test_decision_about_changed_sources_is_replayed(project: Path) -> None:
    """The digest that was compared is in the receipt, so that the decision can be made again from the log."""
    (project.parent / "policy.yaml").write_text(f"profile: none\nguards: [audit]\ntool_policies: [{ORDER}]\n")
    governance = run_tests(project)
    (project / "a.py").write_text("x = 2\n")
    assert not may_push(governance, project)
    past = [decision for entry in governance.store.read_entries("s") if (decision := read_decision(entry))][-1]
    (project / "a.py").write_text("x = 1\n")

    replayed = replay(past, governance.policy)

    assert not replayed.passed
    assert find_differences(past, replayed) == []


def test_note_does_not_reset_a_dependency(tmp_path: Path) -> None:
    """With `reset_by: edit`, sources reset and notes do not."""
    policy = "tool_policies: [{sequential_dependency: {dependencies: {git push: [pytest]}, reset_by: [edit]}}]\n"
    agent = Guided(tmp_path, policy)
    assert "requires: pytest" in agent.call("Bash", command="git push")
    agent.call("Bash", command="python -m pytest -q", outcome=Outcome(success=True, exit_code=0))
    agent.call("Write", file_path="README.md", content="x")
    assert agent.before("Bash", command="git -C . push").passed
    agent.call("Write", file_path="a.py", content="x")
    assert not agent.before("Bash", command="git -C . push").passed


def test_person_is_told_what_is_unfinished_when_refusals_are_used_up(tmp_path: Path) -> None:
    """After the last refusal the agent may end, and the answer says what is missing."""
    agent = Guided(tmp_path, "completion: {checks: [{files: out.txt}], refusals: 2}\n")
    assert [agent.stop().allowed for _ in range(2)] == [False, False]
    last = agent.stop()
    assert last.allowed
    assert "unfinished" in last.context
    assert "out.txt" in last.context


def test_agent_is_reminded_of_what_is_missing(tmp_path: Path) -> None:
    """Every so many calls while work is incomplete; silence when it is complete."""
    agent = Guided(tmp_path, "completion: {checks: [{files: out.txt}], remind_every_n_calls: 2}\n")
    answers = [agent.call("Bash", command="ls") for _ in range(4)]
    assert ["out.txt" in answer for answer in answers] == [False, True, False, True]
    agent.put("out.txt")
    assert [agent.call("Bash", command="ls") for _ in range(2)] == ["", ""]
