"""The three shipped profiles: each is the next one with more questions, and what is said is said in full."""

import pytest

from tests.unit.effects.test_cases import cases, decide, policy
from verdikt.graph.rule import Rule, RuleSet
from verdikt.model.verdict import VerdictKind
from verdikt.policy import parse_policy

PROFILES = ("relaxed", "standard", "strict")


def rules(profile: str) -> dict[str, Rule]:
    """The rules of a profile by name."""
    return {rule.name: rule for node in policy(profile).nodes if isinstance(node, RuleSet) for rule in node.rules}


def test_each_profile_is_at_least_as_strict_as_the_one_before() -> None:
    """On every case there is."""
    loosened = []
    for _, case in cases():
        verdicts = [decide({**case, "profile": profile})[1].kind for profile in PROFILES]
        if verdicts != sorted(verdicts):
            loosened.append((case["name"], [kind.word for kind in verdicts]))

    assert loosened == []


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_keeps_the_red_lines(profile: str) -> None:
    """verdikt guards itself under every one of them."""
    red = {name for name, rule in rules("standard").items() if rule.red_line}

    assert "guard_tamper" in red
    assert {name for name, rule in rules(profile).items() if rule.red_line} == red


@pytest.mark.parametrize("profile", PROFILES)
def test_no_profile_lets_the_agent_switch_it_off(profile: str) -> None:
    """Each way that `standard` blocks is blocked under the others."""
    attempts = [case for file, case in cases() if file == "guard" and str(case.get("guard", "")).startswith("guard_")]
    let_through = [
        case["name"]
        for case in attempts
        if case["verdict"] == "block" and decide({**case, "profile": profile})[1].kind is not VerdictKind.BLOCK
    ]

    assert attempts
    assert let_through == []


@pytest.mark.parametrize("profile", PROFILES)
def test_a_refusal_says_why_and_what_to_do(profile: str) -> None:
    """In words, without a full stop, and never the same for both."""
    for rule in rules(profile).values():
        if rule.verdict >= VerdictKind.ASK:
            assert rule.reason and rule.fix and rule.reason != rule.fix, rule.name
            assert not rule.reason.endswith(".") and not rule.fix.endswith("."), rule.name


def test_a_profile_may_build_on_another() -> None:
    """`relaxed` is a part of `standard`; `strict` has every block of it and more."""
    blocks = {name for name, rule in rules("standard").items() if rule.verdict is VerdictKind.BLOCK}

    assert set(rules("relaxed")) < set(rules("standard"))
    assert blocks < set(rules("strict"))


def test_a_rule_of_the_profile_below_can_be_left_out() -> None:
    """Whoever builds on `strict` names rules of `standard` as well as its own."""
    chosen = parse_policy("profile: strict\ndisable: [escalate, strict_network]")

    names = {rule.name for node in chosen.nodes if isinstance(node, RuleSet) for rule in node.rules}
    assert names == set(rules("strict")) - {"escalate", "strict_network"}


def test_the_digest_tells_profiles_apart() -> None:
    """What a profile takes from below is part of what it is."""
    assert len({policy(profile).digest for profile in PROFILES}) == 3
