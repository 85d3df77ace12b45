"""The three shipped profiles: each is at least as strict as the one before, and explains itself."""

import re

import pytest

from tests.unit.effects.test_cases import decide, load_cases, load_policy
from verdikt.graph.rule import Rule, RuleSet
from verdikt.model.verdict import VerdictKind
from verdikt.policy import parse_policy

PROFILES = ("relaxed", "standard", "strict")


def list_rules(profile: str) -> dict[str, Rule]:
    """Return the rules of a profile by name."""
    return {rule.name: rule for node in load_policy(profile).nodes if isinstance(node, RuleSet) for rule in node.rules}


def test_profile_is_at_least_as_strict_as_the_one_before() -> None:
    """On every case, relaxed ≤ standard ≤ strict."""
    loosened = []
    for _, case in load_cases():
        verdicts = [decide({**case, "profile": profile})[1].kind for profile in PROFILES]
        if verdicts != sorted(verdicts):
            loosened.append((case["name"], [kind.word for kind in verdicts]))

    assert loosened == []


@pytest.mark.parametrize("profile", PROFILES)
def test_profile_keeps_every_red_line(profile: str) -> None:
    """Verdikt guards itself under every profile."""
    red = {name for name, rule in list_rules("standard").items() if rule.red_line}

    assert "guard_tamper" in red
    assert {name for name, rule in list_rules(profile).items() if rule.red_line} == red


@pytest.mark.parametrize("profile", PROFILES)
def test_tampering_is_blocked_under_every_profile(profile: str) -> None:
    """Every attempt on the guard that `standard` blocks is blocked under the others too."""
    attempts = [
        case for file, case in load_cases() if file == "guard" and str(case.get("guard", "")).startswith("guard_")
    ]
    let_through = [
        case["name"]
        for case in attempts
        if case["verdict"] == "block" and decide({**case, "profile": profile})[1].kind is not VerdictKind.BLOCK
    ]

    assert attempts
    assert let_through == []


@pytest.mark.parametrize("profile", PROFILES)
def test_refusing_rule_has_a_reason_and_a_fix(profile: str) -> None:
    """Both are given, differ from each other, and end without a full stop."""
    for rule in list_rules(profile).values():
        if rule.verdict >= VerdictKind.ASK:
            assert rule.reason and rule.fix and rule.reason != rule.fix, rule.name
            assert not rule.reason.endswith(".") and not rule.fix.endswith("."), rule.name


def test_profiles_build_on_each_other() -> None:
    """`relaxed` has a part of the rules of `standard`; `strict` has all its blocking rules and more."""
    blocks = {name for name, rule in list_rules("standard").items() if rule.verdict is VerdictKind.BLOCK}

    assert set(list_rules("relaxed")) < set(list_rules("standard"))
    assert blocks < set(list_rules("strict"))


def test_inherited_rule_can_be_disabled() -> None:
    """A policy based on `strict` can disable rules that `strict` takes from `standard`, besides its own."""
    policy = parse_policy("profile: strict\ndisable: [escalate, strict_network]")

    names = {rule.name for node in policy.nodes if isinstance(node, RuleSet) for rule in node.rules}
    assert names == set(list_rules("strict")) - {"escalate", "strict_network"}


def test_profiles_have_different_digests() -> None:
    """The digest of a profile covers the rules that it inherits."""
    assert len({load_policy(profile).digest for profile in PROFILES}) == 3


@pytest.mark.parametrize("profile", ["standard", "strict"])
def test_reason_of_a_rule_about_several_effects_says_which_one(profile: str) -> None:
    """A reason that lists all that a rule is about leaves the reader to guess; lists of nouns are fine."""
    union = re.compile(r"\b(?:\w+s, )?\w+s,? or \w+s\b")
    rules = [rule for rule in parse_policy(f"profile: {profile}").rules if len(rule.when.effect) > 1]

    assert len(rules) > 15
    assert [rule.name for rule in rules if "{does}" not in rule.reason and union.search(rule.reason)] == []
