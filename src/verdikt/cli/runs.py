"""What commands about findings have in common: the runs directory, with its log."""

import os
import sys

import click

from verdikt.council.runs import Runs, runs_directory
from verdikt.model.finding import CouncilVerdict

NOT_FOUND = 1


def the_runs() -> Runs:
    """The runs directory that a command works on; what changes there goes into the log."""
    from verdikt.ledger.files import open_store
    from verdikt.ledger.findings import finding_log
    from verdikt.ledger.home import data_home
    from verdikt.observe.clock import SystemClock
    from verdikt.projections import projections

    log = finding_log(lambda: open_store(data_home(os.environ), projections=projections()))
    return Runs(runs_directory(os.environ, _configured()), SystemClock().now, log)


def _configured() -> str:
    """The directory that the policy in force here names."""
    if os.environ.get("VERDIKT_RUNS_DIR"):
        return ""
    from verdikt.council.declared import Councils
    from verdikt.policy import load_policy

    return (load_policy().section("councils") or Councils()).runs_dir


def found(plan_hash: str) -> CouncilVerdict:
    """The verdict on a plan, or status 1."""
    verdict = the_runs().load(plan_hash)
    if verdict is None:
        missing(plan_hash)
    assert verdict is not None
    return verdict


def missing(plan_hash: str) -> None:
    """Says that there is no verdict, and leaves."""
    click.echo(f"No verdict for plan {plan_hash}", err=True)
    sys.exit(NOT_FOUND)
