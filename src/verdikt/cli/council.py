"""`verdikt council`: what should be reviewed, the reviewers at work, and what was reviewed."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.runs_directory import exit_without_verdict, open_runs
from verdikt.cli.store_access import close_after_command, json_option
from verdikt.council.config import TRIGGERS
from verdikt.errors import FindingError, VerdiktError
from verdikt.govern import Governance
from verdikt.ledger.council_findings import find_open_findings
from verdikt.model.finding import Review
from verdikt.observe.agent_environment import detect_agent
from verdikt.report.findings import escape_nonprintable, explain

if TYPE_CHECKING:
    from verdikt.council.config import Council
    from verdikt.council.council_run import CouncilRunner, ProgressCallback
    from verdikt.model.plan import Plan

EXIT_BLOCKED = 2
DAY_SECONDS = 86_400.0

repo_option = click.option("--repo", type=click.Path(exists=True, file_okay=False), default=".", help="Default: here.")
base_option = click.option("--base", default="", help="Compare with where this branch left that commit, not with HEAD.")
files_option = click.option("--files", multiple=True, help="These files instead of the council's scope; repeatable.")
scope_option = click.option("--scope", type=click.Choice(["diff", "full"]), help="Instead of the council's own.")


@click.group()
def command() -> None:
    """Reviewers of what is about to be committed, declared under `councils` in the policy.

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
        there = runner.index.resolve_commit(base)
        if not there:
            raise click.UsageError(f"expected a commit, found `{base}`, which git does not know")
        base = runner.index.find_merge_base(there, "HEAD")
    return runner.build_plan(council, base=base, files=files, scope=scope or "")


@command.command()
@click.argument("name", required=False)
@click.option("--trigger", default="", help="The councils that this calls: pre-commit, file-save, session-start …")
@click.option("--path", default="", help="The file that was saved, for --trigger file-save.")
@click.option("--dry-run", is_flag=True, help="Keep nothing.")
@base_option
@files_option
@scope_option
@repo_option
@json_option
def plan(
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
    """Makes the plan of a council, or of every one: which files, which contents, who looks at them.

    With --json, a line for each council. Agents record what they find under the plan's hash.

    Example: verdikt council plan ship-it --json
    """
    if trigger and trigger not in TRIGGERS:
        raise VerdiktError(f"expected a trigger of {', '.join(TRIGGERS)}, found `{trigger}`")
    gov = Governance.load(cwd=repo)
    close_after_command(gov.store)
    chamber = gov.open_council_runner(repo)
    for council in _select_councils(gov, name, trigger):
        if path and not council.covers_file(path):
            continue
        made = _build_plan(chamber, council, base, files or ((path,) if path else ()), scope)
        made = made if dry_run else chamber.runs.save_plan(made)
        if as_json:
            row = {
                "trigger": trigger or "manual",
                "toolbox": council.name,
                "plan_hash": made.plan_hash,
                "plan_file": str(chamber.runs.plan_path(made.plan_hash)),
                "agents": list(made.agents),
                "files": list(made.files),
                "source": made.source,
                "guardrail": made.guardrail,
            }
            click.echo(json.dumps(row))
        else:
            _print_plan(council, made)


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
    """Runs the command reviewers of a council, or of every one, and shows the verdict; ends with 2 when it stops a commit.

    Example: verdikt council run ship-it --base origin/main
    """
    gov = Governance.load(cwd=repo)
    close_after_command(gov.store)
    councils = _select_councils(gov, name, "")
    if not councils:
        raise VerdiktError("the policy declares no council; name one under `councils` in governance.yaml")
    chamber = gov.open_council_runner(repo)
    blocked = False
    rows = []
    for council in councils:
        made = _build_plan(chamber, council, base, files, scope)
        with show_progress(council.name, quiet=as_json) as progress:
            verdict = chamber.run_reviewers(council, made, progress=progress)
        judged = chamber.evaluate_plan(council, made, lambda plan_hash: find_open_findings(gov.store, plan_hash))
        blocked = blocked or judged.blocks
        rows.append({**verdict.record(), "council": council.name, "blocks": judged.blocks, "faults": judged.faults})
        if not as_json:
            click.echo(explain(verdict))
            for fault in judged.faults:
                click.echo(f"  ! {fault}")
            if judged.missing:
                _print_plan(council, made)
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    sys.exit(EXIT_BLOCKED if blocked else 0)


@contextmanager
def show_progress(title: str, *, quiet: bool) -> Iterator["ProgressCallback | None"]:
    """Shows what each reviewer is doing: moving on a terminal, a line each elsewhere."""
    if quiet:
        yield None
    elif not sys.stderr.isatty():
        yield lambda name, doing: click.echo(f"{title}: {name}: {doing}", err=True)
    else:
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


@command.command()
@click.option("--plan-hash", required=True, help="The plan that was reviewed.")
@click.option("--agent", required=True, help="Who is done.")
@json_option
def done(*, plan_hash: str, agent: str, as_json: bool) -> None:
    """Records that a reviewer looked at a plan and has no more to say.

    Example: verdikt council done --plan-hash abc123 --agent security-reviewer
    """
    runs = open_runs()
    if runs.load_plan(plan_hash) is None and runs.load(plan_hash) is None:
        exit_without_verdict(plan_hash)
    verdict = runs.record(plan_hash, review=Review(agent))
    click.echo(json.dumps(verdict.record(), indent=2, ensure_ascii=False) if as_json else explain(verdict))


@command.command()
@click.option("--council", "name", default="", help="Only this council's.")
@click.option("--limit", type=int, default=20, show_default=True, help="How many.")
@json_option
def history(*, name: str, limit: int, as_json: bool) -> None:
    """Lists plans with their verdicts, newest first.

    Example: verdikt council history --limit 5
    """
    runs = open_runs()
    plans, unreadable = runs.plans()
    rows = []
    for made in [made for made in plans if not name or made.toolbox == name][: max(limit, 0)]:
        try:
            verdict = runs.load(made.plan_hash)
            said = "no verdict" if verdict is None else f"{verdict.level}  {verdict.summary}"
        except FindingError:
            said = "unreadable verdict"
        rows.append({"plan_hash": made.plan_hash, "toolbox": made.toolbox, "files": len(made.files), "verdict": said})
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
@click.option("--older-than-days", type=float, default=30.0, show_default=True)
@json_option
def purge(*, older_than_days: float, as_json: bool) -> None:
    """Deletes plans and verdicts that nobody changed for a while; the log keeps what was found.

    Example: verdikt council purge --older-than-days 90
    """
    if agent := detect_agent(os.environ):
        raise click.ClickException(f"{agent} runs this command, and agents cannot delete verdicts")
    gone = open_runs().purge(older_than_days * DAY_SECONDS)
    click.echo(json.dumps({"purged": gone}) if as_json else f"{len(gone)} plan(s) deleted")
