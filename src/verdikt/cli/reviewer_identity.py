"""Who reports as a reviewer: a person, an agent that shows the reviewer's key, or an agent that only names it."""

import os
from functools import partial

from verdikt.cli.operator_access import refuse_agents
from verdikt.council.config import Council, Councils
from verdikt.council.runs import LoweringCheck, Runs
from verdikt.errors import FindingError, LedgerError, PolicyError
from verdikt.model.finding import Finding
from verdikt.model.reporter import Reporter
from verdikt.policy import load_policy

KEY_VARIABLE = "VERDIKT_REVIEWER_KEY"
"""The variable in which a reviewer that is an agent has its key."""


def identify_reporter(runs: Runs, plan_hash: str, reviewer: str) -> Reporter:
    """Return who this process is to the council of a plan, if it reports as that reviewer."""
    try:
        refuse_agents("")
    except LedgerError:
        council = _find_council(runs, plan_hash)
        return Reporter.REVIEWER if council and _is_reviewer(council, reviewer) else Reporter.AGENT
    return Reporter.PERSON


def _is_reviewer(council: Council, name: str) -> bool:
    """Return whether the agent that runs this may report under that name."""
    reviewer = next((reviewer for reviewer in council.reviewers if reviewer.name == name and reviewer.agent), None)
    return reviewer is not None and (council.self_review or reviewer.has_key(os.environ.get(KEY_VARIABLE, "")))


def _find_council(runs: Runs, plan_hash: str) -> Council | None:
    try:
        plan = runs.load_plan(plan_hash)
        councils = load_policy().section("councils") or Councils()
    except (FindingError, PolicyError):
        return None
    return councils.councils.get(plan.toolbox) if plan else None


def create_lowering_check(reporter: Reporter) -> LoweringCheck:
    """Return a check that lets a person lower any finding, a reviewer its own, and an agent none."""
    return partial(_check_lowering, reporter)


def _check_lowering(reporter: Reporter, old: Finding, new: Finding) -> None:
    if reporter is not Reporter.REVIEWER or old.agent != new.agent:
        refuse_agents(f"lowering finding {old.id} from {old.level} to {new.level}")
