"""What a logged call proves when the host says nothing of how a command ended."""

import pytest

from verdikt.evidence.logged_call import LoggedCall, build_call_evidence, read_call
from verdikt.evidence.turn import TurnEvidence
from verdikt.evidence.validator import VALIDATORS
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import Entry, EntryKind


def logged(command: str, output: str, host: str, status: int | None = None) -> LoggedCall:
    """A command as it comes back from the log."""
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, host=host)
    outcome = Outcome(success=not status, output=output, exit_code=status)
    body = {
        "kind": "bash",
        "tool": "Bash",
        "host": host,
        "payload": {"command": command},
        "success": outcome.success,
        "exit_code": status,
        "evidence": build_call_evidence(action, outcome, written={}, ended=1.0),
    }
    return read_call(Entry(seq=1, ts=1, session="s", kind=EntryKind.TOOL_CALL, body=body))


def built(call: LoggedCall) -> tuple[int, ...] | str:
    """Whether that call proves a build."""
    return VALIDATORS["build_passes"].predicate(TurnEvidence((call,)), {})


@pytest.mark.parametrize("host", ["codex", "cursor"])
def test_a_status_that_is_never_told_is_unknown(host: str) -> None:
    """Neither a success nor a failure; the refusal says how to make it known."""
    call = logged("make build", "linking\n", host)

    assert (call.ok, call.failed, call.status_unknown) == (False, False, True)
    assert built(call) == "this client does not tell how `make build` ended; run `make build && echo succeeded`"


@pytest.mark.parametrize(
    ("command", "output", "known"),
    [
        ("make build && echo succeeded", "linking\nsucceeded\n", True),
        ("set -e; make build; echo succeeded", "succeeded", True),
        ("make build && echo succeeded", "linking\nmake: *** [build] Error 1\n", False),
        ("make build; echo succeeded", "make: *** [build] Error 1\nsucceeded\n", False),
        ("make build || echo succeeded", "succeeded\n", False),
        ("make build && echo", "\n", False),
        ("make build && echo $?", "0\n", False),
    ],
)
def test_a_last_word_that_is_only_said_after_success_makes_it_known(command: str, output: str, known: bool) -> None:
    """Only when nothing but success leads to it."""
    call = logged(command, output, "codex")

    assert (built(call) == (1,)) is known


def test_tests_are_proven_by_their_count() -> None:
    """A green count that the runner printed is proof where the status is not told; a red one, or none, is not."""
    proof = VALIDATORS["tests_pass"].predicate

    assert proof(TurnEvidence((logged("pytest -q", "3 passed in 0.1s", "codex"),)), {}) == (1,)
    assert isinstance(proof(TurnEvidence((logged("pytest -q", "1 failed in 0.1s", "codex"),)), {}), str)
    assert isinstance(proof(TurnEvidence((logged("pytest -q", "Killed", "codex"),)), {}), str)


@pytest.mark.parametrize("host", ["claude", "gemini"])
def test_where_it_is_told_none_means_not_finished(host: str) -> None:
    """A command in the background has proven nothing."""
    assert not logged("make build", "", host).ok
    assert logged("make build", "", host, status=0).ok
