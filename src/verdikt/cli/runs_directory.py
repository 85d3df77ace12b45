"""The runs directory and its log, as commands about findings open it."""

import os
import sys
from typing import NoReturn

import click

from verdikt.cli.exit_status import EXIT_NO_VERDICT
from verdikt.cli.store_access import open_data_store
from verdikt.council.config import Councils
from verdikt.council.runs import Runs, runs_directory
from verdikt.graph.policy_cache import load_cached_policy
from verdikt.ledger.council_findings import create_finding_log
from verdikt.model.finding import CouncilVerdict
from verdikt.observe.clock import SystemClock


def open_runs() -> Runs:
    """Open the runs directory that a command works on; changes are recorded in the log."""
    # Opened with the first change: commands that only read need no store.
    log = create_finding_log(lambda: open_data_store(None))
    return Runs(runs_directory(os.environ, _read_runs_dir_setting()), SystemClock().now, log)


def _read_runs_dir_setting() -> str:
    """Return the directory that the policy in force here names; empty when the environment overrides it."""
    # Then the policy need not even be readable.
    if os.environ.get("VERDIKT_RUNS_DIR"):
        return ""
    return (load_cached_policy("", os.environ).section("councils") or Councils()).runs_dir


def require_verdict(plan_hash: str) -> CouncilVerdict:
    """Return the verdict on a plan; exit with status 1 when there is none."""
    verdict = open_runs().load(plan_hash)
    if verdict is None:
        exit_without_verdict(plan_hash)
    return verdict


def exit_without_verdict(plan_hash: str) -> NoReturn:
    """Report that a plan has no verdict and exit with status 1."""
    click.echo(f"No verdict for plan {plan_hash}", err=True)
    sys.exit(EXIT_NO_VERDICT)
