"""`verdikt evidence contracts`, `report` and `explain`: what the evidence gate recorded."""

import json
from pathlib import Path

import click

from verdikt.cli.store_access import (
    format_timestamp,
    home_option,
    json_option,
    open_existing_store,
    resolve_session,
    resolve_sessions,
)
from verdikt.model.entry import EntryKind
from verdikt.report.gate import gate_story, gate_summary


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


@click.command()
@click.option("--session", metavar="S", help="Only this session.")
@json_option
@home_option
def report(session: str | None, as_json: bool, home: Path | None) -> None:
    """Summarize what the gate did, or in shadow mode would have done, and why.

    Example: verdikt evidence report
    """
    store = open_existing_store(home)
    summary = gate_summary(
        entry for name in resolve_sessions(store, session) for entry in store.reader.read_intact_entries(name)
    )
    if as_json:
        click.echo(json.dumps(summary, ensure_ascii=False, indent=1))
        return
    click.echo(f"{summary['stops']} stops, {summary['holes']} tool calls without a decision")
    for title in ("results", "claims", "missing"):
        if summary[title]:
            click.echo(click.style(title, bold=True))
            for name, count in summary[title].items():
                click.echo(f"  {count:>5}  {name}")
    for stop in summary["refused"]:
        mode = "" if stop["enforced"] else " (shadow)"
        click.echo(f"{format_timestamp(stop['ts'])} {stop['session']} {stop['seq']} {stop['result']}{mode}")
        for missing in stop["missing"]:
            words = " ".join(str(missing["words"]).split())[:80]
            click.echo(f"    “{words}”: {missing['reason']}")


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
