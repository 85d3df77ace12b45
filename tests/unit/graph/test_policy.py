"""Layers: a lower one can tighten a higher one, and cannot loosen it."""

import pytest

from tests.fakes import FakeWorld
from tests.policies import make_policy
from verdikt.engine import PolicyEngine
from verdikt.graph.context import GovernanceContext
from verdikt.graph.policy import Policy
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Certainty, Effect, EffectClass, Effects, Target, Zone
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.verdict import Verdict, VerdictKind

BASH = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "rm x"})
DELETE = Effect(cls=EffectClass.DESTRUCTIVE, what="fs.delete", targets=(Target("x", path="/home/dev/project/x"),))
INSIDE = Target("x", path="/home/dev/project/x", zone=Zone.PROJECT)
OUTSIDE = Target("y", path="/etc/y", zone=Zone.SYSTEM)
UNKNOWN = Effect(cls=EffectClass.EXECUTE, what="unknown.tool")


def evaluate_policy(policy: Policy, *effects: Effect) -> Verdict:
    """Return the policy's verdict on a command with these effects."""
    return PolicyEngine(policy.root).evaluate(BASH, effects=Effects(effects), facts=Facts(FakeWorld())).verdict


def test_policy_without_a_profile_uses_the_standard_one() -> None:
    """A forgotten line leaves no one unprotected."""
    policy = make_policy(file="rules: [{name: r, kind: read, verdict: warn, reason: hm}]")

    assert evaluate_policy(policy, DELETE).guard == "no_delete"
    assert [(layer.name, layer.profile) for layer in policy.layers] == [("file", "standard")]
    assert evaluate_policy(make_policy()).kind is VerdictKind.PASS


def test_default_profile_is_that_of_the_highest_layer() -> None:
    """A project cannot remove the profile of a user's policy that names none."""
    rule = "rules: [{name: r, kind: read, verdict: warn, reason: hm}]"

    assert evaluate_policy(make_policy(user=rule, project="profile: none"), DELETE).guard == "no_delete"
    assert evaluate_policy(make_policy(user=rule + "\nprofile: relaxed", project=rule), DELETE).passed
    assert evaluate_policy(make_policy(project="profile: relaxed"), DELETE).passed


def test_disable_removes_rules_of_the_own_profile() -> None:
    """Leaving rules out is a choice of profile and loosens no other layer."""
    assert evaluate_policy(make_policy(file="profile: standard\ndisable: [no_delete]"), DELETE).passed


@pytest.mark.parametrize(
    "lower",
    [
        "profile: relaxed",
        "profile: none",
        "profile: standard\ndisable: [no_delete]",
        "profile: relaxed\nrules: [{name: no_delete, effect: fs.delete, verdict: pass}]",
        "profile: none\nany: [{rules: [{name: no_delete, effect: fs.delete, verdict: pass}]}]",
        "unknown_tools: pass",
        "posture: interactive",
        "evidence: {mode: 'off'}",
    ],
)
def test_lower_layer_cannot_loosen_a_higher_one(lower: str) -> None:
    """What the user's layer asks about, it asks about under every project's policy."""
    policy = make_policy(
        user="profile: standard\nunknown_tools: ask\nposture: autonomous\nevidence: {mode: shadow}", project=lower
    )

    assert (evaluate_policy(policy, DELETE).kind, evaluate_policy(policy, DELETE).guard) == (
        VerdictKind.ASK,
        "no_delete",
    )
    assert evaluate_policy(policy, UNKNOWN).kind is VerdictKind.ASK
    assert policy.posture is Posture.AUTONOMOUS
    assert policy.section("evidence") == {"mode": "shadow"}


def test_lower_layer_can_tighten() -> None:
    """Rules, profile, unknown tools, posture, sections."""
    policy = make_policy(
        user="profile: relaxed\nposture: interactive\nevidence: {mode: shadow}",
        project="profile: strict\nposture: locked\nunknown_tools: block\nevidence: {mode: enforce}",
    )

    assert evaluate_policy(policy).guard == "no_bash"
    assert policy.posture is Posture.LOCKED
    assert policy.unknown_tools is VerdictKind.BLOCK
    assert policy.section("evidence") == {"mode": "enforce"}
    assert policy.section("councils") is None


