"""CEL conditions: their variables, and the mistakes found when a policy is loaded."""

from typing import Any

import pytest

from verdikt.errors import PolicyError
from verdikt.graph.cel_condition import VARIABLES, CelCondition
from verdikt.graph.context import GovernanceContext
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Effect, EffectClass, Effects, Target, Zone

ACTION = Action(
    kind=ActionKind.BASH, tool="Bash", payload={"command": "rm x", "n": [1, {"deep": True}]}, task_type="deploy"
)
EFFECTS = Effects(
    (Effect(cls=EffectClass.DESTRUCTIVE, what="fs.delete", targets=(Target("x", path="/home/x", zone=Zone.HOME),)),)
)


def make_context(action: Action = ACTION) -> GovernanceContext:
    """Return a context with effects, a risk score and a history."""
    ctx = GovernanceContext(action=action, effects=EFFECTS, risk_score=0.6)
    ctx.session.action_count = 4
    ctx.session.history = [{"kind": "read", "guard": "x"}]
    return ctx


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("action.task_type == 'deploy'", True),
        ("action.kind == 'bash' && action.tool in ['Bash', 'Shell']", True),
        ("action.command.startsWith('rm ') && action.path == ''", True),
        ("risk > 0.5 && session.action_count > 3", True),
        ("session.block_count > 0 || session.consecutive_blocks > 0 || session.risk > 0.0", False),
        ("effects.exists(e, e.class == 'destructive' && e.targets.exists(t, t.zone == 'home'))", True),
        ("effects.all(e, e.certain && e.recoverable && e.what.startsWith('fs.'))", True),
        ("posture == 'interactive'", True),
        ("has(action.payload.n) && action.payload.n[1].deep", True),
        ("has(action.payload.missing)", False),
        ("session.history.exists(h, h.kind == 'read')", True),
        ("action.host + action.agent + action.cwd + action.session_id == 'default'", True),
        ("action.tool.lowerAscii() == 'bash'", True),
        ("action.command.matches('^r[m]')", True),
        ("action . tool == 'Bash'", True),
    ],
)
def test_condition_reads_each_variable(text: str, holds: bool) -> None:
    """Every variable of the table is used in a row."""
    assert CelCondition(text)(ACTION, make_context()) is holds


def test_condition_rows_cover_every_variable() -> None:
    """A new variable needs a row above."""
    texts = " ".join(
        mark.args[1][i][0] for mark in test_condition_reads_each_variable.pytestmark for i in range(len(mark.args[1]))
    )  # type: ignore[attr-defined]

    assert [name for name in VARIABLES if name not in texts] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("risk >", r"expected a CEL condition, found `risk >`: Syntax error.*\(column 7\)"),
        ("action.tol == 'x'", r"expected a known name, found `action.tol` \(did you mean `action.tool`\?\)"),
        ("rsk > 0.5", r"did you mean `risk`\?"),
        ("risk > 1", r"write the number with a point, as in `1.0`"),
        ("risk + 'a'", "no matching overload"),
        (
            "effects.exists(e, e.clas == 'x')",
            r"expected a known field of an effect or target in .*, found `clas` \(did you mean `class`\?\)",
        ),
        ("effects.all(e, e.targets.all(t, t.zoen == 'x'))", r"found `zoen` \(did you mean `zone`\?\)"),
        ("risk", "expected a condition that is true or false, found `risk`, which is double"),
        ("action.payload.x", "expected a condition that is true or false, .* which is dyn"),
        ("'\udc80' == ''", "expected a CEL condition"),
        ("true" + " && true" * 1_000, "expected a condition of at most 4000 characters"),
        ("(" * 1_900 + "true" + ")" * 1_900, "expected a CEL condition"),
    ],
)
def test_condition_with_a_mistake_is_refused_at_load(text: str, message: str) -> None:
    """Syntax, names and types are checked before the first action."""
    with pytest.raises(PolicyError, match=message):
        CelCondition(text)


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("action.payload.missing == 1", {}),
        ("1 / session.block_count == 1", {}),
        ("action.payload.x > 3", {"x": "text"}),
        ("has(action.payload.x)", {"x": object()}),
    ],
)
def test_condition_that_cannot_be_evaluated_raises(text: str, payload: Any) -> None:
    """The caller turns the exception into a block."""
    action = Action(kind=ActionKind.OTHER, payload=payload)

    with pytest.raises(ValueError):
        CelCondition(text)(action, make_context(action))


def test_condition_accepts_any_payload() -> None:
    """Lone surrogates, huge numbers and wrong shapes are data; too deep nesting raises."""
    condition = CelCondition("has(action.payload.x)")
    for payload in ({"x": "\udc80"}, {"x": 2**80}, {"x": None, 5: [1.5, True]}):
        action = Action(kind=ActionKind.OTHER, payload=payload)  # type: ignore[arg-type]
        assert condition(action, make_context(action)) is True
    action = Action(kind=ActionKind.OTHER, payload=[1])  # type: ignore[arg-type]
    assert condition(action, make_context(action)) is False
    deep: Any = 1
    for _ in range(1_000):
        deep = {"x": deep}
    action = Action(kind=ActionKind.OTHER, payload=deep)
    with pytest.raises(ValueError, match="at most 32 levels"):
        condition(action, make_context(action))
