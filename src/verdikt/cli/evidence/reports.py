"""`verdikt evidence contracts`, `report` and `explain`."""

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
    """What people asked for, as claims are held against it.

    Example: verdikt evidence contracts --session 1f0c…
    """
    store = open_existing_store(home)
    found = 0
    for one in resolve_sessions(store, session):
        for entry in store.reader.read_intact_entries(one):
            if entry.kind is not EntryKind.CONTRACT:
                continue
            found += 1
            if as_json:
                click.echo(
                    json.dumps({"session": one, "seq": entry.seq, "ts": entry.ts, **entry.body}, ensure_ascii=False)
                )
                continue
            objective = " ".join(str(entry.body.get("objective", "")).split())[:120]
            click.echo(f"{format_timestamp(entry.ts)} {one} {click.style(str(entry.seq), bold=True)} {objective}")
            for name, values in entry.body.get("target_fields", {}).items():
                if values and name != "keywords":
                    click.echo(f"    {name}: {', '.join(map(str, values))[:200]}")
    if not found and not as_json:
        click.echo("nothing was asked for that makes a contract")


@click.command()
@click.option("--session", metavar="S", help="Only this session.")
@json_option
@home_option
def report(session: str | None, as_json: bool, home: Path | None) -> None:
    """What the gate did, or in shadow mode would have done, and why.

    Example: verdikt evidence report
    """
    store = open_existing_store(home)
    found = gate_summary(
        entry for one in resolve_sessions(store, session) for entry in store.reader.read_intact_entries(one)
    )
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, indent=1))
        return
    click.echo(f"{found['stops']} stops, {found['holes']} tool calls without a decision")
    for title in ("results", "claims", "missing"):
        if found[title]:
            click.echo(click.style(title, bold=True))
            for name, count in found[title].items():
                click.echo(f"  {count:>5}  {name}")
    for one in found["refused"]:
        mode = "" if one["enforced"] else " (shadow)"
        click.echo(f"{format_timestamp(one['ts'])} {one['session']} {one['seq']} {one['result']}{mode}")
        for missing in one["missing"]:
            words = " ".join(str(missing["words"]).split())[:80]
            click.echo(f"    “{words}”: {missing['reason']}")


@click.command()
@click.argument("session")
@click.option("--since", default=0, type=click.IntRange(min=0), metavar="SEQ", help="Only what comes after this entry.")
@json_option
@home_option
def explain(session: str, since: int, as_json: bool, home: Path | None) -> None:
    """A session as the gate sees it: what was asked, what ran, what was claimed and what came of it.

    Example: verdikt evidence explain 1f0c…
    """
    store = open_existing_store(home)
    lines = gate_story(store.reader.read_intact_entries(resolve_session(store, session), since=since))
    if as_json:
        click.echo(json.dumps(lines, ensure_ascii=False))
        return
    for line in lines or ["nothing was asked or claimed"]:
        click.echo(line)
