"""The index never changes a verdict: a rule set equals `All` over its rules."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeWorld
from verdikt.graph.combinator import All
from verdikt.graph.context import GovernanceContext
from verdikt.graph.glob_index import GlobIndex, has_literal
from verdikt.graph.matcher import fits_glob
from verdikt.graph.prefix_table import PrefixTable
from verdikt.graph.rule import Rule, RuleSet
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Certainty, Effect, EffectClass, Effects, Target, Zone
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.verdict import VerdictKind

WORDS = st.sampled_from(["a", "ab", "abc", "b", "ba", "", "a.b", "ab c"])
VALUES = st.one_of(WORDS, st.booleans(), st.integers(0, 1), st.none())
ZONES = st.sampled_from(list(Zone)[:3])


GLOBS = st.one_of(
    st.sampled_from(
        ["*", "a*", "*b", "/a/**", "b/**", "~", "~/**", "~/a/*", "**/b", "**/*b", "./b/*", "/**/b", "\\a", "?b"]
    ),
    st.text("ab*?/~.\\", min_size=1, max_size=6),
)
PATHS = st.one_of(
    st.sampled_from(
        ["", "/", "/a", "/a/b", "/home/dev", "/home/dev/a/b", "/home/dev/project", "/home/dev/project/b/ab"]
    ),
    st.text("ab/", max_size=4).map(lambda text: f"/home/dev/project/{text}"),
)


def one_or_two(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw a list of one or two values."""
    return st.lists(values, min_size=1, max_size=2)


CONDITIONS = st.fixed_dictionaries(
    {},
    optional={
        "kind": one_or_two(st.sampled_from(["bash", "write"])),
        "tool": one_or_two(st.sampled_from(["a", "ab*", "b", "*", "a*"])),
        "host": one_or_two(WORDS.filter(bool)),
        "agent": one_or_two(WORDS.filter(bool)),
        "posture": one_or_two(st.sampled_from(["interactive", "locked"])),
        "effect": one_or_two(st.sampled_from(["fs", "fs.delete", "net"])),
        "class": one_or_two(st.sampled_from(["read", "destructive"])),
        "certainty": st.sampled_from(["certain", "possible"]),
        "recoverable": st.booleans(),
        "zone": one_or_two(ZONES.map(str)),
        "target": one_or_two(GLOBS),
        "command": one_or_two(WORDS.filter(bool)),
        "equals": st.dictionaries(st.sampled_from(["x", "x.y"]), VALUES, min_size=1, max_size=2),
        "pattern": one_or_two(st.sampled_from(["a", "b+", "^ab", "c$"])),
    },
)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Draw a rule with at least one condition."""
    conditions = draw(CONDITIONS.filter(bool))
    if "pattern" in conditions and draw(st.booleans()):
        conditions["field"] = ["x", "x.y"]
    data = {"name": f"r{draw(st.integers(0, 99))}", "verdict": draw(st.sampled_from(["pass", "warn", "ask", "block"]))}
    unless = draw(st.none() | CONDITIONS.filter(bool))
    more = {} if unless is None else {"unless": unless}
    return Rule.from_data(
        {**conditions, **data, **more, "reason": "{target}", "fix": "fix"} | {"reason": "why {target}"}
    )


TARGETS = st.builds(Target, st.one_of(WORDS, st.text("ab/~.", max_size=4)), path=PATHS, zone=ZONES)
EFFECTS = st.builds(
    Effect,
    cls=st.sampled_from([EffectClass.READ, EffectClass.DESTRUCTIVE]),
    what=st.sampled_from(["fs", "fs.delete", "fs.delete.tree", "net.get"]),
    targets=st.lists(TARGETS, max_size=2).map(tuple),
    certainty=st.sampled_from(list(Certainty)),
    recoverable=st.booleans(),
)
PAYLOADS = st.fixed_dictionaries(
    {}, optional={"command": WORDS, "x": st.one_of(VALUES, st.dictionaries(st.just("y"), VALUES), st.lists(VALUES))}
)
ACTIONS = st.builds(
    Action,
    kind=st.sampled_from([ActionKind.BASH, ActionKind.WRITE]),
    tool=WORDS,
    payload=PAYLOADS,
    host=WORDS,
    agent=WORDS,
)


@given(
    st.lists(rules(), min_size=1, max_size=12),
    ACTIONS,
    st.lists(EFFECTS, max_size=3),
    st.sampled_from([Posture.INTERACTIVE, Posture.LOCKED]),
    st.booleans(),
)
def test_rule_set_equals_all_over_its_rules(
    rules: list[Rule], action: Action, effects: list[Effect], posture: Posture, known: bool
) -> None:
    """The verdict and the list of verdicts that fired are the same, in the same order."""
    context = GovernanceContext(
        action=action, effects=Effects(tuple(effects)), facts=Facts(FakeWorld()) if known else None, posture=posture
    )
    fired = [verdict for rule in rules if (verdict := rule.match_action(action, context)) is not None]
    expected = All(*rules).evaluate(action, replace(context, verdicts=[], trace=[]))

    verdict = RuleSet(*rules).evaluate(action, context)

    assert verdict.kind is expected.kind
    assert verdict == expected or expected.kind is VerdictKind.PASS
    assert context.verdicts == fired


@given(st.lists(st.text("ab", max_size=5), max_size=20), st.text("ab", max_size=8))
def test_prefix_table_finds_exactly_the_prefixes(prefixes: list[str], text: str) -> None:
    """Every prefix of the text is found, and nothing else."""
    numbers_by_prefix: dict[str, list[int]] = {}
    for number, prefix in enumerate(prefixes):
        numbers_by_prefix.setdefault(prefix, []).append(number)

    numbers = PrefixTable(numbers_by_prefix).find_values(text)

    assert sorted(numbers) == [number for number, prefix in enumerate(prefixes) if text.startswith(prefix)]


@given(GLOBS, TARGETS, st.booleans())
def test_glob_index_finds_every_glob_that_fits(glob: str, target: Target, known: bool) -> None:
    """A glob that is missed would hide a rule."""
    facts = Facts(FakeWorld()) if known else None
    context = GovernanceContext(action=Action(kind=ActionKind.BASH), facts=facts)
    candidates: list[int] = []
    GlobIndex({glob: [7]}).collect_candidates(target, context, candidates)

    if fits_glob(glob, target, context) and has_literal(glob):
        assert 7 in candidates
