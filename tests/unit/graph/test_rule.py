"""Rules: what they match, what they say, what cannot be built."""

from typing import Any

import pytest

from tests.fakes import FakeWorld
from tests.graphs import Says
from verdikt.engine import PolicyEngine
from verdikt.errors import PolicyError
from verdikt.graph.combinator import Escalate
from verdikt.graph.context import GovernanceContext
from verdikt.graph.rule import Rule, RuleSet
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Certainty, Effect, EffectClass, Effects, Target, Zone
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.verdict import Verdict, VerdictKind

BASH = Action(
    kind=ActionKind.BASH, tool="Bash", payload={"command": "git push origin main"}, host="claude", agent="dev"
)
WRITE = Action(
    kind=ActionKind.WRITE, tool="Edit", payload={"file_path": "/a/b", "edits": [{"new": "x"}, {"new": "DROP TABLE t"}]}
)
SSH = Target("~/.ssh/id", path="/home/dev/.ssh/id", zone=Zone.SECRET, state="untracked")
TEMP = Target("/tmp/x", path="/tmp/x", zone=Zone.TEMP)
SOURCE = Target("src/a.py", path="/home/dev/project/src/a.py", zone=Zone.PROJECT, state="tracked")
HOST = Target("api.example.com", kind="host")


def delete(*targets: Target, **more: Any) -> Effect:
    return Effect(cls=EffectClass.DESTRUCTIVE, what="fs.delete.tree", targets=targets, by="rm -r", **more)


def rule(**conditions: Any) -> Rule:
    return Rule.from_data({"name": "r", "verdict": "block", "reason": "no", "fix": "stop", **conditions})


def verdict(rule: Rule, action: Action = BASH, *effects: Effect, posture: Posture = Posture.INTERACTIVE) -> Verdict:
    context = GovernanceContext(action=action, effects=Effects(effects), facts=Facts(FakeWorld()), posture=posture)
    return RuleSet(rule).evaluate(action, context)


