"""Rules: when they fire, what they say, and which cannot be built."""

from typing import Any

import pytest

from tests.fakes import FakeWorld
from tests.graphs import ScriptedGuard
from verdikt.engine import PolicyEngine
from verdikt.errors import PolicyError
from verdikt.graph.combinator import Escalate
from verdikt.graph.context import GovernanceContext
from verdikt.graph.policy_registry import PolicyRegistry
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


def delete_effect(*targets: Target, **more: Any) -> Effect:
    """Return the deletion of a tree."""
    return Effect(cls=EffectClass.DESTRUCTIVE, what="fs.delete.tree", targets=targets, by="rm -r", **more)


def make_rule(meanings: dict[str, str] | None = None, **conditions: Any) -> Rule:
    """Return a blocking rule with these conditions."""
    return Rule.from_data({"name": "r", "verdict": "block", "reason": "no", "fix": "stop", **conditions}, meanings)


def evaluate_rule(
    rule: Rule, action: Action = BASH, *effects: Effect, posture: Posture = Posture.INTERACTIVE
) -> Verdict:
    """Return the rule's verdict on an action with these effects."""
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
        ({"effect": ["fs.delete"]}, BASH, (delete_effect(SSH),), True),
        ({"effect": ["fs.del"]}, BASH, (delete_effect(SSH),), False),
        ({"effect": ["fs.delete"]}, BASH, (), False),
        ({"class": ["destructive"]}, BASH, (delete_effect(),), True),
        ({"class": ["read"]}, BASH, (delete_effect(),), False),
        ({"certainty": "possible"}, BASH, (delete_effect(),), False),
        ({"certainty": "possible"}, BASH, (delete_effect(certainty=Certainty.POSSIBLE),), True),
        ({"recoverable": False}, BASH, (delete_effect(),), False),
        ({"recoverable": False}, BASH, (delete_effect(recoverable=False),), True),
        ({"zone": ["secret"]}, BASH, (delete_effect(TEMP, SSH),), True),
        ({"zone": ["secret"], "state": ["tracked"]}, BASH, (delete_effect(SSH, SOURCE),), False),
        ({"zone": ["home"]}, BASH, (delete_effect(),), False),
        ({"target_kind": ["host"]}, BASH, (delete_effect(SSH),), False),
        ({"effect": "fs.delete", "recoverable": False}, BASH, (delete_effect(recoverable=True), Effect(cls=EffectClass.WRITE, what="fs.write", recoverable=False)), False),
        ({"target": ["~/.ssh/**"]}, BASH, (delete_effect(SSH),), True),
        ({"target": ["/home/dev/.ssh/*"]}, BASH, (delete_effect(SSH),), True),
        ({"target": ["src/**"]}, BASH, (delete_effect(SOURCE),), True),
        ({"target": ["./src/a.py"]}, BASH, (delete_effect(SOURCE),), True),
        ({"target": ["*.py"]}, BASH, (delete_effect(SOURCE),), True),
        ({"target": ["**/src/*.py"]}, BASH, (delete_effect(SOURCE),), True),
        ({"target": ["lib/**"]}, BASH, (delete_effect(SOURCE),), False),
        ({"target": ["*.example.com"]}, BASH, (delete_effect(HOST),), True),
    ],
)  # fmt: skip
def test_rule_fires_when_all_conditions_hold(
    conditions: dict[str, Any], action: Action, effects: tuple[Effect, ...], fires: bool
) -> None:
    """Each condition by itself, and two that must hold for the same effect or target."""
    assert (evaluate_rule(make_rule(**conditions), action, *effects).kind is VerdictKind.BLOCK) is fires


