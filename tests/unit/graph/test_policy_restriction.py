"""What a policy file may not do before it is accepted is left out of it, and nothing else is."""

from typing import Any

import pytest

from verdikt.graph.policy_restriction import INERT_NODE, UNACCEPTED_REVIEW, restrict_document

GUARD = {"use": "a.b:C", "with": {"n": 1}}
COMMAND, AGENT = {"command": "make lint"}, {"agent": "look"}


@pytest.mark.parametrize(
    ("document", "accepted", "expected"),
    [
        ({"profile": "none", "rules": [1]}, {}, {"profile": "none", "rules": [1]}),
        ({"guards": ["audit", GUARD]}, {}, {"guards": ["audit", INERT_NODE]}),
        ({"guards": ["audit", GUARD]}, {"all": [GUARD]}, {"guards": ["audit", GUARD]}),
        ({"guards": [GUARD]}, {"guards": [{**GUARD, "with": {"n": 2}}]}, {"guards": [INERT_NODE]}),
        ({"all": [{"any": ["audit", {"not": GUARD}]}, "intent"]}, {}, {"all": [INERT_NODE, "intent"]}),
        ({"not": GUARD}, {}, {"guards": [INERT_NODE]}),
        ({"when": {"if": "true", "then": GUARD}, "guards": ["audit"]}, {}, {"guards": ["audit"]}),
        ({"rules": [{"equals": {"use": "x:y"}}]}, {}, {"rules": [{"equals": {"use": "x:y"}}]}),
        ({"guards": [{"intent": {"limits": {"use": 3}}}]}, {}, {"guards": [{"intent": {"limits": {"use": 3}}}]}),
        ({"evidence": {"mode": "off", "memory": "x"}}, {}, {"evidence": {"mode": "off"}}),
        ({"evidence": {"memory": "x"}}, {"evidence": {"memory": "x"}}, {"evidence": {"memory": "x"}}),
        ({"evidence": {"validators": [1, 2]}}, {"evidence": {"validators": [2]}}, {"evidence": {"validators": [2]}}),
        (
            {"councils": {"a": {"reviewers": {"x": {**COMMAND, "files": "*.py"}, "y": AGENT}}, "runs_dir": "/x"}},
            {},
            {"councils": {"a": {"reviewers": {"x": {"agent": UNACCEPTED_REVIEW, "files": "*.py"}, "y": AGENT}}}},
        ),
        (
            {"councils": {"a": {"reviewers": {"y": AGENT}}}},
            {"councils": {"a": {"reviewers": {"x": COMMAND}}}},
            {"councils": {"a (changed)": {"reviewers": {"y": AGENT}}}},
        ),
        (
            {"councils": {"a": {"reviewers": {"x": COMMAND}}}},
            {"councils": {"a": {"reviewers": {"x": COMMAND}}}},
            {"councils": {"a": {"reviewers": {"x": COMMAND}}}},
        ),
        # What is wrong stays, so that it is reported where it is read.
        (
            {"evidence": 3, "councils": {"a": 3}, "guards": 3},
            {},
            {"evidence": 3, "councils": {"a": 3}, "guards": 3},
        ),
    ],
)
def test_only_what_needs_acceptance_is_left_out(document: Any, accepted: Any, expected: Any) -> None:
    """Imports, commands, output files and validators count only if the accepted policy has the same."""
    assert restrict_document(document, [accepted]) == expected
