"""No action makes a guard fail, whatever is in it."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes import FakeWorld
from verdikt.effects.classifier import classify
from verdikt.engine import PolicyEngine
from verdikt.graph.combinator import All
from verdikt.graph.guard import BaseGuard
from verdikt.guards import SandboxGuard
from verdikt.model.action import Action, ActionKind
from verdikt.model.facts import Facts

texts = st.text(st.characters(), max_size=60) | st.sampled_from(
    ["rm -rf /", "../../etc/passwd", "~/.ssh/x", "src/a", "import os", "'", "$(", "sudo x; y", "\\0", "**", "//", "."]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    ["command", "file_path", "path", "paths", "pattern", "code", "language", "amount", "description"]
)
actions = st.builds(
    Action,
    kind=st.sampled_from(ActionKind),
    tool=texts | st.sampled_from(["Bash", "Glob", "Write"]),
    payload=st.dictionaries(keys, texts | values, max_size=4) | values,
    session_id=texts,
    task_type=texts,
    cwd=texts,
)


@given(action=actions)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_action_makes_a_guard_fail(action: Any, every_guard: list[BaseGuard]) -> None:
    """With facts and without, with effects and without: a verdict that is no error."""
    engine = PolicyEngine(All(*every_guard), classify=None, observe=None)
    informed = PolicyEngine(
        All(*every_guard), classify=lambda a, facts: classify(a, facts or Facts(FakeWorld())), observe=None
    )
    for result in (
        engine.evaluate(action),
        engine.evaluate(action, facts=Facts(FakeWorld())),
        informed.evaluate(action, facts=Facts(FakeWorld())),
    ):
        assert not result.verdict.error, result.reason


@given(st.text(st.characters(), max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("latin-1")))
@settings(deadline=None)
def test_no_code_makes_the_sandbox_fail(code: str) -> None:
    """What cannot be parsed is blocked by a plain verdict."""
    action = Action(kind=ActionKind.EXECUTE_CODE, payload={"code": code})

    assert not PolicyEngine(SandboxGuard(), classify=None, observe=None).evaluate(action).verdict.error
