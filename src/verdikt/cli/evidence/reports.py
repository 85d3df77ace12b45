"""`verdikt evidence contracts`, `report` and `explain`: what the evidence gate recorded."""

import json
from pathlib import Path
from typing import Any

import click

from verdikt.cli.duration import parse_duration
from verdikt.cli.store_access import (
    format_timestamp,
    home_option,
    json_option,
    open_existing_store,
    resolve_session,
    resolve_sessions,
)
from verdikt.model.entry import EntryKind
from verdikt.report.gate import gate_story, gate_summary, summarize_projects


@click.command()
@click.option("--session", metavar="S", help="Only this session.")
@json_option
@home_option
def contracts(session: str | None, as_json: bool, home: Path | None) -> None:
    """List what people asked for, which is what claims are compared with.

    Example: verdikt evidence contracts --session 1f0c…
    """
    store = open_existing_store(home)
    count = 0
    for name in resolve_sessions(store, session):
        for entry in store.reader.read_intact_entries(name):
            if entry.kind is not EntryKind.CONTRACT:
                continue
            count += 1
            if as_json:
                record = {"session": name, "seq": entry.seq, "ts": entry.ts, **entry.body}
                click.echo(json.dumps(record, ensure_ascii=False))
                continue
            objective = " ".join(str(entry.body.get("objective", "")).split())[:120]
            click.echo(f"{format_timestamp(entry.ts)} {name} {click.style(str(entry.seq), bold=True)} {objective}")
            for field, values in entry.body.get("target_fields", {}).items():
                # Keywords are there for the matching; a list of them tells a reader nothing.
                if values and field != "keywords":
                    click.echo(f"    {field}: {', '.join(map(str, values))[:200]}")
    if not count and not as_json:
        click.echo("no contracts")


def _parse_since(ctx: click.Context, parameter: click.Parameter, value: str) -> int:
    seconds = parse_duration(value, "mhdw") if value else 0
    if seconds is None:
        raise click.BadParameter(f"expected a number and a unit such as 24h, 7d or 2w, found `{value}`")
    return seconds


@click.command()
@click.option("--session", metavar="S", help="Only this session.")
@click.option("--since", default="", callback=_parse_since, metavar="AGE", help="Only what is newer, such as 7d.")
@json_option
@home_option
def report(session: str | None, since: int, as_json: bool, home: Path | None) -> None:
    """Summarize what the gate did, or in shadow mode would have done, why, and whether later checks prove it right.

    Example: verdikt evidence report --since 7d
    """
    store = open_existing_store(home)
    oldest = int((store.clock.now() - since) * 1_000_000) if since else 0
    entries = [
        entry
        for name in resolve_sessions(store, session)
        for entry in store.reader.read_intact_entries(name)
        if entry.ts >= oldest
    ]
    summary = gate_summary(entries) | {"projects": summarize_projects(entries)}
    if as_json:
        click.echo(json.dumps(summary, ensure_ascii=False, indent=1))
        return
    click.echo(f"{summary['stops']} stops, {summary['holes']} tool calls without a decision")
    for title in ("results", "claims", "missing"):
        if summary[title]:
            click.echo(click.style(title, bold=True))
            for name, count in summary[title].items():
                click.echo(f"  {count:>5}  {name}")
    for project in summary["projects"]:
        click.echo(_render_project(project))
    for stop in summary["refused"]:
        mode = "" if stop["enforced"] else " (shadow)"
        click.echo(f"{format_timestamp(stop['ts'])} {stop['session']} {stop['seq']} {stop['result']}{mode}")
        for missing in stop["missing"]:
            words = " ".join(str(missing["words"]).split())[:80]
            click.echo(f"    “{words}”: {missing['reason']}")


def _render_project(project: dict[str, Any]) -> str:
    """Return one line: what enforcing does in a project, and how often the next check of the same sources agreed."""
    refusals = project["refused"] + project["would_refuse"]
    word = "refused" if project["refused"] else "would refuse"
    settled = f"of these {project['refusals_right']} right, {project['refusals_wrong']} wrong by the next check"
    passes = f"let through {project['let_through']} ({project['passes_wrong']} wrong)"
    return f"{click.style(project['project'] or 'unknown project', bold=True)}: {word} {refusals}, {settled}; {passes}"


@click.command()
@click.argument("session")
@click.option("--since", default=0, type=click.IntRange(min=0), metavar="SEQ", help="Only entries after this one.")
@json_option
@home_option
def explain(session: str, since: int, as_json: bool, home: Path | None) -> None:
    """Show a session as the gate sees it: what was asked, what ran, what was claimed, what was decided.

    Example: verdikt evidence explain 1f0c…
    """
    store = open_existing_store(home)
    lines = gate_story(store.reader.read_intact_entries(resolve_session(store, session), since=since))
    if as_json:
        click.echo(json.dumps(lines, ensure_ascii=False))
        return
    for line in lines or ["no requests and no claims"]:
        click.echo(line)
