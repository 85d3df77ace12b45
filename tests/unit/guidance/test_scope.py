"""Tool policies that remember beyond a session."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.guided import Guided
from verdikt.replay import find_differences, read_decision, replay

ONCE = "tool_policies: [{once: {tool: migrate}, scope: %s}]\n"


@pytest.mark.parametrize(
    ("scope", "in_another_session", "in_another_project"),
    [("session", True, True), ("project", False, True), ("user", False, False)],
)
def test_policy_remembers_for_its_scope(
    tmp_path: Path, scope: str, in_another_session: bool, in_another_project: bool
) -> None:
    """What one session did counts in another of the same scope, and decisions replay from the log alone."""
    agent = Guided(tmp_path, ONCE % scope)
    agent.call("migrate")
    assert not agent.before("migrate").passed
    other = replace(agent, session="other")
    assert other.before("migrate").passed is in_another_session
    elsewhere = replace(agent, session="third", world=replace(agent.world, project_root="/home/dev/elsewhere"))
    assert elsewhere.before("migrate").passed is in_another_project
    policy = agent.governance().policy
    read = [read_decision(entry) for name in ("s", "other") for entry in agent.store().read_entries(name)]
    decisions = [past for past in read if past]
    assert len(decisions) == 3
    assert [find_differences(past, replay(past, policy)) for past in decisions] == [[]] * 3


def test_rate_limit_counts_over_sessions(tmp_path: Path) -> None:
    """A limit of the user is not reset by a new session."""
    policy = "tool_policies: [{rate_limit: {tool: fetch, max_calls: 2, per_seconds: 60}, scope: user}]\n"
    agents = [Guided(tmp_path, policy, session=name) for name in ("a", "b", "c")]
    assert [agent.call("fetch") for agent in agents[:2]] == ["", ""]
    assert "within 60 seconds" in agents[2].call("fetch")
