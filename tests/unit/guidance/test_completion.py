"""Task completion beyond `the file exists`."""

from pathlib import Path

import pytest

from tests.guided import PROJECT, Guided
from verdikt.errors import PolicyError
from verdikt.guidance.completion import (
    CommandChecker,
    EvidenceChecker,
    FindingsChecker,
    TaskCompletionContext,
    TaskCompletionResult,
)
from verdikt.model.action import Outcome
from verdikt.model.world import PathFact
from verdikt.policy import parse_policy


def test_non_empty_requires_contents(tmp_path: Path) -> None:
    """An empty file is incomplete with `non_empty` (W4-7)."""
    agent = Guided(tmp_path, "completion: {checks: [{files: {files: out.md, non_empty: true}}]}\n")
    agent.world.paths[f"{PROJECT}/out.md"] = PathFact(real=f"{PROJECT}/out.md", kind="file", size=0)

    assert "1 required output file(s) are empty: out.md" in agent.stop().reason
    agent.world.paths[f"{PROJECT}/out.md"] = PathFact(real=f"{PROJECT}/out.md", kind="file", size=5)
    assert agent.stop().allowed


@pytest.mark.parametrize(
    ("text", "fits"), [('{"total": 3}', True), ('{"total": "x"}', False), ("not json", False), ("[" * 5000, False)]
)
def test_schema_requires_a_fitting_file(tmp_path: Path, text: str, fits: bool) -> None:
    """A file must fit its JSON Schema (W4-7)."""
    agent = Guided(
        tmp_path,
        "completion: {checks: [{files: {files: out.json, schema: {required: [total],"
        " properties: {total: {type: number}}}}}]}\n",
    )
    agent.put("out.json", text)

    assert agent.stop().allowed is fits


def test_fresh_requires_a_file_of_this_session(tmp_path: Path) -> None:
    """An older file is incomplete with `fresh` (W4-7)."""

    class Old(type(Guided(tmp_path).world)):  # type: ignore[misc]
        written = 0.0

        def modification_time(self, path: str) -> float:
            return self.written

    agent = Guided(tmp_path, "completion: {checks: [{files: {files: out.md, fresh: true}}]}\n", world=Old())
    agent.put("out.md")
    agent.call("look")

    assert "were not written since the task began: out.md" in agent.stop().reason
    agent.world.written = agent.clock.now() + 1  # type: ignore[attr-defined]
    assert agent.stop().allowed


def test_a_command_must_have_succeeded_since_the_last_edit(tmp_path: Path) -> None:
    """A failed or stale command is incomplete (W4-7)."""
    agent = Guided(tmp_path, "completion: {checks: [{command: pytest}]}\n")
    agent.call("Bash", command="pytest", outcome=Outcome(success=True, exit_code=1))
    assert agent.stop().reason == "<blocker>\n`pytest` has not succeeded since the last edit. Run it.\n</blocker>"
    agent.call("Bash", command="pytest", outcome=Outcome(success=True, exit_code=0))
    assert agent.stop().allowed
    agent.call("Edit", file_path="a.py")

    assert not agent.stop().allowed


def test_unknown_state_is_incomplete() -> None:
    """Without evidence a check fails closed."""
    nothing = TaskCompletionContext()

    for checker in (FindingsChecker(), EvidenceChecker("tests_pass"), CommandChecker("make")):
        assert not checker.check(nothing).complete


def test_crashing_check_refuses_and_is_bounded(tmp_path: Path) -> None:
    """A crash is never permission, and never refuses for ever."""

    class Broken:
        def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
            raise RuntimeError("broken")

    agent = Guided(tmp_path, definition={"completion": Broken()})
    answers = [agent.stop() for _ in range(4)]

    assert "The check itself failed: RuntimeError: broken" in answers[0].reason
    assert [answer.allowed for answer in answers] == [False, False, False, True]


def test_another_reason_resets_the_refusals(tmp_path: Path) -> None:
    """Only the same reason again and again ends the refusals."""
    agent = Guided(tmp_path, "completion: {checks: [{files: [a, b]}], refusals: 1}\n")

    assert not agent.stop().allowed
    agent.put("a")
    assert not agent.stop().allowed
    agent.put("b")
    assert agent.stop().allowed


def test_unwritable_log_refuses_once(tmp_path: Path) -> None:
    """It fails closed, and only once."""
    agent = Guided(tmp_path, "completion: {checks: [{files: a}]}\n")
    gov = agent.governance()
    (tmp_path / "data" / "ledger").rmdir()
    (tmp_path / "data" / "ledger").write_text("in the way")
    from verdikt.model.hook_message import Turn

    assert not gov.stop(Turn(session_id="s")).allowed
    assert gov.stop(Turn(session_id="s", stop_hook_active=True)).allowed


def test_require_any_needs_one_passing_check(tmp_path: Path) -> None:
    """`require: any` works, also nested."""
    flat = Guided(tmp_path, "completion: {checks: [{files: a}, {files: b}], require: any}\n")
    nested = Guided(tmp_path, "completion: {checks: [{files: b}, {any: [{files: a}, {command: make}]}]}\n", session="n")
    flat.put("b")
    nested.put("b")

    assert flat.stop().allowed
    assert not nested.stop().allowed
    nested.put("a")
    assert nested.stop().allowed


def test_all_nested_in_any_needs_every_check(tmp_path: Path) -> None:
    """One of the nested checks is not enough."""
    text = "completion: {checks: [{files: a}, {all: [{files: b}, {files: c}]}], require: any}\n"
    agent = Guided(tmp_path, text)
    agent.put("b")

    assert not agent.stop().allowed
    agent.put("c")
    assert agent.stop().allowed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "expected the key `checks`"),
        ("{checks: []}", "expected at least one of the checks, found an empty list"),
        ("{checks: [{commandd: x}]}", "expected a known key, found `commandd` (did you mean `command`?)"),
        ("{checks: [{findings: SEVERE}]}", "expected one of LOW, MEDIUM, HIGH, CRITICAL, found `SEVERE`"),
        ("{checks: [{files: a}], budget: {calls: -1}}", "`calls`: expected a number of 0 or more, found `-1`"),
        ("{checks: [{files: a}], refusals: 0}", "`refusals`: expected a whole number from 1 to 100, found `0`"),
        ("[x]", "expected a mapping, found a list"),
    ],
)
def test_invalid_completion_is_reported_at_load(text: str, message: str) -> None:
    """Each fault is reported with its place."""
    with pytest.raises(PolicyError) as caught:
        parse_policy(f"completion: {text}\n")

    assert message in str(caught.value)
