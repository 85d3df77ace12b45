"""Calls that were let through: only the very call, until it ends."""

from dataclasses import replace
from typing import Any

import pytest

from verdikt.integrations import allowed_calls
from verdikt.integrations.allowed_calls import AllowedCalls
from verdikt.integrations.ruling import Ruling
from verdikt.integrations.tool_kinds import parse_kinds
from verdikt.model.action import Action, ActionKind
from verdikt.model.verdict import Verdict

ACTION = Action(kind=ActionKind.BASH, tool="sh", payload={"command": "ls"}, session_id="s", call_id="c1")
RULING = Ruling(ACTION, Verdict.pass_(guard="rules"))


@pytest.fixture
def calls() -> AllowedCalls:
    """Return what is remembered of calls of a shell tool."""
    return AllowedCalls(parse_kinds({"sh": "bash", "sh2": "bash"}))


def use(calls: AllowedCalls, action: Action) -> Ruling | None:
    """Return the ruling by which a call may run."""
    return calls.use(action.session_id, action.call_id, action.tool, action.payload)


@pytest.mark.parametrize(
    "other",
    [
        replace(ACTION, payload={"command": "drop"}),
        replace(ACTION, payload={"command": "ls", "shell": "zsh"}),
        replace(ACTION, tool="sh2"),
        replace(ACTION, call_id="c2"),
        replace(ACTION, session_id="t"),
    ],
)
def test_another_call_is_not_let_through(calls: AllowedCalls, other: Action) -> None:
    """Other arguments, another tool, another id or session: decided again."""
    calls.add(RULING)

    assert use(calls, other) is None
    assert use(calls, ACTION) is RULING


def test_arguments_that_cannot_be_read_are_not_those_that_were_decided(calls: AllowedCalls) -> None:
    """Comparing them may raise; a call may not run for that."""
    calls.add(RULING)
    endless: dict[str, Any] = {}
    endless["self"] = endless

    assert calls.use("s", "c1", "sh", endless) is None


def test_ruling_lets_one_run_through(calls: AllowedCalls) -> None:
    """An extension that makes the call again has it decided again; the outcome belongs to the last decision."""
    calls.add(RULING)

    assert use(calls, ACTION) is RULING
    assert use(calls, ACTION) is None
    assert calls.get("s", "c1") is RULING
    calls.add(RULING, is_used=True)
    assert use(calls, ACTION) is None
    assert calls.pop("s", "c1") is RULING


def test_call_without_session_and_id_is_found_as_its_action_has_them(calls: AllowedCalls) -> None:
    """What an SDK leaves out has the name that the action has."""
    calls.add(replace(RULING, action=replace(ACTION, session_id="default", call_id="")))

    assert calls.get("", None) is not None
    assert calls.use(None, None, "sh", {"command": "ls"}) is not None


def test_refusal_is_never_remembered(calls: AllowedCalls) -> None:
    """A ruling that lets nothing run cannot get in."""
    refusal = Ruling(ACTION, Verdict.block(guard="g", reason="r", fix="f"))

    with pytest.raises(ValueError, match="only a call that may run"):
        calls.add(refusal)


def test_ended_call_is_forgotten(calls: AllowedCalls) -> None:
    """A second run of the same call is decided again."""
    calls.add(RULING)

    assert calls.pop("s", "c1") is RULING
    assert calls.pop("s", "c1") is None
    assert use(calls, ACTION) is None


def test_oldest_call_is_forgotten_first(calls: AllowedCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was forgotten is decided again, not let through."""
    monkeypatch.setattr(allowed_calls, "_MAX_CALLS", 2)
    actions = [replace(ACTION, call_id=f"c{number}") for number in range(3)]
    for action in actions:
        calls.add(replace(RULING, action=action))

    assert [use(calls, action) is not None for action in actions] == [False, True, True]