@pytest.mark.parametrize(
    ("conditions", "action", "effects", "fires"),
    [
        ({"kind": ["bash", "write"]}, BASH, (), True),
        ({"kind": "read"}, BASH, (), False),
        ({"tool": ["Bash"]}, BASH, (), True),
        ({"tool": ["Ba*"]}, BASH, (), True),
        ({"tool": ["Ba"]}, BASH, (), False),
        ({"tool": ["*"]}, BASH, (), True),
        ({"host": ["claude"]}, BASH, (), True),
        ({"host": ["codex"]}, BASH, (), False),
        ({"agent": ["dev"]}, BASH, (), True),
        ({"posture": ["locked"]}, BASH, (), False),
        ({"posture": ["interactive"]}, BASH, (), True),
        ({"command": "git push"}, BASH, (), True),
        ({"command": ["git pull", "git pu"]}, BASH, (), True),
        ({"command": "push"}, BASH, (), False),
        ({"pattern": r"push\s+origin"}, BASH, (), True),
        ({"pattern": r"^origin"}, BASH, (), False),
        ({"pattern": r"DROP\s+TABLE"}, WRITE, (), False),
        ({"pattern": r"DROP\s+TABLE", "field": ["content", "edits.new"]}, WRITE, (), True),
        ({"equals": {"file_path": "/a/b"}}, WRITE, (), True),
        ({"equals": {"edits.new": "x"}}, WRITE, (), True),
        ({"equals": {"file_path": "/a/c"}}, WRITE, (), False),
        ({"equals": {"file_path": "/a/b", "nothing": 1}}, WRITE, (), False),
        ({"effect": ["fs.delete"]}, BASH, (delete(SSH),), True),
        ({"effect": ["fs.del"]}, BASH, (delete(SSH),), False),
        ({"effect": ["fs.delete"]}, BASH, (), False),
        ({"class": ["destructive"]}, BASH, (delete(),), True),
        ({"class": ["read"]}, BASH, (delete(),), False),
        ({"certainty": "possible"}, BASH, (delete(),), False),
        ({"certainty": "possible"}, BASH, (delete(certainty=Certainty.POSSIBLE),), True),
        ({"recoverable": False}, BASH, (delete(),), False),
        ({"recoverable": False}, BASH, (delete(recoverable=False),), True),
        ({"zone": ["secret"]}, BASH, (delete(TEMP, SSH),), True),
        ({"zone": ["secret"], "state": ["tracked"]}, BASH, (delete(SSH, SOURCE),), False),
        ({"zone": ["home"]}, BASH, (delete(),), False),
        ({"target_kind": ["host"]}, BASH, (delete(SSH),), False),
        ({"effect": "fs.delete", "recoverable": False}, BASH, (delete(recoverable=True), Effect(cls=EffectClass.WRITE, what="fs.write", recoverable=False)), False),
        ({"target": ["~/.ssh/**"]}, BASH, (delete(SSH),), True),
        ({"target": ["/home/dev/.ssh/*"]}, BASH, (delete(SSH),), True),
        ({"target": ["src/**"]}, BASH, (delete(SOURCE),), True),
        ({"target": ["./src/a.py"]}, BASH, (delete(SOURCE),), True),
        ({"target": ["*.py"]}, BASH, (delete(SOURCE),), True),
        ({"target": ["**/src/*.py"]}, BASH, (delete(SOURCE),), True),
        ({"target": ["lib/**"]}, BASH, (delete(SOURCE),), False),
        ({"target": ["*.example.com"]}, BASH, (delete(HOST),), True),
    ],
)  # fmt: skip
def test_a_rule_fires_when_all_its_conditions_hold(
    conditions: dict[str, Any], action: Action, effects: tuple[Effect, ...], fires: bool
) -> None:
    """Each condition by itself, and two that must hold for the same effect or target."""
    assert (verdict(rule(**conditions), action, *effects).kind is VerdictKind.BLOCK) is fires


@pytest.mark.parametrize(
    ("conditions", "effects", "fires"),
    [
        ({"effect": "fs.delete", "unless": {"zone": ["temp"]}}, (delete(TEMP),), False),
        ({"effect": "fs.delete", "unless": {"zone": ["temp"]}}, (delete(TEMP, SSH),), True),
        ({"effect": "fs.delete", "unless": {"zone": ["temp"]}}, (delete(),), True),
        ({"effect": "fs.delete", "unless": {"zone": ["temp"]}}, (delete(TEMP), delete(SSH)), True),
        ({"zone": ["secret"], "unless": {"posture": ["interactive"]}}, (delete(SSH),), False),
        ({"zone": ["secret"], "unless": {"posture": ["locked"]}}, (delete(SSH),), True),
        ({"kind": "bash", "unless": {"command": "git push"}}, (), False),
        ({"kind": "bash", "unless": {"command": "git pull"}}, (), True),
        ({"kind": "bash", "unless": {"class": ["read"]}}, (Effect(cls=EffectClass.READ, what="fs.read"),), False),
        ({"kind": "bash", "unless": {"class": ["read"]}}, (Effect(cls=EffectClass.READ, what="fs.read"), delete()), True),
        ({"kind": "bash", "unless": {"class": ["read"]}}, (), True),
        ({"kind": "bash", "unless": {"class": ["destructive"], "command": "git pull"}}, (delete(),), True),
    ],
)  # fmt: skip
def test_unless_excuses_one_effect_and_target_at_a_time(
    conditions: dict[str, Any], effects: tuple[Effect, ...], fires: bool
) -> None:
    """A harmless target beside a harmful one excuses nothing."""
    assert (verdict(rule(**conditions), BASH, *effects).kind is VerdictKind.BLOCK) is fires


