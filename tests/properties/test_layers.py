"""A lower layer never loosens what a higher one says, whatever either of them contains."""

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeWorld
from tests.policies import policy
from verdikt.engine import PolicyEngine
from verdikt.graph.context import GovernanceContext
from verdikt.graph.policy import Policy
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Effect, EffectClass, Effects, Target, Zone
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.verdict import VerdictKind, strictest_posture

CONDITIONS = st.sampled_from(
    ["kind: bash", "effect: fs.delete", "zone: guard", "class: read", "command: rm", "tool: Bash"]
)
VERDICTS = st.sampled_from(["pass", "warn", "ask", "block"])


@st.composite
def rules(draw: st.DrawFn) -> str:
    found = [
        f"{{name: r{number}, {draw(CONDITIONS)}, verdict: {draw(VERDICTS)}, reason: because, fix: do not}}"
        for number in range(draw(st.integers(1, 3)))
    ]
    return f"rules: [{', '.join(found)}]"


@st.composite
def layers(draw: st.DrawFn) -> str:
    """A policy file with some of everything that can be said in one."""
    lines = [
        "profile: " + draw(st.sampled_from(["none", "relaxed", "standard", "strict"])),
        "posture: " + draw(st.sampled_from(list(Posture))),
        "unknown_tools: " + draw(VERDICTS),
        "evidence: {mode: '" + draw(st.sampled_from(["off", "shadow", "enforce"])) + "'}",
        "approve: "
        + draw(st.sampled_from(["[]", "[{class: read}]", "[{class: read, zone: project}]", "[{effect: fs.delete}]"])),
        "any: [saying, {saying: {says: " + draw(st.sampled_from(["pass", "block"])) + "}}]",
        draw(rules()),
    ]
    kept = [line for line in lines if draw(st.booleans())]
    return "\n".join([*kept, "guards: [saying]"])


TARGETS = st.builds(
    Target, st.just("x"), path=st.just("/home/dev/project/x"), zone=st.sampled_from([Zone.GUARD, Zone.PROJECT])
)
EFFECTS = st.builds(
    Effect,
    cls=st.sampled_from([EffectClass.READ, EffectClass.DESTRUCTIVE]),
    what=st.sampled_from(["fs.read", "fs.delete", "unknown.tool"]),
    targets=st.tuples(TARGETS),
)


def context(effects: list[Effect]) -> GovernanceContext:
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "rm x"})
    return GovernanceContext(action=action, effects=Effects(tuple(effects)), facts=Facts(FakeWorld()))


def kind(found: Policy, effects: list[Effect]) -> VerdictKind:
    ctx = context(effects)
    return PolicyEngine(found.root).evaluate(ctx.action, effects=ctx.effects, facts=ctx.facts).verdict.kind


@given(layers(), layers(), layers(), st.lists(EFFECTS, max_size=2))
def test_a_lower_layer_never_loosens(managed: str, user: str, project: str, effects: list[Effect]) -> None:
    """Verdict, posture, unknown tools, sections and approvals."""
    above, below = policy(managed=managed, user=user), policy(managed=managed, user=user, project=project)
    ctx = context(effects)

    assert kind(below, effects) >= kind(above, effects) >= kind(policy(managed=managed), effects)
    assert strictest_posture(below.posture, above.posture) is below.posture
    assert below.unknown_tools >= above.unknown_tools
    assert above.approves_action(ctx.action, ctx) or not below.approves_action(ctx.action, ctx)
    modes = ["off", "shadow", "enforce"]
    if (mode := above.section("evidence")) is not None:
        assert modes.index(below.section("evidence")["mode"]) >= modes.index(mode["mode"])
