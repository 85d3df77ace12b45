"""`verdikt council`: plan reviews, run the reviewers, list and delete past reviews."""

import fcntl
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.exit_status import EXIT_BLOCKED
from verdikt.cli.operator_access import refuse_agents
from verdikt.cli.reviewer_identity import KEY_VARIABLE, identify_reporter
from verdikt.cli.runs_directory import exit_without_verdict, open_runs
from verdikt.cli.store_access import close_after_command, json_option
from verdikt.cli.suggesting_group import SuggestingGroup
from verdikt.council.config import TRIGGERS
from verdikt.errors import FindingError, VerdiktError
from verdikt.govern import Governance
from verdikt.ledger.council_findings import StoredCouncilLog
from verdikt.model.canonical_json import sha256_hex
from verdikt.model.finding import Review
from verdikt.model.reporter import Reporter
from verdikt.report.findings import escape_nonprintable, explain

if TYPE_CHECKING:
    from verdikt.council.config import Council
    from verdikt.council.council_run import CouncilRunner, ProgressCallback
    from verdikt.model.plan import Plan

DAY_SECONDS = 86_400.0

repo_option = click.option(
    "--repo", type=click.Path(exists=True, file_okay=False), default=".", help="The repository; default: here."
)
base_option = click.option("--base", default="", help="Compare with the merge base of this commit, not with HEAD.")
files_option = click.option(
    "--files", multiple=True, help="Review these files instead of the council's scope; repeatable."
)
scope_option = click.option(
    "--scope", type=click.Choice(["diff", "full"]), help="Use this scope instead of the council's own."
)


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Review what is about to be committed, by the reviewers under `councils` in the policy.

    Example: verdikt council run ship-it
    """


def _select_councils(gov: "Governance", name: str | None, trigger: str) -> list["Council"]:
    if name:
        return [gov.councils.get_council(name)]
    if trigger:
        return gov.councils.find_by_trigger(trigger)
    return list(gov.councils.councils.values())


def _build_plan(
    runner: "CouncilRunner", council: "Council", base: str, files: Sequence[str], scope: str | None
) -> "Plan":
    if base:
        commit = runner.index.resolve_commit(base)
        if not commit:
            raise click.UsageError(f"expected a commit, found `{base}`, which git does not know")
        # What others merged into the base since this branch began is not this branch's change.
        base = runner.index.find_merge_base(commit, "HEAD")
    return runner.build_plan(council, base=base, files=files, scope=scope or "")


@command.command("plan")
@click.argument("name", required=False)
@click.option("--trigger", default="", help="Only councils with this trigger: pre-commit, file-save, session-start …")
@click.option("--path", default="", help="The file that was saved, for --trigger file-save.")
@click.option("--dry-run", is_flag=True, help="Do not save the plan.")
@base_option
@files_option
@scope_option
@repo_option
@json_option
def plan_command(
    *,
    name: str | None,
    trigger: str,
    path: str,
    dry_run: bool,
    base: str,
    files: tuple[str, ...],
    scope: str | None,
    repo: str,
    as_json: bool,
) -> None:
    """Plan a review by one council, or by each: which files, which contents, which reviewers.

    With --json, one line for each council. Agents record their findings under the plan's hash.

    Example: verdikt council plan ship-it --json
    """
    # Checked by hand: a trigger that none of the councils has would otherwise plan nothing, silently.
    if trigger and trigger not in TRIGGERS:
        raise VerdiktError(f"expected a trigger of {', '.join(TRIGGERS)}, found `{trigger}`")
    gov = Governance.load(cwd=repo)
    close_after_command(gov.store)
    runner = gov.council_reviews.open_runner(repo)
    for council in _select_councils(gov, name, trigger):
        if path and not council.covers_file(path):
            continue
        plan = _build_plan(runner, council, base, files or ((path,) if path else ()), scope)
        plan = plan if dry_run else runner.runs.save_plan(plan)
        if as_json:
            row = {
                "trigger": trigger or "manual",
                "toolbox": council.name,
                "plan_hash": plan.plan_hash,
                "plan_file": str(runner.runs.plan_path(plan.plan_hash)),
                "agents": list(plan.agents),
                "files": list(plan.files),
                "source": plan.source,
                "guardrail": plan.guardrail,
            }
            click.echo(json.dumps(row))
        else:
            _print_plan(council, plan)


def _print_plan(council: "Council", plan: "Plan") -> None:
    click.echo(f"[plan] {plan.plan_hash}  council={council.name}  {plan.scope_mode}  {len(plan.files)} file(s)")
    for file in plan.files:
        click.echo(f"  {escape_nonprintable(file)}{'' if plan.contents.get(file) else '  (deleted)'}")
    for reviewer in council.reviewers:
        if reviewer.agent:
            click.echo(f"  agent {reviewer.name}: {escape_nonprintable(reviewer.agent)}")
            click.echo(
                f"    verdikt findings record --plan-hash {plan.plan_hash} --agent {reviewer.name}"
                " --level LEVEL --title TITLE --evidence FILE:LINE:NOTE"
            )
            click.echo(f"    verdikt council done --plan-hash {plan.plan_hash} --agent {reviewer.name}")
        else:
            click.echo(f"  command {reviewer.name}: {' '.join(map(escape_nonprintable, reviewer.command))}")


@command.command()
@click.argument("name", required=False)
@base_option
@files_option
@scope_option
@repo_option
@json_option
def run(*, name: str | None, base: str, files: tuple[str, ...], scope: str | None, repo: str, as_json: bool) -> None:
    """Run the command reviewers of one council, or of each, and show the verdict; status 2 when it blocks.

    Example: verdikt council run ship-it --base origin/main
    """
    gov = Governance.load(cwd=repo)
    close_after_command(gov.store)
    councils = _select_councils(gov, name, "")
    if not councils:
        raise VerdiktError("the policy declares no council; name one under `councils` in governance.yaml")
    runner = gov.council_reviews.open_runner(repo)
    blocked = False
    rows = []
    for council in councils:
        plan = _build_plan(runner, council, base, files, scope)
        with show_progress(council.name, quiet=as_json) as progress:
            verdict = runner.run_reviewers(council, plan, progress=progress)
        # The log is asked as well: a finding that was deleted from the verdict file still blocks.
        decision = runner.evaluate_plan(council, plan, StoredCouncilLog(gov.store))
        verdict = decision.verdict or verdict
        blocked = blocked or decision.blocks
        rows.append({**verdict.record(), "council": council.name, "blocks": decision.blocks, "faults": decision.faults})
        if not as_json:
            click.echo(explain(verdict))
            for fault in decision.faults:
                click.echo(f"  ! {fault}")
            if decision.missing:
                _print_plan(council, plan)
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    sys.exit(EXIT_BLOCKED if blocked else 0)


@contextmanager
def show_progress(title: str, *, quiet: bool) -> Iterator["ProgressCallback | None"]:
    """Show what each reviewer is doing: with spinners on a terminal, one line per change elsewhere."""
    if quiet:
        yield None
    # On stderr, so that stdout has the verdict alone.
    elif not sys.stderr.isatty():
        yield lambda name, doing: click.echo(f"{title}: {name}: {doing}", err=True)
    else:
        # rich takes long to import, and hooks and pipelines never get here.
        from rich.console import Console
        from rich.progress import Progress as Bars
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        with Bars(*columns, console=Console(stderr=True)) as bars:
            tasks: dict[str, Any] = {}

            def update_progress(name: str, doing: str) -> None:
                if name not in tasks:
                    tasks[name] = bars.add_task(name, total=1)
                finished = 0 if doing == "running" else 1
                bars.update(tasks[name], description=f"{name}: {doing}", completed=finished)

            yield update_progress


@command.command("trigger")
@click.argument("trigger", type=click.Choice(["session-start", "session-end", "file-save"]))
@click.option("--path", default="", help="The file that was saved, from the repository's root.")
@repo_option
def trigger_command(*, trigger: str, path: str, repo: str) -> None:
    """Run the councils of an event, as the hooks do in the background; one run of a council at a time.

    Example: verdikt council trigger file-save --path src/users.py
    """
    gov = Governance.load(cwd=repo)
    close_after_command(gov.store)
    runner = gov.council_reviews.open_runner(repo)
    for council in gov.councils.find_by_trigger(trigger):
        if path and not council.covers_file(path):
            continue
        plan = runner.build_plan(council, files=(path,) if path else ())
        # Many files may be saved in a row: a second run would only repeat the work.
        if not plan.files or not _claim_run(gov.store.home, council.name):
            continue
        with show_progress(council.name, quiet=False) as progress:
            click.echo(explain(runner.run_reviewers(council, plan, progress=progress)))


def _claim_run(home: Path, council: str) -> bool:
    """Return whether no other process runs this council now; the claim ends with this process."""
    directory = home / "councils"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    fd = os.open(directory / f"{sha256_hex(council.encode())[:16]}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return False
    # Left open on purpose: the lock lasts as long as the process.
    return True


@command.command()
@click.option("--plan-hash", required=True, help="The plan that was reviewed.")
@click.option("--agent", required=True, help="The reviewer that is done.")
@json_option
def done(*, plan_hash: str, agent: str, as_json: bool) -> None:
    """Record that a reviewer has finished with a plan, also without any finding.

    Example: verdikt council done --plan-hash abc123 --agent security-reviewer
    """
    runs = open_runs()
    if runs.load_plan(plan_hash) is None and runs.load(plan_hash) is None:
        exit_without_verdict(plan_hash)
    reporter = identify_reporter(runs, plan_hash, agent)
    if reporter is Reporter.AGENT:
        raise FindingError(
            f"expected reviewer `{agent}`, found an agent without its key; review with another agent that has "
            f"`{KEY_VARIABLE}`, or let a person end the review"
        )
    verdict = runs.record(plan_hash, review=Review(agent), reporter=reporter)
    click.echo(json.dumps(verdict.record(), indent=2, ensure_ascii=False) if as_json else explain(verdict))


@command.command()
@click.option("--council", "name", default="", help="Only plans of this council.")
@click.option("--limit", type=int, default=20, show_default=True, help="How many.")
@json_option
def history(*, name: str, limit: int, as_json: bool) -> None:
    """List plans with their verdicts, newest first.

    Example: verdikt council history --limit 5
    """
    runs = open_runs()
    plans, unreadable = runs.plans()
    rows = []
    for plan in [plan for plan in plans if not name or plan.toolbox == name][: max(limit, 0)]:
        try:
            verdict = runs.load(plan.plan_hash)
            summary = "no verdict" if verdict is None else f"{verdict.level}  {verdict.summary}"
        except FindingError:
            summary = "unreadable verdict"
        rows.append(
            {"plan_hash": plan.plan_hash, "toolbox": plan.toolbox, "files": len(plan.files), "verdict": summary}
        )
    if as_json:
        click.echo(json.dumps({"plans": rows, "unreadable": unreadable}, indent=2))
        return
    for row in rows:
        click.echo(
            f"{row['plan_hash']}  {escape_nonprintable(str(row['toolbox']))}  {row['files']} file(s)  {row['verdict']}"
        )
    for file in unreadable:
        click.echo(f"! unreadable: {escape_nonprintable(file)}")


@command.command()
@click.option("--older-than-days", type=float, default=30.0, show_default=True, help="The minimum age.")
@json_option
def purge(*, older_than_days: float, as_json: bool) -> None:
    """Delete plans and verdicts that have not changed for a while; the findings stay in the log.

    Example: verdikt council purge --older-than-days 90
    """
    # Without its verdict a commit could be reviewed again until the findings suit the agent.
    refuse_agents("deleting verdicts")
    purged = open_runs().purge(older_than_days * DAY_SECONDS)
    click.echo(json.dumps({"purged": purged}) if as_json else f"{len(purged)} plan(s) deleted")
