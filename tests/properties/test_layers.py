"""A lower layer never loosens a higher one, whatever either of them contains."""

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeWorld
from tests.policies import make_policy
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
    """Draw the `rules` section of a policy file."""
    rule_texts = [
        f"{{name: r{number}, {draw(CONDITIONS)}, verdict: {draw(VERDICTS)}, reason: because, fix: do not}}"
        for number in range(draw(st.integers(1, 3)))
    ]
    return f"rules: [{', '.join(rule_texts)}]"


@st.composite
def layer_texts(draw: st.DrawFn) -> str:
    """Draw a policy file with some of every setting."""
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
    chosen_lines = [line for line in lines if draw(st.booleans())]
    return "\n".join([*chosen_lines, "guards: [saying]"])


TARGETS = st.builds(
    Target, st.just("x"), path=st.just("/home/dev/project/x"), zone=st.sampled_from([Zone.GUARD, Zone.PROJECT])
)
EFFECTS = st.builds(
    Effect,
    cls=st.sampled_from([EffectClass.READ, EffectClass.DESTRUCTIVE]),
    what=st.sampled_from(["fs.read", "fs.delete", "unknown.tool"]),
    targets=st.tuples(TARGETS),
)


def make_context(effects: list[Effect]) -> GovernanceContext:
    """Return the context of a command with these effects."""
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "rm x"})
    return GovernanceContext(action=action, effects=Effects(tuple(effects)), facts=Facts(FakeWorld()))


def evaluate_kind(policy: Policy, effects: list[Effect]) -> VerdictKind:
    """Return the kind of the policy's verdict on a command with these effects."""
    ctx = make_context(effects)
    return PolicyEngine(policy.root).evaluate(ctx.action, effects=ctx.effects, facts=ctx.facts).verdict.kind


@given(layer_texts(), layer_texts(), layer_texts(), st.lists(EFFECTS, max_size=2))
def test_lower_layer_never_loosens(managed: str, user: str, project: str, effects: list[Effect]) -> None:
    """Verdict, posture, unknown tools, sections and approvals."""
    above, below = make_policy(managed=managed, user=user), make_policy(managed=managed, user=user, project=project)
    ctx = make_context(effects)

    assert (
        evaluate_kind(below, effects)
        >= evaluate_kind(above, effects)
        >= evaluate_kind(make_policy(managed=managed), effects)
    )
    assert strictest_posture(below.posture, above.posture) is below.posture
    assert below.unknown_tools >= above.unknown_tools
    assert above.approves_action(ctx.action, ctx) or not below.approves_action(ctx.action, ctx)
    modes = ["off", "shadow", "enforce"]
    if (mode := above.section("evidence")) is not None:
        assert modes.index(below.section("evidence")["mode"]) >= modes.index(mode["mode"])
