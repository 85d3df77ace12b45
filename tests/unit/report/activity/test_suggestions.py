"""Exceptions are proposed for what was asked about and let run every time."""

import pytest

from verdikt.report.activity.activity import Activity, ReportRange, RuleActivity
from verdikt.report.activity.call_scope import CallScope, is_in_scope, read_scope
from verdikt.report.activity.suggestions import propose_exceptions

PUBLISH = CallScope(command="npm publish", tool="Bash")


def build_activity(*asks: tuple[CallScope, bool]) -> Activity:
    """Return an activity with one rule and the outcomes of its asks."""
    activity = Activity.from_range(ReportRange(since=0, until=10, labels=("a",)))
    rule = RuleActivity("publish")
    rule.verdicts["ask"] = len(asks)
    for scope, approved in asks:
        rule.count_ask(scope, approved=approved)
    activity.rules["publish"] = rule
    return activity


def test_command_that_was_always_let_run_is_proposed_with_the_command_that_allows_it() -> None:
    """The text says how often, and the command can be pasted."""
    [suggestion] = propose_exceptions(build_activity(*[(PUBLISH, True)] * 4))

    assert "asked about the command `npm publish` 4 times, and it was let run 4 times" in suggestion.text
    assert suggestion.commands == ("verdikt allow publish --command 'npm publish' --for always",)


@pytest.mark.parametrize(
    "asks",
    [
        [(PUBLISH, True)] * 2,
        [(PUBLISH, True)] * 9 + [(PUBLISH, False)],
        [(CallScope(command="x" * 500), True)] * 5,
        [(CallScope(command="a\x1b[2Jb"), True)] * 5,
        [(CallScope(), True)] * 5,
    ],
    ids=["too rare", "declined once", "too long to read", "not printable", "with a secret"],
)
def test_nothing_is_proposed_without_a_clear_habit(asks: list[tuple[CallScope, bool]]) -> None:
    """One no is enough, and what a person can't read is not proposed."""
    assert propose_exceptions(build_activity(*asks)) == []


def test_directory_is_proposed_when_several_commands_work_in_it() -> None:
    """One command alone is proposed as that command, not as everything around it."""
    scopes = [CallScope(command=f"rm {name}", directories=("/srv/cache",)) for name in "abc"]

    [suggestion] = propose_exceptions(build_activity(*((scope, True) for scope in scopes)))

    assert suggestion.scope == ("path", "/srv/cache/**")
    assert propose_exceptions(build_activity(*[(scopes[0], True)] * 3))[0].scope == ("command", "rm a")


def test_scope_of_a_call_with_a_secret_is_empty() -> None:
    """The log has a token in the place of the secret, which no later call contains."""
    receipt = {
        "action": {"tool": "Bash", "payload": {"command": " ls /a "}},
        "effects": [{"class": "write", "targets": [{"kind": "path", "text": "/srv/cache/x"}]}],
        "facts": {"secrets": [], "place": {"project_root": "/p"}},
    }

    assert read_scope(receipt) == CallScope(command="ls /a", directories=("/srv/cache",), tool="Bash", project="/p")
    assert read_scope(receipt | {"facts": {"secrets": ["x"]}}) == CallScope()
    assert is_in_scope(receipt, ("path", "/srv/cache/**"))
    assert is_in_scope(receipt, ("command", "ls /a"))
    assert not is_in_scope(receipt, ("tool", "Write"))