def test_true_is_not_one() -> None:
    """Equality is that of JSON."""
    action = Action(kind=ActionKind.MCP, payload={"force": True, "count": 1})

    assert verdict(rule(equals={"force": True}), action).kind is VerdictKind.BLOCK
    assert verdict(rule(equals={"force": 1}), action).passed
    assert verdict(rule(equals={"count": True}), action).passed
    assert verdict(rule(equals={"count": 1.0}), action).kind is VerdictKind.BLOCK


def test_placeholders_are_filled_from_the_match() -> None:
    """The message names the target that matched, not the first one."""
    filled = rule(
        zone=["secret"], reason="{what} by {by}: {target} = {path} in {zone} {{{tool}}}{note}", fix="leave {target}"
    )

    found = verdict(filled, BASH, delete(TEMP, SSH))

    assert found.reason == "fs.delete.tree by rm -r: ~/.ssh/id = /home/dev/.ssh/id in secret {Bash}"
    assert found.fix == "leave ~/.ssh/id"


def test_placeholders_without_effects_speak_of_the_action() -> None:
    """A rule on the command alone can still say which."""
    found = verdict(rule(kind="bash", reason="{target} {what}", fix="{by}"), BASH)

    assert (found.reason, found.fix) == ("git push origin main bash", "git push origin main")


def test_a_long_target_is_shortened() -> None:
    """A message stays one line."""
    action = Action(kind=ActionKind.BASH, payload={"command": "echo\n" + "x" * 9_000})

    reason = verdict(rule(kind="bash", reason="{target}"), action).reason

    assert len(reason) == 120
    assert "\n" not in reason


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"name": "r", "verdict": "block", "kind": "bash"}, "rule `r` says block: expected a `reason` and a `fix`"),
        ({"name": "r", "verdict": "warn", "kind": "bash"}, "rule `r` says warn: expected a `reason`"),
        ({"name": "r", "verdict": "pass"}, "rule `r` needs at least one condition"),
        ({"name": "", "verdict": "pass", "kind": "bash"}, "a rule needs a `name`"),
        ({"name": "r", "verdict": "deny", "kind": "bash"}, "expected a verdict of pass, warn, ask, block, found `deny`"),
        ({"name": "r", "verdict": "pass", "kind": "shell"}, "`kind`: expected one of read, write, bash, .*, found `shell`"),
        ({"name": "r", "verdict": "pass", "kind": "bash", "unless": {}}, "`unless` of rule `r` needs at least one condition"),
        ({"name": "r", "verdict": "pass", "kind": "bash", "colour": 1}, "rule `r` has no key `colour`"),
        ({"name": "r", "verdict": "pass", "pattern": "a(?=b)"}, r"expected a re2 pattern, found `a\(\?=b\)`"),
        ({"name": "r", "verdict": "pass", "kind": "bash", "field": "x"}, "expected a `pattern` beside it"),
        ({"name": "r", "verdict": "warn", "kind": "bash", "reason": "{user}"}, "expected a placeholder among {target}, .*found `{user}`"),
        ({"name": "r", "verdict": "warn", "kind": "bash", "reason": "{target.text}"}, "found `{target.text}`"),
        ({"name": "r", "verdict": "warn", "kind": "bash", "reason": "{"}, "expected balanced braces"),
        ({"name": "r", "verdict": "warn", "kind": "bash", "reason": "no", "red_line": True}, "expected `verdict: block`, found warn"),
    ],
)  # fmt: skip
def test_a_wrong_rule_cannot_be_built(data: dict[str, Any], message: str) -> None:
    """Each fault says what was expected."""
    with pytest.raises(PolicyError, match=message):
        Rule.from_data(data)


def test_a_rule_set_without_rules_cannot_be_built() -> None:
    """It would pass everything."""
    with pytest.raises(PolicyError, match="needs at least one rule"):
        RuleSet()


