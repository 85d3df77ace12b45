"""Tool policies, feedback providers and completion checks of a user's own, named in the policy file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.guided import Guided
from verdikt import (
    Feedback,
    FeedbackContext,
    Outcome,
    PolicyContext,
    PolicyDecision,
    TaskCompletionContext,
    TaskCompletionResult,
)
from verdikt.errors import PolicyError
from verdikt.policy import parse_policy

HERE = "tests.unit.guidance.test_custom"


@dataclass
class Freeze:
    """Denies a tool."""

    tool: str
    name: str = "freeze"

    def check(self, tool: str, params: Mapping[str, Any], *, context: PolicyContext) -> PolicyDecision:
        """Deny the tool."""
        return PolicyDecision.deny("frozen") if tool == self.tool else PolicyDecision.allow()

    def on_result(self, tool: str, params: Mapping[str, Any], result: Outcome, *, context: PolicyContext) -> None:
        """Remember nothing."""


class Cheer:
    """Says the same after every call."""

    name = "Cheer"

    def should_run(self, context: FeedbackContext) -> bool:
        """Return true."""
        return True

    def provide(self, context: FeedbackContext) -> Feedback:
        """Return a word."""
        return Feedback(provider_name=self.name, summary="well done")


class Never:
    """A check that never passes."""

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Return incomplete."""
        return TaskCompletionResult.incomplete("never done")


def test_own_classes_are_used_by_hooks(tmp_path: Path) -> None:
    """Each is named by its import path, with its settings under `with` and its options beside it."""
    agent = Guided(
        tmp_path,
        f"tool_policies: [{{use: '{HERE}:Freeze', with: {{tool: deploy}}}}]\n"
        f"feedback: [{{use: '{HERE}:Cheer', every_n_calls: 1}}]\n"
        f"completion: {{checks: [{{use: '{HERE}:Never'}}]}}\n",
    )
    assert agent.call("deploy") == "frozen"
    assert "well done" in agent.call("Bash", command="ls")
    assert "never done" in agent.stop().reason


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (f"use: '{HERE}:Missing'", "expected a tool policy at"),
        ("use: 'os:abort'", "expected a tool policy class with `check`, `on_result` at `os:abort`, found `builtin"),
        (f"use: '{HERE}:Freeze'", "refuses its settings"),
        ("use: 'no path'", "expected an import path"),
        (f"use: '{HERE}:Freeze', with: 5", "expected a mapping of settings"),
        (f"use: '{HERE}:Freeze', color: red", "color"),
    ],
)
def test_own_class_that_cannot_be_used_is_refused(item: str, message: str) -> None:
    """Anything but a class with the methods of its protocol is an error of the policy."""
    with pytest.raises(PolicyError, match=message):
        parse_policy(f"profile: none\ntool_policies: [{{{item}}}]\n")
