"""A payload of any shape gets a verdict from a policy with every kind of rule."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdikt.engine import PolicyEngine
from verdikt.model.action import Action, ActionKind
from verdikt.model.verdict import Verdict
from verdikt.policy import parse_policy

ENGINE = PolicyEngine(
    parse_policy("""
profile: none
bash_safety: {blocked_patterns: ['x{5}']}
rules:
  - {name: equal, equals: {a.b: 1, c: x}, verdict: warn, reason: "{target}"}
  - {name: field, pattern: 'secret\\s', field: [a.b, content], verdict: warn, reason: "{path}"}
  - {name: prefix, command: rm, verdict: ask, reason: "{by}", fix: "{what}"}
  - {name: pattern, pattern: '(a+)+$', verdict: warn, reason: "{note}{zone}{tool}"}
  - {name: condition, if: "has(action.payload.a) && action.payload.a == 1", verdict: warn, reason: hm}
""").root
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", "b", "c", "command", "content"]), inner),
    max_leaves=12,
)


def evaluate(payload: Any, kind: ActionKind = ActionKind.BASH) -> Verdict:
    """Return the verdict on a payload."""
    return ENGINE.evaluate(Action(kind=kind, tool="Bash", payload=payload)).verdict


@given(JSON, st.sampled_from(list(ActionKind)))
def test_any_json_gets_a_verdict(payload: Any, kind: ActionKind) -> None:
    """No value that a host can send makes a rule raise, and equal payloads get equal verdicts."""
    assert evaluate(payload, kind) == evaluate(payload, kind)


def nest(wrap: Any, depth: int) -> Any:
    """Return a value that is wrapped that many times."""
    value: Any = "x"
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize(
    "payload",
    [
        {"command": "a" * 10_000_000},
        {"content": "secret " * 1_000_000, "command": "rm"},
        {"command": "rm \x00\ud800\udfff \U0001f600"},
        {"a": nest(lambda value: {"b": value}, 1_000)},
        {"a": nest(lambda value: [value], 1_000)},
        {"a": nest(lambda value: [value], 100_000), "command": "rm"},
        {"a": {"b": float("nan")}, "c": 10**400},
        {1: 2, None: 3},
        {"command": {"a": 1}},
        object(),
    ],
    ids=range(10),
)
def test_hostile_payloads_get_a_verdict(payload: Any) -> None:
    """Payloads that are long or deep, hold NUL bytes or lone surrogates, or have the wrong type."""
    assert isinstance(evaluate(payload), Verdict)
