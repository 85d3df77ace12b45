"""Logged calls of hosts that do not report an exit status."""

import pytest

from verdikt.evidence.validator_registry import VALIDATORS
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import Entry, EntryKind
from verdikt.runs.logged_call import LoggedCall, build_call_evidence, list_edits, read_call
from verdikt.turns.turn import TurnEvidence


def log_command(command: str, output: str, host: str, status: int | None = None) -> LoggedCall:
    """Return a command as it is read from the log."""
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


def proves_build(call: LoggedCall) -> tuple[int, ...] | str:
    """Return whether that call proves a build."""
    return VALIDATORS["build_passes"].predicate(TurnEvidence((call,)), {})


@pytest.mark.parametrize("host", ["codex", "cursor"])
def test_unreported_status_is_unknown(host: str) -> None:
    """It is neither success nor failure, and the refusal says how to make it known."""
    call = log_command("make build", "linking\n", host)

    assert (call.ok, call.failed, call.status_unknown) == (False, False, True)
    assert proves_build(call) == "this client does not tell how `make build` ended; run `make build && echo succeeded`"


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
def test_final_success_echo_proves_success(command: str, output: str, known: bool) -> None:
    """Only when nothing but success leads to it."""
    call = log_command(command, output, "codex")

    assert (proves_build(call) == (1,)) is known


def test_test_count_proves_tests_without_a_status() -> None:
    """A printed count without failures is proof; one with failures, or none, is not."""
    proof = VALIDATORS["tests_pass"].predicate

    assert proof(TurnEvidence((log_command("pytest -q", "3 passed in 0.1s", "codex"),)), {}) == (1,)
    assert isinstance(proof(TurnEvidence((log_command("pytest -q", "1 failed in 0.1s", "codex"),)), {}), str)
    assert isinstance(proof(TurnEvidence((log_command("pytest -q", "Killed", "codex"),)), {}), str)


@pytest.mark.parametrize("output", ["warning: No Python files found under the given path(s)\n", "0 files checked\n"])
def test_linter_that_looked_at_nothing_proves_nothing(output: str) -> None:
    """It is content as well."""
    proof = VALIDATORS["lint_clean"].predicate

    assert proof(TurnEvidence((log_command("ruff check docs", "All checks passed!", "claude", 0),)), {}) == (1,)
    assert isinstance(proof(TurnEvidence((log_command("ruff check docs", output, "claude", 0),)), {}), str)


@pytest.mark.parametrize("host", ["claude", "gemini"])
def test_missing_status_of_a_reporting_host_is_unfinished(host: str) -> None:
    """A command in the background has proven nothing."""
    assert not log_command("make build", "", host).ok
    assert log_command("make build", "", host, status=0).ok


def test_edits_of_a_patch_tool_are_those_that_the_patch_names() -> None:
    """Of a write that names no file and holds no patch, anything may have changed."""
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** End Patch\n"
    edits = [
        list_edits(Action(kind=ActionKind.WRITE, tool="apply_patch", payload={"command": text}))
        for text in (patch, "nothing")
    ]

    assert edits == [("src/a.py",), ("*",)]
