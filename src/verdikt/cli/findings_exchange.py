"""`verdikt findings import|export|gate`: findings from scanners, for other tools, for pipelines."""

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from verdikt.cli.data import json_option
from verdikt.cli.runs import found, the_runs
from verdikt.model.finding import CouncilVerdict, Finding, Level

LEVELS = tuple(level.name for level in Level)
BLOCKED = 2
FORMATS = ("sarif", "junit", "markdown", "json")


def _read(files: Sequence[Any], agent: str) -> list[Finding]:
    from verdikt.council.intake import MAX_BYTES, read_findings
    from verdikt.errors import FindingError

    everything: list[Finding] = []
    for file in files:
        try:
            everything += read_findings(file.read(MAX_BYTES + 1), agent=agent, root=os.getcwd())
        except FindingError as error:
            raise FindingError(f"`{file.name}`: {error}") from error
    return everything


@click.command("import")
@click.option("--plan-hash", required=True, help="The plan that was reviewed.")
@click.option("--agent", default="", help="Who found it; default: what the document says.")
@json_option
@click.argument("files", nargs=-1, required=True, type=click.File("rb"))
def import_(*, plan_hash: str, agent: str, as_json: bool, files: Sequence[Any]) -> None:
    """Records what scanners found: SARIF 2.1.0 or findings as JSON; `-` reads stdin.

    Example: bandit -r src -f sarif | verdikt findings import --plan-hash abc123 -
    """
    from verdikt.report.findings import explain

    verdict = the_runs().record(plan_hash, *_read(files, agent))
    click.echo(json.dumps(verdict.record(), indent=2, ensure_ascii=False) if as_json else explain(verdict))


@click.command()
@click.option("--plan-hash", required=True, help="The plan that was reviewed.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="sarif", show_default=True, help="For whom.")
@click.option("--output", "-o", type=click.File("w", encoding="utf-8"), default="-", help="A file, instead of stdout.")
def export(*, plan_hash: str, form: str, output: Any) -> None:
    """Writes the verdict on a plan for other tools.

    Example: verdikt findings export --plan-hash abc123 --format sarif -o findings.sarif
    """
    click.echo(rendered([found(plan_hash)], form), file=output)


def rendered(verdicts: Sequence[CouncilVerdict], form: str) -> str:
    """Verdicts in one of the formats."""
    from verdikt import __version__
    from verdikt.report import findings
    from verdikt.report.junit import junit
    from verdikt.report.sarif import sarif

    if form == "junit":
        return junit(findings.junit_results(verdicts), "verdikt findings")
    if form == "markdown":
        return findings.markdown(verdicts)
    if form == "sarif":
        return json.dumps(sarif(verdicts, __version__), indent=2)
    records = [verdict.record() for verdict in verdicts]
    return json.dumps(records[0] if len(records) == 1 else records, indent=2)


@click.command()
@click.option("--min-level", type=click.Choice(LEVELS, case_sensitive=False), default="HIGH", show_default=True)
@click.option("--plan-hash", multiple=True, help="The plans to judge; default: every verdict in the runs directory.")
@click.option("--annotate/--no-annotate", default=None, help="Workflow commands for a build; default: on GitHub.")
@json_option
@click.argument("files", nargs=-1, type=click.File("rb"))
def gate(
    *, min_level: str, plan_hash: Sequence[str], annotate: bool | None, as_json: bool, files: Sequence[Any]
) -> None:
    """Ends with 2 when a finding is of this level or worse, or when there is no verdict to judge by.

    Judges plans, or SARIF and findings JSON given as files.

    Example: verdikt findings gate --min-level HIGH bandit.sarif
    """
    verdicts, unreadable = _judged(plan_hash, files)
    least = Level.of(min_level)
    stopping = [finding for verdict in verdicts for finding in verdict.findings if finding.severity >= least]
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
        _show(verdicts, unreadable, blocked, least)
        if annotate if annotate is not None else os.environ.get("GITHUB_ACTIONS") == "true":
            from verdikt.report.annotation import annotations

            for line in annotations([finding for verdict in verdicts for finding in verdict.findings]):
                click.echo(line)
    sys.exit(BLOCKED if blocked else 0)


def _judged(plans: Sequence[str], files: Sequence[Any]) -> tuple[list[CouncilVerdict], list[str]]:
    if files:
        return [CouncilVerdict("files", tuple(_read(files, "")))], []
    if not plans:
        return the_runs().recent(limit=sys.maxsize)
    return [found(plan) for plan in plans], []


def _show(verdicts: Sequence[CouncilVerdict], unreadable: Sequence[str], blocked: bool, least: Level) -> None:
    from verdikt.report.findings import explain, visible

    for verdict in verdicts:
        click.echo(explain(verdict))
    for name in unreadable:
        click.echo(f"unreadable: {visible(name)}")
    if not verdicts:
        click.echo("no verdict to judge by; run `verdikt council run`, or name SARIF files")
    word = click.style("blocked", fg="red") if blocked else click.style("passed", fg="green")
    click.echo(f"[gate] {word} at {least.name}")
