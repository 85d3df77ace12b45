"""Calls that were refused are no calls that ran without a decision."""

import pytest

from verdikt.integrations import refused_calls
from verdikt.integrations.refused_calls import RefusedCalls
from verdikt.integrations.ruling import Ruling
from verdikt.model.action import Action, ActionKind
from verdikt.model.verdict import Verdict


def build_ruling(call_id: str, verdict: Verdict) -> Ruling:
    """Return a ruling about a call."""
    return Ruling(Action(kind=ActionKind.BASH, tool="sh", session_id="s", call_id=call_id), verdict)


BLOCK = Verdict.block(guard="g", reason="no", fix="do not")


def test_only_refused_calls_of_the_session_are_left_out() -> None:
    """What passed stays among the executed calls, and so does a call with the same id in another session."""
    refused = RefusedCalls()
    refused.note(build_ruling("c1", BLOCK))
    refused.note(build_ruling("c2", Verdict.pass_(guard="g")))

    assert refused.leave_out("s", {"c1": "sh", "c2": "sh", "c3": "sh"}) == {"c2": "sh", "c3": "sh"}
    assert refused.leave_out("other", {"c1": "sh"}) == {"c1": "sh"}


def test_oldest_refused_call_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory does not grow with the life of the program."""
    monkeypatch.setattr(refused_calls, "_MAX_CALLS", 1)
    refused = RefusedCalls()
    refused.note(build_ruling("c1", BLOCK))
    refused.note(build_ruling("c2", BLOCK))

    assert refused.leave_out("s", {"c1": "sh", "c2": "sh"}) == {"c1": "sh"}
