"""No action makes a guard fail."""

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
def test_guard_gives_a_verdict_without_error_on_any_action(action: Any, every_guard: list[BaseGuard]) -> None:
    """With and without facts and effects."""
    engine = PolicyEngine(All(*every_guard))
    informed = PolicyEngine(All(*every_guard), classify=lambda a, facts: classify(a, facts or Facts(FakeWorld())))
    for result in (
        engine.evaluate(action),
        engine.evaluate(action, facts=Facts(FakeWorld())),
        informed.evaluate(action, facts=Facts(FakeWorld())),
    ):
        assert not result.verdict.error, result.reason


@given(st.text(st.characters(), max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("latin-1")))
@settings(deadline=None)
def test_sandbox_gives_a_verdict_without_error_on_any_code(code: str) -> None:
    """Code that cannot be parsed is blocked by an ordinary verdict."""
    action = Action(kind=ActionKind.EXECUTE_CODE, payload={"code": code})

    assert not PolicyEngine(SandboxGuard(), classify=None, observe=None).evaluate(action).verdict.error