@pytest.mark.parametrize(
    ("conditions", "effects", "fires"),
    [
        ({"effect": "fs.delete", "unless": {"zone": ["temp"]}}, (delete_effect(TEMP),), False),
        ({"effect": "fs.delete", "unless": {"zone": ["temp"]}}, (delete_effect(TEMP, SSH),), True),
        ({"effect": "fs.delete", "unless": {"zone": ["temp"]}}, (delete_effect(),), True),
        ({"effect": "fs.delete", "unless": {"zone": ["temp"]}}, (delete_effect(TEMP), delete_effect(SSH)), True),
        ({"zone": ["secret"], "unless": {"posture": ["interactive"]}}, (delete_effect(SSH),), False),
        ({"zone": ["secret"], "unless": {"posture": ["locked"]}}, (delete_effect(SSH),), True),
        ({"kind": "bash", "unless": {"command": "git push"}}, (), False),
        ({"kind": "bash", "unless": {"command": "git pull"}}, (), True),
        ({"kind": "bash", "unless": {"class": ["read"]}}, (Effect(cls=EffectClass.READ, what="fs.read"),), False),
        ({"kind": "bash", "unless": {"class": ["read"]}}, (Effect(cls=EffectClass.READ, what="fs.read"), delete_effect()), True),
        ({"kind": "bash", "unless": {"class": ["read"]}}, (), True),
        ({"kind": "bash", "unless": {"class": ["destructive"], "command": "git pull"}}, (delete_effect(),), True),
    ],
)  # fmt: skip
def test_unless_exempts_one_effect_and_target_at_a_time(
    conditions: dict[str, Any], effects: tuple[Effect, ...], fires: bool
) -> None:
    """A harmless target does not exempt a harmful one beside it."""
    assert (evaluate_rule(make_rule(**conditions), BASH, *effects).kind is VerdictKind.BLOCK) is fires


def test_equals_distinguishes_true_from_one() -> None:
    """Values are compared as in JSON."""
    action = Action(kind=ActionKind.MCP, payload={"force": True, "count": 1})

    assert evaluate_rule(make_rule(equals={"force": True}), action).kind is VerdictKind.BLOCK
    assert evaluate_rule(make_rule(equals={"force": 1}), action).passed
    assert evaluate_rule(make_rule(equals={"count": True}), action).passed
    assert evaluate_rule(make_rule(equals={"count": 1.0}), action).kind is VerdictKind.BLOCK


def test_placeholders_are_filled_from_the_match() -> None:
    """The message names the target that matched, not the first one."""
    filled = make_rule(
        zone=["secret"], reason="{what} by {by}: {target} = {path} in {zone} {{{tool}}}{note}", fix="leave {target}"
    )

    verdict = evaluate_rule(filled, BASH, delete_effect(TEMP, SSH))

    assert verdict.reason == "fs.delete.tree by rm -r: ~/.ssh/id = /home/dev/.ssh/id in secret {Bash}"
    assert verdict.fix == "leave ~/.ssh/id"


def test_placeholders_without_effects_describe_the_action() -> None:
    """A rule on the command alone can still name the command."""
    verdict = evaluate_rule(make_rule(kind="bash", reason="{target} {what}", fix="{by}"), BASH)

    assert (verdict.reason, verdict.fix) == ("git push origin main bash", "git push origin main")


def test_placeholder_with_a_long_target_is_shortened() -> None:
    """A message stays one line."""
    action = Action(kind=ActionKind.BASH, payload={"command": "echo\n" + "x" * 9_000})

    reason = evaluate_rule(make_rule(kind="bash", reason="{target}"), action).reason

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
def test_rule_with_a_mistake_cannot_be_built(data: dict[str, Any], message: str) -> None:
    """The error says what was expected."""
    with pytest.raises(PolicyError, match=message):
        Rule.from_data(data)


def test_rule_set_without_rules_cannot_be_built() -> None:
    """It would pass everything."""
    with pytest.raises(PolicyError, match="needs at least one rule"):
        RuleSet()


def test_rule_set_strictest_rule_decides_and_the_first_of_equals() -> None:
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

    verdict = rules.evaluate(BASH, context)

    assert (verdict.guard, verdict.red_line) == ("first", True)
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
def test_rule_set_index_failure_hides_no_rule(conditions: dict[str, Any]) -> None:
    """Every rule is evaluated when the index fails."""
    rules = RuleSet(make_rule(name="tried", certainty="possible"), make_rule(name="found", **conditions))
    effects = Effects((delete_effect(TEMP),))
    context = GovernanceContext(action=BASH, effects=effects, facts=Facts(FakeWorld()), posture=Posture.INTERACTIVE)

    assert rules.evaluate(BASH, context).guard == "found"


