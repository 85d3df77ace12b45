"""`verdikt findings import|export|gate`: exchange findings with scanners, other tools and pipelines."""

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from verdikt import __version__
from verdikt.cli.exit_status import EXIT_BLOCKED
from verdikt.cli.output_path import OutputPath
from verdikt.cli.reviewer_identity import create_lowering_check, identify_reporter
from verdikt.cli.runs_directory import open_runs, require_verdict
from verdikt.cli.store_access import json_option
from verdikt.council.finding_parser import MAX_BYTES, read_findings
from verdikt.errors import FindingError
from verdikt.model.finding import CouncilVerdict, Finding, Level
from verdikt.report import findings
from verdikt.report.findings import escape_nonprintable, explain
from verdikt.report.github_annotations import render_annotations
from verdikt.report.junit import render_junit
from verdikt.report.sarif import to_sarif

LEVELS = tuple(level.name for level in Level)
FORMATS = ("sarif", "junit", "markdown", "json")


def _read_findings_files(files: Sequence[Any], agent: str) -> list[Finding]:
    all_findings: list[Finding] = []
    for file in files:
        try:
            # One byte more than allowed, so that the parser can tell a file that is too long.
            all_findings += read_findings(file.read(MAX_BYTES + 1), agent=agent, root=os.getcwd())
        except FindingError as error:
            raise FindingError(f"`{file.name}`: {error}") from error
    return all_findings


@click.command("import")
@click.option("--plan-hash", required=True, help="The plan that was reviewed.")
@click.option("--agent", default="", help="The reviewer; default: as the document says.")
@json_option
@click.argument("files", nargs=-1, required=True, type=click.File("rb"))
def import_findings(*, plan_hash: str, agent: str, as_json: bool, files: Sequence[Any]) -> None:
    """Record what scanners found: SARIF 2.1.0 or findings as JSON; `-` reads stdin.

    Example: bandit -r src -f sarif | verdikt findings import --plan-hash abc123 -
    """
    runs = open_runs()
    reporter = identify_reporter(runs, plan_hash, agent)
    findings = _read_findings_files(files, agent)
    verdict = runs.record(plan_hash, *findings, reporter=reporter, check_lowering=create_lowering_check(reporter))
    click.echo(json.dumps(verdict.record(), indent=2, ensure_ascii=False) if as_json else explain(verdict))


@click.command()
@click.option("--plan-hash", required=True, help="The plan that was reviewed.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="sarif", show_default=True, help="The format.")
@click.option(
    "--output",
    "-o",
    type=OutputPath(dir_okay=False, allow_dash=True),
    default="-",
    help="Write to this file instead of stdout.",
)
def export(*, plan_hash: str, form: str, output: str) -> None:
    """Write the verdict on a plan for other tools.

    Example: verdikt findings export --plan-hash abc123 --format sarif -o findings.sarif
    """
    text = render_verdicts([require_verdict(plan_hash)], form)
    with click.open_file(output, "w", encoding="utf-8") as file:
        click.echo(text, file=file)


def render_verdicts(verdicts: Sequence[CouncilVerdict], form: str) -> str:
    """Return verdicts in one of `FORMATS`."""
    if form == "junit":
        return render_junit(findings.to_junit_results(verdicts), "verdikt findings")
    if form == "markdown":
        return findings.render_markdown(verdicts)
    if form == "sarif":
        return json.dumps(to_sarif(verdicts, __version__), indent=2)
    records = [verdict.record() for verdict in verdicts]
    return json.dumps(records[0] if len(records) == 1 else records, indent=2)


@click.command()
@click.option(
    "--min-level",
    type=click.Choice(LEVELS, case_sensitive=False),
    default="HIGH",
    show_default=True,
    help="Block at this level or worse.",
)
@click.option("--plan-hash", multiple=True, help="Only these plans; default: every verdict in the runs directory.")
@click.option("--annotate/--no-annotate", default=None, help="Print workflow commands; default: only on GitHub.")
@json_option
@click.argument("files", nargs=-1, type=click.File("rb"))
def gate(
    *, min_level: str, plan_hash: Sequence[str], annotate: bool | None, as_json: bool, files: Sequence[Any]
) -> None:
    """End with status 2 on a finding of this level or worse, or when there is no verdict.

    Reads plans, or files with SARIF or findings as JSON.

    Example: verdikt findings gate --min-level HIGH bandit.sarif
    """
    verdicts, unreadable = _load_verdicts(plan_hash, files)
    least = Level.from_name(min_level)
    stopping = [finding for verdict in verdicts for finding in verdict.findings if finding.severity >= least]
    # Nothing to judge blocks as well: a pipeline whose scan was skipped must not pass.
    blocked = bool(stopping or unreadable or not verdicts)
    if as_json:
        value = {
            "blocked": blocked,
            "min_level": least.name,
            "unreadable": unreadable,
            "verdicts": [verdict.record() for verdict in verdicts],
        }
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        _print_gate_result(verdicts, unreadable, blocked, least)
        if annotate if annotate is not None else os.environ.get("GITHUB_ACTIONS") == "true":
            for line in render_annotations([finding for verdict in verdicts for finding in verdict.findings]):
                click.echo(line)
    sys.exit(EXIT_BLOCKED if blocked else 0)


def _load_verdicts(plans: Sequence[str], files: Sequence[Any]) -> tuple[list[CouncilVerdict], list[str]]:
    # Files are judged alone, without the runs directory: a pipeline has no history there.
    if files:
        return [CouncilVerdict("files", tuple(_read_findings_files(files, "")))], []
    if not plans:
        # Without a limit: one old verdict left out could be the one that blocks.
        return open_runs().recent(limit=sys.maxsize)
    return [require_verdict(plan) for plan in plans], []


def _print_gate_result(
    verdicts: Sequence[CouncilVerdict], unreadable: Sequence[str], blocked: bool, least: Level
) -> None:
    for verdict in verdicts:
        click.echo(explain(verdict))
    for name in unreadable:
        click.echo(f"unreadable: {escape_nonprintable(name)}")
    if not verdicts:
        click.echo("no verdict; run `verdikt council run`, or name SARIF files")
    word = click.style("blocked", fg="red") if blocked else click.style("passed", fg="green")
    click.echo(f"[gate] {word} at {least.name}")