def test_unknown_tool_is_an_ask_by_default() -> None:
    """Also where no profile says so."""
    quiet = "profile: none\nguards: [saying]\n"

    assert evaluate_policy(make_policy(file=quiet), UNKNOWN).guard == "unknown_tool"
    assert evaluate_policy(make_policy(file=quiet), UNKNOWN).kind is VerdictKind.ASK
    assert evaluate_policy(make_policy(file=quiet + "unknown_tools: pass"), UNKNOWN).passed
    assert evaluate_policy(make_policy(file=quiet + "unknown_tools: block"), UNKNOWN).kind is VerdictKind.BLOCK


READS = "approve: [{class: read, zone: project}]"


@pytest.mark.parametrize(
    ("layers", "approved"),
    [
        ({"file": READS}, True),
        ({"file": "profile: standard"}, False),
        ({"user": READS}, True),
        ({"user": READS, "project": "profile: relaxed"}, True),
        ({"user": READS, "project": "approve: [{class: read, zone: temp}]"}, False),
        ({"user": READS, "project": "approve: []"}, False),
        ({"user": "profile: standard", "project": READS}, False),
        ({"managed": "profile: standard", "user": READS}, False),
        ({"managed": READS, "user": READS}, True),
        ({"project": READS}, False),
    ],
)
def test_approval_needs_every_higher_layer(layers: dict[str, str], approved: bool) -> None:
    """A project's own file cannot answer in place of the user."""
    effect = Effect(cls=EffectClass.READ, what="fs.read", targets=(INSIDE,))
    ctx = GovernanceContext(action=BASH, effects=Effects((effect,)), facts=Facts(FakeWorld()))

    assert make_policy(**layers).approves_action(BASH, ctx) is approved


@pytest.mark.parametrize(
    ("effects", "approved"),
    [
        ([Effect(cls=EffectClass.READ, what="fs.read", targets=(INSIDE,))], True),
        ([Effect(cls=EffectClass.READ, what="fs.read", targets=(INSIDE, OUTSIDE))], False),
        ([Effect(cls=EffectClass.READ, what="fs.read", targets=(INSIDE,)), DELETE], False),
        ([Effect(cls=EffectClass.READ, what="fs.read", targets=(INSIDE,), certainty=Certainty.POSSIBLE)], False),
        ([Effect(cls=EffectClass.READ, what="fs.read")], False),
        ([], False),
    ],
)
def test_approval_needs_every_effect_and_target(effects: list[Effect], approved: bool) -> None:
    """Every effect and every target must be covered, and certain."""
    ctx = GovernanceContext(action=BASH, effects=Effects(tuple(effects)), facts=Facts(FakeWorld()))

    assert make_policy(user=READS).approves_action(BASH, ctx) is approved


def test_digest_depends_on_the_content_only() -> None:
    """Comments, order of keys and positions do not matter; rules, their order, layers and profiles do."""
    rule_a = "  - {name: a, kind: bash, verdict: warn, reason: x}\n"
    rule_b = "  - {name: b, kind: read, verdict: warn, reason: x}\n"
    rule_a_in_other_words = "  - verdict: warn\n    name: a\n    kind: bash\n    reason: 'x'\n"
    text = f"posture: locked\nrules:\n{rule_a}{rule_b}"
    same = f"# a comment\nrules:\n{rule_a_in_other_words}{rule_b}posture: locked\n"
    other = f"posture: locked\nrules:\n{rule_b}{rule_a}"

    digest = make_policy(file=text).digest

    assert len(digest) == 64
    assert make_policy(file=same).digest == digest
    assert (
        len(
            {
                digest,
                make_policy(file=other).digest,
                make_policy(user=text).digest,
                make_policy(file=text + "profile: strict").digest,
            }
        )
        == 4
    )


def test_adjacent_rule_sets_are_joined() -> None:
    """Profile, rules of every layer and the rule on unknown tools share one index."""
    rules = "rules: [{name: a, kind: bash, verdict: warn, reason: x}]"

    assert [node.name for node in make_policy(managed=rules, user=rules, project=rules).nodes] == ["rules"]


def test_locate_key_finds_the_origin_of_a_setting() -> None:
    """A setting may come from the layer itself or from its profile."""
    layer = make_policy(file="posture: locked\nprofile: standard").layers[0]

    assert layer.locate_key("posture") == "file.yaml:1:1"
    assert layer.locate_key("unknown_tools") == "profiles/standard.yaml:2:1"
