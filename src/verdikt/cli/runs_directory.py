"""What commands about findings have in common: the runs directory, with its log."""

import os
import sys

import click

from verdikt.cli.store_access import open_data_store
from verdikt.council.config import Councils
from verdikt.council.runs import Runs, runs_directory
from verdikt.ledger.council_findings import create_finding_log
from verdikt.model.finding import CouncilVerdict
from verdikt.observe.clock import SystemClock
from verdikt.policy import load_policy

EXIT_NO_VERDICT = 1


def open_runs() -> Runs:
    """The runs directory that a command works on; what changes there goes into the log."""
    log = create_finding_log(lambda: open_data_store(None))
    return Runs(runs_directory(os.environ, _read_runs_dir_setting()), SystemClock().now, log)


def _read_runs_dir_setting() -> str:
    """The directory that the policy in force here names."""
    if os.environ.get("VERDIKT_RUNS_DIR"):
        return ""

    return (load_policy().section("councils") or Councils()).runs_dir


def require_verdict(plan_hash: str) -> CouncilVerdict:
    """The verdict on a plan, or status 1."""
    verdict = open_runs().load(plan_hash)
    if verdict is None:
        exit_without_verdict(plan_hash)
    assert verdict is not None
    return verdict


def exit_without_verdict(plan_hash: str) -> None:
    """Says that there is no verdict, and leaves."""
    click.echo(f"No verdict for plan {plan_hash}", err=True)
    sys.exit(EXIT_NO_VERDICT)
