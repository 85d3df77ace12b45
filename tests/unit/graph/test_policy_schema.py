"""The JSON Schema accepts and refuses what the reader accepts and refuses."""

import jsonschema
import pytest

from tests.policies import REGISTRY, make_policy
from tests.unit.graph.test_graph_reader import FAULTS, GRAPH
from verdikt.errors import PolicyError
from verdikt.graph.policy_schema import build_policy_schema
from verdikt.model.yaml_document import parse_document

SCHEMA = jsonschema.Draft202012Validator(build_policy_schema(REGISTRY))

GOOD = [
    GRAPH,
    "",
    "version: 1\nprofile: standard\ndisable: [no_delete]\nposture: locked\nunknown_tools: block",
    "approve: [{class: read, zone: [project, temp]}, {effect: fs.read, certainty: possible}]",
    "boundaries: {allowed_dirs: [src], red_line_files: []}\nbash_safety: {blocked_patterns: [x]}",
    "boundaries:",
    "evidence: {mode: shadow}",
    "when: {if: risk > 0.5, then: saying}",
    """
rules:
  - name: everything
    kind: [bash, write]
    tool: [Bash, mcp__*]
    host: claude
    agent: reviewer
    posture: interactive
    effect: [fs.delete]
    class: destructive
    certainty: certain
    recoverable: false
    target_kind: path
    zone: [home, system]
    state: untracked
    target: ["~/.ssh/**"]
    command: git push
    equals: {a.b: 1}
    pattern: x
    field: content
    if: 'risk > 0.5'
    unless: {zone: temp}
    verdict: block
    reason: "`{target}`"
    fix: do not
    red_line: true
""",
]

MEANING = (
    "re2 pattern",
    "CEL",
    "placeholder",
    "known effect",
    "each rule name once",
    "that is true or false",
    "1:48: expected a known key",
    "guard at",
    "guard class",
    "needs n from",
    "that the guard takes",
    "of the profile",
    "be disabled",
    "whose rules it leaves out",
    "at least one rule, guard",
)
"""Parts of errors that a schema cannot report, because it describes shapes and not meanings."""


@pytest.mark.parametrize("text", GOOD)
def test_valid_policy_is_valid_for_reader_and_schema(text: str) -> None:
    """The reader and the schema accept it."""
    make_policy(file=text)
    SCHEMA.validate(parse_document(text, "p.yaml").value)


@pytest.mark.parametrize(("text", "message"), [(t, m) for t, m in FAULTS if not any(word in m for word in MEANING)])
def test_invalid_policy_is_invalid_for_reader_and_schema(text: str, message: str) -> None:
    """The schema refuses every shape that the reader refuses."""
    with pytest.raises(PolicyError):
        make_policy(file=text)
    assert not SCHEMA.is_valid(parse_document(text, "p.yaml").value)


def test_policy_schema_is_a_valid_schema() -> None:
    """It is valid under its metaschema."""
    jsonschema.Draft202012Validator.check_schema(build_policy_schema(REGISTRY))
