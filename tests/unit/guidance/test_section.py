"""The sections `tool_policies`, `feedback` and `completion`: loading, schema and scope."""

import jsonschema
import pytest
import yaml

from verdikt.errors import PolicyError
from verdikt.graph.policy_schema import build_policy_schema
from verdikt.guidance.audience import Audience
from verdikt.guidance.section import CHECKERS, POLICIES, PROVIDERS
from verdikt.policy import get_registry, parse_policy

SCHEMA = jsonschema.Draft202012Validator(build_policy_schema(get_registry()))

GOOD = [
    "tool_policies: [read_before_write, forbidden_sequence]",
    "tool_policies: [{read_before_write: {shell: true, read_tools: [view], mount_point: /w}, tools: [Write]}]",
    (
        "tool_policies: [{sequential_dependency: {dependencies: {a: [b, c], d: e}, reset_by: [edit]}, agents: x,"
        " prompts: [y]}]"
    ),
    (
        "tool_policies: [{rate_limit: {max_calls: 3, per_seconds: 1.5}}, {once: {tool: x, times: 2, key: k,"
        " name: n, fix: f}}]"
    ),
    (
        "tool_policies: [{parameters: {tool: t, schema: {type: object}}}, {forbidden_sequence: {after: [secret],"
        " then: net.send}}]"
    ),
    "feedback: [{static: hi, every_n_calls: 1}, {static: {feedback: hi, name: Me}, every_n_seconds: 0.5}]",
    (
        "feedback: [{deadline: {warning_threshold_seconds: 9}, on_file_created: a}, {budget: , every_n_calls: 2,"
        " agents: [a]}]"
    ),
    (
        "feedback: [{stale_evidence: {commands: [make t]}, every_n_calls: 1}, {blocked_streak: {blocks: 4},"
        " every_n_calls: 1}]"
    ),
    "feedback: [{open_findings: , every_n_calls: 1}, {unproven_claim: , every_n_calls: 1}]",
    "completion: {checks: [{files: a}, {files: [a, b]}, {files: {files: a, fresh: true, schema: {}}}], require: any}",
    (
        "completion: {checks: [{command: x}, {evidence: v}, {evidence: {validator: v, args: {a: 1}}},"
        " {findings: LOW}, findings]}"
    ),
    (
        "completion: {checks: [{any: [{files: a}, {command: b}]}], budget: {calls: 1, cost: 0.5},"
        " deadline_seconds: 9, refusals: 2}"
    ),
    (
        "completion: {checks: [{files: a}], budget: {calls: 0, tasks: 0, tokens: 0, seconds: 0, cost: 0},"
        " deadline_seconds: 1, refusals: 100}"
    ),
]
BAD = [
    "tool_policies: [once]",
    "tool_policies: [{once: {tool: x}, every_n_calls: 3}]",
    "tool_policies: [{rate_limit: {max_calls: many, per_seconds: 1}}]",
    "tool_policies: []",
    "feedback: [{shout: x, every_n_calls: 1}]",
    "feedback: [{static: x, every_n_calls: 0}]",
    "completion: {checks: []}",
    "completion: {checks: [{files: a}], require: some}",
    "completion: {checks: [{files: a}], budget: {money: 1}}",
]


@pytest.mark.parametrize("text", GOOD)
def test_loadable_policies_fit_the_schema(text: str) -> None:
    """The policy's digest covers the section."""
    assert [error.message for error in SCHEMA.iter_errors(yaml.safe_load(text))] == []
    assert parse_policy(text).digest != parse_policy("").digest


@pytest.mark.parametrize("text", BAD)
def test_invalid_policies_do_not_fit_the_schema(text: str) -> None:
    """An editor marks them."""
    assert not SCHEMA.is_valid(yaml.safe_load(text))
    with pytest.raises(PolicyError, match=r"governance\.yaml:1:\d+: "):
        parse_policy(text)


def test_every_kind_has_an_example() -> None:
    """A new kind needs its line here."""
    text = "\n".join(GOOD)

    assert [kind for kind in (*POLICIES, *PROVIDERS, *CHECKERS) if kind not in text] == []


@pytest.mark.parametrize(
    ("audience", "agent", "covered"),
    [
        (Audience(), "anyone", True),
        (Audience(agents=("a",)), "a", True),
        (Audience(agents=("a",)), "", False),
        (Audience(agents=("rev*",)), "reviewer", True),
        (Audience(agents=("rev*",)), "builder", False),
        (Audience(agents=("*",)), "", True),
    ],
)
def test_audience_matches_by_name(audience: Audience, agent: str, covered: bool) -> None:
    """An empty list means all."""
    assert audience.covers(agent=agent) is covered
