"""A permit is good for one execution of one call, and for no other."""

from dataclasses import replace
from typing import Any

import pytest

from verdikt.integrations.permit import CURRENT_PERMIT, Permit, is_permit_spent, take_permit
from verdikt.integrations.ruling import Ruling, close_approval
from verdikt.model.action import Action, ActionKind
from verdikt.model.verdict import Verdict

ARGUMENTS = {"command": "ls"}
PASSED = Ruling(
    Action(kind=ActionKind.BASH, tool="sh", payload=ARGUMENTS, session_id="s", cwd="/"), Verdict.pass_(guard="x")
)


def test_permit_is_taken_once() -> None:
    """A second execution with the same arguments is another call."""
    permit = Permit("sh", ARGUMENTS, PASSED, call_id="c1")

    assert permit.take("sh", {"command": "ls"}, call_id="c1")
    assert not permit.take("sh", {"command": "ls"}, call_id="c1")


def test_permit_is_spent_by_its_call_alone() -> None:
    """A tool asks before a second run: a person's yes was for the first."""
    permit = Permit("sh", ARGUMENTS, PASSED, call_id="c1")
    token = CURRENT_PERMIT.set(permit)
    try:
        assert not is_permit_spent("sh", ARGUMENTS, call_id="c1")
        assert take_permit("sh", ARGUMENTS, call_id="c1") is permit
        assert is_permit_spent("sh", {"command": "ls"}, call_id="c1")
        assert not is_permit_spent("sh", {"command": "ls /"}, call_id="c1")
        assert not is_permit_spent("sh", ARGUMENTS, call_id="c2")
    finally:
        CURRENT_PERMIT.reset(token)


def test_spent_yes_is_a_block_and_a_spent_pass_is_decided_by_the_policy() -> None:
    """Only an approval is for one run; the refusal says so."""
    approved = replace(PASSED, is_approved=True, verdict=Verdict.pass_(guard="x", reason="approved by `ann`"))

    assert close_approval(PASSED) is PASSED
    assert not close_approval(approved).may_run
    assert "approved by `ann`; that was for one run" in close_approval(approved).text


@pytest.mark.parametrize(
    ("tool", "arguments", "call_id"),
    [
        ("sh2", {"command": "ls"}, "c1"),
        ("sh", {"command": "ls /"}, "c1"),
        ("sh", {"command": "ls", "cwd": "/"}, "c1"),
        ("sh", {}, "c1"),
        ("sh", None, "c1"),
        ("sh", {"command": float("nan")}, "c1"),
        ("sh", {"command": "ls"}, "c2"),
        ("sh", {"command": "ls"}, ""),
    ],
)
def test_permit_fits_no_other_execution(tool: str, arguments: Any, call_id: str) -> None:
    """What differs in tool, arguments or call was not decided; the permit stays for the call that was."""
    permit = Permit("sh", ARGUMENTS, PASSED, call_id="c1")

    assert not permit.take(tool, arguments, call_id=call_id)
    assert permit.take("sh", ARGUMENTS, call_id="c1")


def test_permit_of_a_refusal_lets_nothing_run() -> None:
    """A blocked call and one that waits for a person have no permit."""
    for verdict in (Verdict.block(guard="x", reason="r", fix="f"), Verdict.ask(guard="x", reason="r", fix="f")):
        assert not Permit("sh", ARGUMENTS, replace(PASSED, verdict=verdict)).take("sh", ARGUMENTS)


def test_arguments_that_cannot_be_compared_have_no_permit() -> None:
    """A reader that fails is not the call that was decided."""

    class Broken(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("broken")

    assert not Permit("sh", ARGUMENTS, PASSED).take("sh", Broken(command=["ls"]))


def test_without_a_decision_there_is_no_permit() -> None:
    """Outside of a call nothing may run; the permit of a call is found in its context."""
    assert take_permit("sh", ARGUMENTS) is None
    token = CURRENT_PERMIT.set(permit := Permit("sh", ARGUMENTS, PASSED))
    try:
        assert take_permit("sh", ARGUMENTS) is permit
        assert take_permit("sh", ARGUMENTS) is None
    finally:
        CURRENT_PERMIT.reset(token)
