"""Layers: a lower one can tighten what a higher one says, and cannot loosen it."""

import pytest

from tests.fakes import FakeWorld
from tests.policies import policy
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


def verdict(found: Policy, *effects: Effect) -> Verdict:
    return PolicyEngine(found.root).evaluate(BASH, effects=Effects(effects), facts=Facts(FakeWorld())).verdict


def test_without_a_profile_the_standard_one_is_in_force() -> None:
    """Nobody is unprotected by forgetting a line."""
    found = policy(file="rules: [{name: r, kind: read, verdict: warn, reason: hm}]")

    assert verdict(found, DELETE).guard == "no_delete"
    assert [(layer.name, layer.profile) for layer in found.layers] == [("file", "standard")]
    assert verdict(policy()).kind is VerdictKind.PASS


def test_the_highest_layer_decides_about_the_default_profile() -> None:
    """A project cannot take away what a silent user's policy has."""
    rule = "rules: [{name: r, kind: read, verdict: warn, reason: hm}]"

    assert verdict(policy(user=rule, project="profile: none"), DELETE).guard == "no_delete"
    assert verdict(policy(user=rule + "\nprofile: relaxed", project=rule), DELETE).passed
    assert verdict(policy(project="profile: relaxed"), DELETE).passed


def test_a_layer_can_leave_out_rules_of_its_own_profile() -> None:
    """That is choosing a profile, not loosening a layer."""
    assert verdict(policy(file="profile: standard\ndisable: [no_delete]"), DELETE).passed


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
def test_no_lower_layer_can_loosen_a_higher_one(lower: str) -> None:
    """Whatever the project says, what the user's layer asks, it still asks."""
    found = policy(
        user="profile: standard\nunknown_tools: ask\nposture: autonomous\nevidence: {mode: shadow}", project=lower
    )

    assert (verdict(found, DELETE).kind, verdict(found, DELETE).guard) == (VerdictKind.ASK, "no_delete")
    assert verdict(found, UNKNOWN).kind is VerdictKind.ASK
    assert found.posture is Posture.AUTONOMOUS
    assert found.section("evidence") == {"mode": "shadow"}


def test_a_lower_layer_can_tighten() -> None:
    """Rules, profile, unknown tools, posture, sections."""
    found = policy(
        user="profile: relaxed\nposture: interactive\nevidence: {mode: shadow}",
        project="profile: strict\nposture: locked\nunknown_tools: block\nevidence: {mode: enforce}",
    )

    assert verdict(found).guard == "no_bash"
    assert found.posture is Posture.LOCKED
    assert found.unknown_tools is VerdictKind.BLOCK
    assert found.section("evidence") == {"mode": "enforce"}
    assert found.section("councils") is None


def test_an_unknown_tool_is_asked_about_unless_the_policy_says_otherwise() -> None:
    """Also where no profile says so."""
    quiet = "profile: none\nguards: [saying]\n"

    assert verdict(policy(file=quiet), UNKNOWN).guard == "unknown_tool"
    assert verdict(policy(file=quiet), UNKNOWN).kind is VerdictKind.ASK
    assert verdict(policy(file=quiet + "unknown_tools: pass"), UNKNOWN).passed
    assert verdict(policy(file=quiet + "unknown_tools: block"), UNKNOWN).kind is VerdictKind.BLOCK


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
def test_nothing_is_approved_that_a_higher_layer_does_not_approve(layers: dict[str, str], approved: bool) -> None:
    """And a project's own file cannot answer in the user's place."""
    effect = Effect(cls=EffectClass.READ, what="fs.read", targets=(INSIDE,))
    ctx = GovernanceContext(action=BASH, effects=Effects((effect,)), facts=Facts(FakeWorld()))

    assert policy(**layers).approves_action(BASH, ctx) is approved


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
def test_an_action_is_approved_only_as_a_whole(effects: list[Effect], approved: bool) -> None:
    """Every effect, every target, and only what is certain."""
    ctx = GovernanceContext(action=BASH, effects=Effects(tuple(effects)), facts=Facts(FakeWorld()))

    assert policy(user=READS).approves_action(BASH, ctx) is approved


def test_the_digest_is_that_of_what_the_policy_says() -> None:
    """Comments, order of keys and places do not matter; rules, their order, layers and profiles do."""
    one = "posture: locked\nrules:\n  - {name: a, kind: bash, verdict: warn, reason: x}\n  - {name: b, kind: read, verdict: warn, reason: x}\n"
    same = "# a comment\nrules:\n- verdict: warn\n  name: a\n  kind: bash\n  reason: 'x'\n- {name: b, kind: read, verdict: warn, reason: x}\nposture: locked\n"
    other = "posture: locked\nrules:\n  - {name: b, kind: read, verdict: warn, reason: x}\n  - {name: a, kind: bash, verdict: warn, reason: x}\n"

    digest = policy(file=one).digest

    assert len(digest) == 64
    assert policy(file=same).digest == digest
    assert (
        len({digest, policy(file=other).digest, policy(user=one).digest, policy(file=one + "profile: strict").digest})
        == 4
    )


def test_neighbouring_rules_share_one_index() -> None:
    """Profile, rules of every layer and the rule on unknown tools."""
    rules = "rules: [{name: a, kind: bash, verdict: warn, reason: x}]"

    assert [node.name for node in policy(managed=rules, user=rules, project=rules).nodes] == ["rules"]


def test_where_each_setting_comes_from_is_known() -> None:
    """A setting may come from the layer itself or from its profile."""
    layer = policy(file="posture: locked\nprofile: standard").layers[0]

    assert layer.locate_key("posture") == "file.yaml:1:1"
    assert layer.locate_key("unknown_tools") == "profiles/standard.yaml:2:1"
