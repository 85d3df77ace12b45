"""Calls that were let through: only the very call, until it ends."""

from dataclasses import replace

import pytest

from verdikt.integrations import allowed_calls
from verdikt.integrations.allowed_calls import AllowedCalls
from verdikt.integrations.ruling import Ruling
from verdikt.model.action import Action, ActionKind
from verdikt.model.verdict import Verdict

ACTION = Action(kind=ActionKind.BASH, tool="sh", payload={"command": "ls"}, session_id="s", call_id="c1")
RULING = Ruling(ACTION, Verdict.pass_(guard="rules"))


@pytest.mark.parametrize(
    "other",
    [
        replace(ACTION, payload={"command": "drop"}),
        replace(ACTION, tool="sh2"),
        replace(ACTION, call_id="c2"),
        replace(ACTION, session_id="t"),
    ],
)
def test_another_call_is_not_covered(other: Action) -> None:
    """Other arguments, another tool, another id or session: decided again."""
    calls = AllowedCalls()
    calls.add(RULING)

    assert calls.covers(ACTION)
    assert not calls.covers(other)


def test_refusal_is_never_remembered() -> None:
    """A ruling that lets nothing run cannot get in."""
    refusal = Ruling(ACTION, Verdict.block(guard="g", reason="r", fix="f"))

    with pytest.raises(ValueError, match="only a call that may run"):
        AllowedCalls().add(refusal)


def test_ended_call_is_forgotten() -> None:
    """A second run of the same call is decided again."""
    calls = AllowedCalls()
    calls.add(RULING)

    assert calls.pop(ACTION) is RULING
    assert calls.pop(ACTION) is None
    assert not calls.covers(ACTION)


def test_oldest_call_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was forgotten is decided again, not let through."""
    monkeypatch.setattr(allowed_calls, "_MAX_CALLS", 2)
    calls = AllowedCalls()
    actions = [replace(ACTION, call_id=f"c{number}") for number in range(3)]
    for action in actions:
        calls.add(replace(RULING, action=action))

    assert [calls.covers(action) for action in actions] == [False, True, True]