def test_rule_condition_that_raises_blocks() -> None:
    """A crash never becomes permission."""

    def raise_error(action: Action, ctx: GovernanceContext) -> bool:
        raise KeyError("missing")

    verdict = evaluate_rule(Rule.from_data({"name": "r", "if": raise_error, "verdict": "warn", "reason": "hm"}))

    assert (verdict.kind, verdict.error) == (VerdictKind.BLOCK, True)
    assert "KeyError" in verdict.reason


@pytest.mark.parametrize(
    "payload", [None, [], "text", 5, {"command": 5}, {"command": "\udc80\x00" * 10}, {"command": ["a"]}]
)
def test_rule_set_accepts_a_payload_of_any_shape(payload: Any) -> None:
    """Wrong shapes match nothing and raise nothing."""
    action = Action(kind=ActionKind.BASH, payload=payload)
    rules = RuleSet(
        make_rule(pattern="x"),
        make_rule(equals={"a.b": 1}),
        make_rule(command="x"),
        make_rule(pattern="y", field="a.b"),
    )

    assert rules.evaluate(action, GovernanceContext(action=action)).kind is VerdictKind.PASS


def test_rule_set_red_line_behind_another_block_stays_a_red_line() -> None:
    """A rule set is `All` over its rules: `Escalate` cannot get past any red line."""
    block = {"tool": "Bash", "verdict": "block", "reason": "no", "fix": "do not"}
    rules = RuleSet(
        Rule.from_data({**block, "name": "one"}), Rule.from_data({**block, "name": "two", "red_line": True})
    )
    result = PolicyEngine(Escalate(rules, ScriptedGuard("pass"))).evaluate(Action(kind=ActionKind.BASH, tool="Bash"))

    assert (result.verdict.guard, result.verdict.red_line) == ("one", True)
    assert [(entry.depth, entry.node) for entry in result.trace] == [
        (0, "escalate"),
        (1, "rules"),
        (2, "one"),
        (2, "two"),
    ]


MEANINGS = {
    "fs.delete": "deletes a file",
    "fs.delete.tree": "deletes a directory",
    "fs.read": "reads",
    "db.drop": "drops a table",
}


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("fs.delete.tree", "rm -r deletes a directory"),
        ("fs.delete.tree.deep", "rm -r deletes a directory"),
        ("fs.delete", "rm -r deletes a file"),
        ("fs.delete.odd", "rm -r deletes a file"),
    ],
)
def test_reason_says_what_this_effect_does(what: str, words: str) -> None:
    """`{does}` is the effect that fired, by its name or the nearest name above it, also from the cache of policies."""
    rule = make_rule(effect=["fs.delete", "db.drop"], reason="{by} {does}", meanings=MEANINGS)
    effect = Effect(cls=EffectClass.DESTRUCTIVE, what=what, by="rm -r")
    cached = RuleSet.load(RuleSet(rule).dump()).rules[0]

    assert evaluate_rule(rule, BASH, effect).reason == words
    assert evaluate_rule(cached, BASH, effect).reason == words


def test_catalogue_shows_everything_that_a_rule_can_mean() -> None:
    """Where there is no command yet, `{does}` stands for all effects of the rule, and no others."""
    rule = make_rule(effect=["fs.delete.tree", "db"], reason="{by} {does}", meanings=MEANINGS)

    assert rule.general_reason == "{by} deletes a directory / drops a table"


def test_words_are_not_part_of_what_a_rule_is() -> None:
    """Neither the policy's digest nor a comparison of rules depends on the wording of the catalog."""
    rule = make_rule(effect="fs.delete", reason="{does}")
    worded = make_rule(effect="fs.delete", reason="{does}", meanings=MEANINGS)

    assert worded == rule
    assert worded.dump() == rule.dump()
    assert evaluate_rule(rule, BASH, delete_effect()).reason == "has the effect fs.delete.tree"


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ("fs.delete", {"fs.delete", "fs.delete.tree"}),
        (["fs.delete.tree", "db"], {"fs.delete.tree", "db.drop"}),
        (["db.drop.index"], {"db.drop"}),
        ([], set(MEANINGS)),
        (["net"], set()),
    ],
)
def test_registry_selects_the_words_that_a_rule_can_need(patterns: Any, names: set[str]) -> None:
    """Those of the effects below each pattern, and of the nearest one above it."""
    assert PolicyRegistry(meanings=MEANINGS).select_meanings(patterns).keys() == names
