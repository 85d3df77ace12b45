"""The policy file: the graph it builds, and every error with its position."""

import pytest

from tests.policies import SHORT_SECTIONS, make_policy
from verdikt.engine import PolicyEngine
from verdikt.errors import PolicyError
from verdikt.graph.combinator import All, Escalate, Not, Threshold, When
from verdikt.graph.combinator import Any as AnyOf
from verdikt.graph.rule import RuleSet
from verdikt.model.action import Action, ActionKind
from verdikt.model.verdict import VerdictKind

BASH = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "ls"}, task_type="deploy")

GRAPH = """
profile: none
unknown_tools: pass
all:
  - saying
  - saying: {says: pass, name: other, words: [a, b], limit: 5}
  - any:
      - saying: {says: block}
      - saying:
    name: either
  - not: {saying: {says: block}}
    reason: why
    fix: how
  - when:
      if: action.task_type == 'deploy'
      then: {threshold: {at_least: 1, of: [saying, {saying: {says: block}}]}}
      otherwise: saying
  - threshold: {n: 2, of: [saying, saying]}
  - escalate: {primary: {saying: {says: block}}, fallback: saying}
  - rules:
      - {name: r, kind: read, verdict: block, reason: no, fix: stop}
    name: mine
  - use: tests.policies:Saying
    with: {name: custom}
  - all: [saying]
    short_circuit: true
"""


def test_policy_file_builds_the_nested_graph() -> None:
    """Every combinator, guards by name, rules and custom guards."""
    root = make_policy(file=GRAPH).root

    assert isinstance(root, All)
    kinds = [type(child).__name__ for child in root.children]
    assert kinds == [
        "GuardNode",
        "GuardNode",
        "Any",
        "Not",
        "When",
        "Threshold",
        "Escalate",
        "RuleSet",
        "GuardNode",
        "All",
    ]
    _, other, either, negated, when, threshold, escalate, rules, custom, last = root.children
    assert (other.name, custom.name) == ("other", "custom")
    assert other.guard.words == ["a", "b"]  # type: ignore[attr-defined]
    assert isinstance(either, AnyOf) and either.name == "either"
    assert isinstance(negated, Not) and (negated.reason, negated.fix) == ("why", "how")
    assert isinstance(when, When) and isinstance(when.then, Threshold) and when.otherwise is not None
    assert isinstance(threshold, Threshold) and threshold.n == 2
    assert isinstance(escalate, Escalate)
    assert isinstance(rules, RuleSet) and rules.name == "mine"
    assert isinstance(last, All) and last.short_circuit
    assert PolicyEngine(root).evaluate(BASH).passed


def test_short_sections_build_guards() -> None:
    """Each short section is a guard with these settings."""
    policy = make_policy(file=SHORT_SECTIONS)

    assert [node.name for node in policy.nodes] == ["bash_safety", "file_boundary", "rules"]
    assert policy.nodes[1].guard.dirs == ["src", "tests", "docs"]  # type: ignore[attr-defined]
    assert [(layer.name, layer.profile) for layer in policy.layers] == [("file", "standard")]
    assert PolicyEngine(policy.root).evaluate(BASH).verdict.guard == "bash_safety"


def test_top_level_nodes_must_all_pass() -> None:
    """They are evaluated in the order in which they are written."""
    policy = make_policy(
        file="""
profile: none
guards: [saying, {saying: {name: second}}]
any: [saying]
rules: [{name: r, kind: bash, verdict: warn, reason: "{tool}"}]
"""
    )

    assert [node.name for node in policy.nodes] == ["saying", "second", "any", "rules"]
    assert PolicyEngine(policy.root).evaluate(BASH).verdict.kind is VerdictKind.WARN


def test_rule_condition_is_compiled() -> None:
    """A condition that fails at evaluation blocks."""
    policy = make_policy(file="rules: [{name: r, if: action.payload.missing == 1, verdict: warn, reason: hm}]")

    verdict = PolicyEngine(policy.root).evaluate(BASH).verdict

    assert (verdict.kind, verdict.guard, verdict.error) == (VerdictKind.BLOCK, "r", True)


