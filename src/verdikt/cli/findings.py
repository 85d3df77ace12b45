"""`verdikt findings`: record, show, explain and clear what reviewers found."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from verdikt.cli.exit_status import EXIT_FAILURE, EXIT_FINDINGS_ERROR
from verdikt.cli.findings_exchange import export, gate, import_findings
from verdikt.cli.operator_access import get_user_name, refuse_agents
from verdikt.cli.reviewer_identity import create_lowering_check, identify_reporter
from verdikt.cli.runs_directory import exit_without_verdict, open_runs, require_verdict
from verdikt.cli.store_access import always_json_option, json_option
from verdikt.cli.suggesting_group import SuggestingGroup
from verdikt.errors import FindingError, VerdiktError
from verdikt.model.finding import Level, build_finding
from verdikt.observe.git_index import GitIndex
from verdikt.report import findings as report

LEVELS = tuple(level.name for level in Level)

plan_option: Callable[[Any], Any] = click.option("--plan-hash", required=True, help="The plan that was reviewed.")
level_type = click.Choice(LEVELS, case_sensitive=False)


class FindingsGroup(SuggestingGroup):
    """Accepts several words after one `--evidence`, and reports a `FindingError` with status 2."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the subcommand, after the words of `--evidence` have been spread."""
        return super().resolve_command(ctx, spread_evidence(args))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; end with status 2 on a `FindingError`."""
        try:
            return super().invoke(ctx)
        except FindingError as error:
            click.echo(f"verdikt findings: {error}", err=True)
            ctx.exit(EXIT_FINDINGS_ERROR)


def spread_evidence(args: list[str]) -> list[str]:
    """Rewrite `--evidence a b` as `--evidence a --evidence b`; join words that continue a note."""
    spread_out: list[str] = []
    specs: list[str] | None = None
    for word in args:
        if word.startswith("--"):
            spread_out += _evidence_options(specs)
            specs = [] if word == "--evidence" else None
            if specs is not None:
                continue
        if specs is None:
            spread_out.append(word)
        # After `file:line:` comes a note: an unquoted word without a path's marks belongs to it.
        elif specs and specs[-1].count(":") >= 2 and not any(mark in word for mark in ":/.\\"):
            specs[-1] += f" {word}"
        else:
            specs.append(word)
    return spread_out + _evidence_options(specs)


def _evidence_options(specs: list[str] | None) -> list[str]:
    return [part for spec in specs or [] for part in ("--evidence", spec)]


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


@click.group(cls=FindingsGroup)
def command() -> None:
    """Record, show and clear what reviewers found.

    Example: verdikt findings record --plan-hash abc123 --level HIGH --title "SQL injection" --evidence src/users.py:42
    """


@command.command()
@plan_option
@click.option("--level", type=level_type, required=True, help="The severity.")
@click.option("--title", required=True, help="The finding in one line.")
@click.option("--agent", default="", help="The reviewer.")
@click.option("--evidence", multiple=True, help="file, file:line or file:line:note; several may follow.")
@click.option("--rationale", default="", help="Why it matters.")
@click.option("--id", "id", default="", help="A key of your own; default: made from level, agent and title.")
@always_json_option
def record(
    *,
    plan_hash: str,
    level: str,
    title: str,
    agent: str,
    evidence: tuple[str, ...],
    rationale: str,
    id: str,
) -> None:
    """Record a finding and print the resulting verdict.

    Example: verdikt findings record --plan-hash abc123 --level HIGH --title "SQL injection in users.py"
    """
    # Validates the level and the evidence, and raises `FindingError` before anything is written.
    finding = build_finding(level=level, title=title, agent=agent, evidence=evidence, rationale=rationale, id=id)
    runs = open_runs()
    reporter = identify_reporter(runs, plan_hash, agent)
    check_lowering = create_lowering_check(reporter)
    print_json(runs.record(plan_hash, finding, reporter=reporter, check_lowering=check_lowering).record())


@command.command()
@plan_option
@json_option
def show(*, plan_hash: str, as_json: bool) -> None:
    """Show the verdict on a plan.

    Example: verdikt findings show --plan-hash abc123 --json
    """
    print_verdict(plan_hash, as_json)


@command.command()
@plan_option
@json_option
def explain(*, plan_hash: str, as_json: bool) -> None:
    """Show the evidence chain of a plan, the worst finding first.

    Example: verdikt findings explain --plan-hash abc123
    """
    print_verdict(plan_hash, as_json)


def print_verdict(plan_hash: str, as_json: bool) -> None:
    """Print the verdict as text or as JSON."""
    verdict = require_verdict(plan_hash)
    if as_json:
        print_json(verdict.record())
    else:
        click.echo(report.explain(verdict))


@command.command()
@click.option("--limit", type=int, default=10, show_default=True, help="How many.")
@click.option(
    "--min-level", type=level_type, default="LOW", show_default=True, help="Leave out verdicts below this level."
)
@click.option(
    "--repo", type=click.Path(exists=True, file_okay=False), help="Only plans of this repository; default: of all."
)
@json_option
def retro(*, limit: int, min_level: str, repo: str | None, as_json: bool) -> None:
    """List the verdicts that changed last, newest first, and which plan fixed those that block.

    Example: verdikt findings retro --min-level HIGH --repo .
    """
    runs = open_runs()
    directory = GitIndex(repo, os.environ).find_common_directory() if repo else ""
    verdicts, unreadable = runs.recent(limit=limit, min_level=min_level, repo=directory)
    fixes = runs.find_fixes(verdicts)
    if as_json:
        rows = [verdict.record() for verdict in verdicts]
        print_json([row | ({"fixed_by": fixes[h]} if (h := row["plan_hash"]) in fixes else {}) for row in rows])
        # Not part of the JSON, whose form is promised: a list of verdicts.
        for name in unreadable:
            click.echo(f"unreadable: {name}", err=True)
    else:
        click.echo(report.retro(verdicts, unreadable, fixes))


@command.command()
@plan_option
@click.option("--id", "id", required=True, help="The finding.")
@click.option("--by", default=get_user_name, help="The person who clears it; default: the account.")
@click.option("--why", required=True, help="The reason.")
@always_json_option
def clear(*, plan_hash: str, id: str, by: str, why: str) -> None:
    """Clear a finding; who did it and why is kept.

    Example: verdikt findings clear --plan-hash abc123 --id 79f1b2bfa09a --why 'query is parameterised now'
    """
    refuse_agents("clearing a finding")
    runs = open_runs()
    before = runs.load(plan_hash)
    verdict = runs.clear(plan_hash, id, by=by, why=why)
    if verdict is None:
        exit_without_verdict(plan_hash)
        return
    print_json(verdict.record())
    # No error, because clearing a finding that is gone is done; but a mistyped id must not look like success.
    if before is not None and all(finding.id != id for finding in before.findings):
        click.echo(f"nothing was cleared: plan {plan_hash} has no open finding `{id}`", err=True)


for exchange_command in (import_findings, export, gate):
    command.add_command(exchange_command)


def main(argv: list[str] | None = None) -> Any:
    """Run `python -m verdikt.council`, where no `RootGroup` reports errors."""
    try:
        return command.main(args=argv, prog_name="python -m verdikt.council")
    except VerdiktError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(EXIT_FAILURE)