def test_the_strictest_rule_decides_and_the_first_of_equals() -> None:
    """As under `All`."""
    rules = RuleSet(
        Rule.from_data({"name": "warns", "kind": "bash", "verdict": "warn", "reason": "hm"}),
        Rule.from_data(
            {"name": "first", "command": "git", "verdict": "block", "reason": "1", "fix": "1", "red_line": True}
        ),
        Rule.from_data({"name": "second", "pattern": "push", "verdict": "block", "reason": "2", "fix": "2"}),
        Rule.from_data({"name": "silent", "kind": "read", "verdict": "block", "reason": "3", "fix": "3"}),
    )
    context = GovernanceContext(action=BASH)

    found = rules.evaluate(BASH, context)

    assert (found.guard, found.red_line) == ("first", True)
    assert [verdict.guard for verdict in context.verdicts] == ["warns", "first", "second"]
    assert [(entry.node, entry.depth) for entry in context.trace] == [
        ("rules", 0),
        ("warns", 1),
        ("first", 1),
        ("second", 1),
    ]


@pytest.mark.parametrize(
    "conditions",
    [
        {"kind": "bash"},
        {"tool": "Bash"},
        {"tool": "Ba*"},
        {"host": "claude"},
        {"agent": "dev"},
        {"effect": "fs.delete"},
        {"class": "destructive"},
        {"zone": "temp"},
        {"target": "/tmp/**"},
        {"command": "git"},
        {"equals": {"command": "git push origin main"}},
        {"pattern": "push"},
        {"posture": "interactive"},
    ],
    ids=str,
)
def test_a_rule_that_cannot_be_looked_up_hides_none_after_it(conditions: dict[str, Any]) -> None:
    """Wherever the next is filed."""
    rules = RuleSet(rule(name="tried", certainty="possible"), rule(name="found", **conditions))
    effects = Effects((delete(TEMP),))
    context = GovernanceContext(action=BASH, effects=effects, facts=Facts(FakeWorld()), posture=Posture.INTERACTIVE)

    assert rules.evaluate(BASH, context).guard == "found"


def test_a_condition_that_raises_blocks() -> None:
    """A crash never becomes permission."""

    def broken(action: Action, ctx: GovernanceContext) -> bool:
        raise KeyError("missing")

    found = verdict(Rule.from_data({"name": "r", "if": broken, "verdict": "warn", "reason": "hm"}))

    assert (found.kind, found.error) == (VerdictKind.BLOCK, True)
    assert "KeyError" in found.reason


@pytest.mark.parametrize(
    "payload", [None, [], "text", 5, {"command": 5}, {"command": "\udc80\x00" * 10}, {"command": ["a"]}]
)
def test_a_payload_of_any_shape_gets_a_verdict(payload: Any) -> None:
    """Wrong shapes match nothing and raise nothing."""
    action = Action(kind=ActionKind.BASH, payload=payload)
    rules = RuleSet(rule(pattern="x"), rule(equals={"a.b": 1}), rule(command="x"), rule(pattern="y", field="a.b"))

    assert rules.evaluate(action, GovernanceContext(action=action)).kind is VerdictKind.PASS


def test_a_red_line_behind_another_block_stays_a_red_line() -> None:
    """A rule set is `All` over its rules: `Escalate` cannot get past any of them."""
    block = {"tool": "Bash", "verdict": "block", "reason": "no", "fix": "do not"}
    rules = RuleSet(
        Rule.from_data({**block, "name": "one"}), Rule.from_data({**block, "name": "two", "red_line": True})
    )
    result = PolicyEngine(Escalate(rules, Says("pass"))).evaluate(Action(kind=ActionKind.BASH, tool="Bash"))

    assert (result.verdict.guard, result.verdict.red_line) == ("one", True)
    assert [(entry.depth, entry.node) for entry in result.trace] == [
        (0, "escalate"),
        (1, "rules"),
        (2, "one"),
        (2, "two"),
    ]