FAULTS = [
    ("rulez: []", "1:1: expected a known key, found `rulez` (did you mean `rules`?)"),
    ("- a", "1:1: expected a policy: a mapping with version, profile, "),
    ("profile: strikt", "1:10: `profile`: expected one of relaxed, standard, strict, none, found `strikt` (did you mean `strict`?)"),
    ("version: 2", "1:10: `version`: expected 1, the only version there is, found `2`"),
    ("posture: asleep", "1:10: `posture`: expected one of interactive, autonomous, dry_run, locked, found `asleep`"),
    ("unknown_tools: deny", "1:16: `unknown_tools`: expected one of pass, warn, ask, block, found `deny`"),
    ("rules: {}", "1:8: `rules`: expected a list of rules, found an empty mapping"),
    ("rules: []", "1:8: `rules`: expected at least one rule, found an empty list"),
    ("rules: [{name: r, verdict: block, kind: bash}]", "1:9: rule `r` says block: expected a `reason` and a `fix`"),
    ("rules: [{verdict: pass, kind: bash}]", "1:9: expected the key `name` (what the verdict calls the rule), found only `verdict`, `kind`"),
    ("rules: [{name: r, verdict: pass, knd: bash}]", "1:34: expected a known key, found `knd` (did you mean `kind`?)"),
    ("rules: [{name: r, verdict: pass, kind: bsh}]", "1:40: `kind`: expected one of read, write, bash, "),
    ("rules: [{name: r, verdict: pass, kind: [bash, 5]}]", "1:47: `kind`: expected one of read, "),
    ("rules: [{name: r, verdict: pass, pattern: ['a', '(']}]", "1:49: expected a re2 pattern, found `(`: missing ): ("),
    ("rules: [{name: r, verdict: pass, effect: fs.delte}]", "1:42: expected a known effect, found `fs.delte` (did you mean `fs.delete`?)"),
    ("rules: [{name: r, verdict: pass, recoverable: no}]", "1:47: `recoverable`: expected `true` or `false`, found `no`"),
    ("rules: [{name: r, verdict: pass, equals: x}]", "1:42: `equals`: expected payload fields and their values"),
    ("rules: [{name: r, verdict: pass, if: risk}]", "1:38: expected a condition that is true or false"),
    ("rules: [{name: r, verdict: pass, kind: bash, unless: {zoen: temp}}]", "1:55: expected a known key, found `zoen` (did you mean `zone`?)"),
    ("rules: [{name: r, verdict: pass, kind: bash, unless: 5}]", "1:54: `unless`: expected a mapping of conditions, found `5`"),
    ("rules: [{name: r, verdict: warn, kind: bash, reason: '{who}'}]", "1:54: expected a placeholder among {target}"),
    ("rules: [{name: r, verdict: pass, kind: bash}, {name: r, verdict: pass, kind: read}]", "1:47: expected each rule name once, found `r` again (first at p.yaml:1:9)"),
    ("guards: [sayin]", "1:10: expected a known guard, found `sayin` (did you mean `saying`?)"),
    ("guards: [{sayin: {}}]", "1:11: expected a known guard or combinator, found `sayin` (did you mean `saying`?)"),
    ("guards: [{saying: {sayz: pass}}]", "1:20: expected a known key, found `sayz` (did you mean `says`?)"),
    ("guards: [{saying: {limit: many}}]", "1:27: `limit`: expected a whole number, found `many`"),
    ("guards: [{saying: {limit: -1}}]", "1:19: expected settings that the guard takes, found: expected a limit of 0 or more, found -1"),
    ("guards: [{saying: {words: 5}}]", "1:27: `words`: expected a text, found `5`"),
    ("guards: [{all: [saying], any: [saying]}]", "1:10: expected one of `all`, `any` in this node, found 2"),
    ("guards: [5]", "1:10: `guards`: expected a guard's name or one of all, any, not, when, threshold, escalate, rules, use, found `5`"),
    ("all: []", "1:6: `all`: expected at least one child, found an empty list"),
    ("all: [saying]\nany: [{all: [saying], shortcircuit: true}]", "2:23: expected a known key, found `shortcircuit` (did you mean `short_circuit`?)"),
    ("not: []", "1:6: `not`: expected a guard's name or one of "),
    ("when: {if: 'true'}", "1:7: `when`: expected the key `then`, found none"),
    ("when: {if: 'x == 1', then: saying}", "1:12: expected a CEL condition, found `x == 1`: expected a known name, found `x`"),
    ("when: {if: 'true', then: saying, othrwise: saying}", "1:34: expected a known key, found `othrwise` (did you mean `otherwise`?)"),
    ("threshold: {at_least: 3, of: [saying, saying]}", "1:12: `threshold` needs n from 1 to 2, the number of its children, found `3`"),
    ("threshold: {of: [saying]}", "1:12: `threshold`: expected the key `at_least` (or `n`) once, found neither"),
    ("threshold: {n: 1, at_least: 1, of: [saying]}", "1:12: `threshold`: expected the key `at_least` (or `n`) once, found both"),
    ("escalate: {primary: saying}", "1:11: `escalate`: expected the key `fallback`, found none"),
    ("guards: [{use: nowhere.at_all:Guard}]", "1:16: expected a guard at `nowhere.at_all:Guard`, found ModuleNotFoundError: "),
    ("guards: [{use: 'tests.policies:Sayin'}]", "1:16: expected a guard at `tests.policies:Sayin`, found ImportError: `tests.policies` has no `Sayin` (did you mean `Saying`?)"),
    ("guards: [{use: 'os:system', with: {command: 'true'}}]", "1:16: expected a guard class with `check` at `os:system`, found `builtin_function_or_method`"),
    ("guards: [{use: '../x.py'}]", "1:16: `use`: expected an import path, as in `mypkg.guards:RateLimit`, found `../x.py`"),
    ("guards: [{use: 'tests.policies:Saying', with: {sayz: 1}}]", "1:48: expected a known key, found `sayz` (did you mean `says`?)"),
    ("boundaries: {allowed: [src]}", "1:14: expected a known key, found `allowed` (did you mean `allowed_dirs`?)"),
    ("approve: [{zone: project}]", "1:11: `approve`: expected `class` or `effect`, so that it says what is approved, found neither"),
    ("approve: [{class: raed}]", "1:19: `class`: expected one of read, "),
    ("profile: standard\ndisable: [no_delet]", "2:11: expected a known rule of the profile `standard`, found `no_delet` (did you mean `no_delete`?)"),
    ("profile: standard\ndisable: no_guard", "2:10: `disable`: expected a rule that can be disabled, found the red line `no_guard`"),
    ("profile: none\ndisable: [no_delete]", "2:1: `disable`: expected a `profile` whose rules it leaves out, found none"),
    ("evidence: {mode: on}", "1:18: `mode`: expected one of off, shadow, enforce, found `on`"),
    ("evidence: {}", "1:11: expected the key `mode` (how strict), found none"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_policy_file_error_has_position_and_expectation(text: str, message: str) -> None:
    """File, line, column, expected, found, and the nearest valid name."""
    with pytest.raises(PolicyError) as caught:
        make_policy(p=text)

    assert len(caught.value.faults) == 1
    assert str(caught.value).startswith("p.yaml:" + message if message[0].isdigit() else "p.yaml: " + message)


def test_errors_of_all_files_are_reported_at_once() -> None:
    """Each error has a message of its own."""
    with pytest.raises(PolicyError) as caught:
        make_policy(
            user="rulez: 1\nposture: x", project="a: [", other="rules: [{name: r, verdict: pass, kind: x, tool: 5}]"
        )

    assert [str(fault).split(": ", 1)[0] for fault in caught.value.faults] == [
        "user.yaml:1:1",
        "user.yaml:2:10",
        "project.yaml:2:1",
        "other.yaml:1:40",
        "other.yaml:1:49",
    ]


def test_custom_guard_whose_constructor_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The constructor is the user's own code and may fail in any way."""

    def raise_error(self: object, **_: object) -> None:
        raise RuntimeError("no disk")

    monkeypatch.setattr("tests.policies.Saying.__init__", raise_error)

    with pytest.raises(PolicyError, match="p.yaml:1:10: expected settings that the guard takes, found: no disk"):
        make_policy(p="guards: [saying]")
