"""`verdikt doctor`: proves that the hooks fire instead of hoping that they do."""

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from verdikt.adapters.wiring.checkup import Wired, crashes, unreadable, wired, wrapper_state
from verdikt.adapters.wiring.install import Installation
from verdikt.cli.data import moment
from verdikt.cli.firing import READY_SECONDS, Firing, fire
from verdikt.errors import VerdiktError
from verdikt.ledger.home import data_home


@click.command()
@click.option(
    "--live",
    is_flag=True,
    help="Also run each real client against a scripted model and check that nothing forbidden ran.",
)
@click.option(
    "--calls",
    default=20,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="How often to fire for the times, after a first call that may start the warm process.",
)
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.option(
    "--project", type=click.Path(exists=True, file_okay=False), default=".", help="The project; default: here."
)
def command(*, live: bool, calls: int, as_json: bool, project: str) -> None:
    """Fires a canary through the exact command that each client's settings name, and checks the answer.

    Exit status 0 when every wired client blocks it, 1 otherwise and when nothing is wired.

    Example: verdikt doctor --live
    """
    here = Installation(project=os.path.realpath(project), data=str(data_home(os.environ)), env=os.environ)
    try:
        reports = []
        for report in _reports(here, calls=calls, live=live):
            reports.append(report)
            if not as_json:
                _print(report)
        general = _general(here, {report["scope"] for report in reports if report["wrapped"]})
    except VerdiktError as error:
        raise click.ClickException(str(error)) from error
    hooks = general["git"]
    wrapped = general["wrapper"] == "intact" or not any(report["wrapped"] for report in reports)
    healthy = bool(reports or hooks["installed"]) and all(report["healthy"] for report in reports) and wrapped
    healthy = healthy and not (hooks["installed"] and hooks["missing"])
    if as_json:
        click.echo(json.dumps({"healthy": healthy, "hosts": reports, **general}))
    else:
        _print_general(general, wrapped=wrapped)
        if not reports and not hooks["installed"]:
            click.echo(_bad("nothing is wired here") + ": run `verdikt init`")
        elif healthy:
            click.echo(_good("every client that is wired here blocks" if reports else "commits are checked"))
        else:
            wrong = [f"{report['host']} ({report['scope']})" for report in reports if not report["healthy"]]
            wrong += [] if wrapped else ["the wrapper"]
            wrong += ["git"] if hooks["installed"] and hooks["missing"] else []
            click.echo(_bad(f"not in order: {', '.join(wrong)}"))
    raise SystemExit(0 if healthy else 1)


def _reports(here: Installation, *, calls: int, live: bool) -> Iterator[dict[str, Any]]:
    patience = READY_SECONDS
    for found in wired(here):
        firing = fire(here, found, calls, patience=patience)
        # Where none came for one client, none comes for the next.
        patience = READY_SECONDS if firing.warm else 0
        yield _report(here, found, firing, live=live)


def _report(here: Installation, found: Wired, firing: Firing, *, live: bool) -> dict[str, Any]:
    ran = ""
    if live and not found.foreign:
        from verdikt.adapters.live.rehearsal import rehearse

        ran = rehearse(here, found.host)
    holes = [asdict(hole) for hole in found.holes]
    healthy = firing.blocked and found.trusted and not found.missing and not any(hole.open for hole in found.holes)
    return {
        "host": found.host,
        "scope": found.scope,
        "file": found.file,
        "events": sorted(found.commands),
        "wrapped": found.wrapped,
        "missing": list(found.missing),
        "trusted": found.trusted,
        "firing": asdict(firing),
        "live": ran,
        "holes": holes,
        "healthy": healthy and ran in ("", "blocked"),
    }


def _general(here: Installation, scopes: set[str]) -> dict[str, Any]:
    from verdikt.ledger import pause
    from verdikt.ledger.files import open_store
    from verdikt.ledger.overrides import overrides_since
    from verdikt.projections import projections

    now = pause.current(open_store(Path(here.data), projections=projections())) if os.path.isdir(here.data) else None
    day = time.time() - 24 * 3600
    return {
        "wrapper": wrapper_state(here, scopes),
        "unreadable": unreadable(here),
        "crashes": crashes(here, since=day),
        "overrides": overrides_since(Path(here.data), day),
        "breaches": _breaches(here),
        "paused": now.reason if now else "",
        "git": _git(here),
    }


def _breaches(here: Installation) -> dict[str, Any]:
    """Which thresholds were passed, when last, and where that was noted."""
    from verdikt.evidence.section import EvidenceSettings
    from verdikt.ledger import overrides
    from verdikt.observe import crashes as crashing
    from verdikt.observe.breach import marks
    from verdikt.policy import load_policy

    try:
        wanted = load_policy(here.project, environ=here.env).section("evidence") or EvidenceSettings()
    except VerdiktError:
        wanted = EvidenceSettings()
    data = Path(here.data)
    return {
        "overrides_per_day": wanted.overrides_per_day,
        "crashes_per_hour": wanted.crashes_per_hour,
        "overrides": marks(data / "overrides" / overrides.MARKER).get("overrides"),
        "crashes": marks(data / crashing.MARKER),
        "memory": wanted.memory,
    }


def _git(here: Installation) -> dict[str, list[str]]:
    """Which hooks of the project's repository call us, and which do not."""
    from verdikt.adapters.wiring import git
    from verdikt.observe.git import find_root
    from verdikt.observe.index import GitIndex

    found = git.status(GitIndex(here.project, here.env).hooks_directory()) if find_root(here.project) else []
    return {
        "installed": [hook.name for hook in found if hook.installed],
        "missing": [hook.name for hook in found if not hook.installed],
    }


def _good(text: str) -> str:
    return click.style(text, fg="green")


def _bad(text: str) -> str:
    return click.style(text, fg="red")


def _print(report: dict[str, Any]) -> None:
    mark = _good("✓") if report["healthy"] else _bad("✗")
    click.echo(f"{mark} {click.style(report['host'], bold=True)} ({report['scope']}: {report['file']})")
    wiring = f"{len(report['events'])} event{'s' if len(report['events']) != 1 else ''}"
    if report["missing"]:
        wiring += _bad(f", missing: {', '.join(report['missing'])}") + "; run `verdikt init`"
    click.echo(_row("wired", wiring))
    if report["host"] == "codex":
        advice = "; open `/hooks` in Codex, or run `verdikt init --host codex --trust-codex`"
        distrust = _bad("no, so Codex skips the hooks in silence") + advice
        click.echo(_row("trusted", "yes" if report["trusted"] else distrust))
    firing = report["firing"]
    click.echo(_row("firing", "canary blocked" if firing["blocked"] else _bad(firing["why"])))
    if firing["blocked"]:
        click.echo(_row("time", _times(firing)))
    if report["live"]:
        colour = _good if report["live"] == "blocked" else _bad
        click.echo(_row("live", colour(report["live"])))
    for hole in report["holes"]:
        click.echo(_row(_bad("open") if hole["open"] else "hole", hole["what"]))
        click.echo(_row("", hole["fix"]))


def _row(name: str, text: str) -> str:
    """A line of the report; on a terminal as many lines as it is wide for."""
    indent = " " * 13
    head = f"    {name}{' ' * (9 - len(click.unstyle(name)))}"
    if not sys.stdout.isatty():
        return head + text.replace("\n", f"\n{indent}")
    return head + click.wrap_text(text, shutil.get_terminal_size().columns, indent, indent).removeprefix(indent)


def _times(firing: dict[str, Any]) -> str:
    """What a call costs, and who answered it."""
    times = f"p50 {firing['p50_milliseconds']} ms, p99 {firing['p99_milliseconds']} ms"
    over = f"over {firing['calls']} call{'s' if firing['calls'] != 1 else ''}"
    if firing["warm"]:
        cold = firing["cold_milliseconds"]
        first = "" if cold is None else f"; a first one, which found none running and started it, took {cold} ms"
        return f"{times} {over}, answered by the warm process{first}"
    off = os.environ.get("VERDIKT_DAEMON") == "off"
    why = "VERDIKT_DAEMON switches the warm process off" if off else "the warm process did not answer them all"
    return f"{times} {over}; slow, because {why}: see `verdikt daemon status`"


def _print_general(general: dict[str, Any], *, wrapped: bool) -> None:
    hooks = general["git"]
    if hooks["installed"]:
        lacking = _bad(f"; missing: {', '.join(hooks['missing'])}") + "; run `verdikt init --host git`"
        mark = _bad("✗") if hooks["missing"] else _good("✓")
        click.echo(
            f"{mark} {click.style('git', bold=True)} ({', '.join(hooks['installed'])})"
            + (lacking if hooks["missing"] else "")
        )
    if not wrapped:
        click.echo(_bad(f"✗ the wrapper is {general['wrapper']}") + "; run `verdikt init`")
    for fault in general["unreadable"]:
        click.echo(click.style("! ", fg="yellow") + f"not looked at: {fault}")
    if general["paused"]:
        click.echo(click.style("! paused", fg="yellow") + f": {general['paused']}; `verdikt pause --end` ends it")
    total = sum(general["crashes"].values())
    click.echo(f"in the last day: crashes of hooks {total}, attempts to override {general['overrides']}")
    for hook, count in sorted(general["crashes"].items()):
        click.echo(f"    {hook}: {count}")
    _print_breaches(general["breaches"])


def _print_breaches(breaches: dict[str, Any]) -> None:
    noted = f"; noted beside `{breaches['memory']}`" if breaches["memory"] else ""
    passed = [
        (f"{breaches['crashes_per_hour']} crashes of {hook} in an hour", at) for hook, at in breaches["crashes"].items()
    ]
    if breaches["overrides"]:
        passed.append((f"{breaches['overrides_per_day']} attempts to override in 24 hours", breaches["overrides"]))
    for what, at in sorted(passed, key=lambda one: one[1]):
        click.echo(
            click.style("! ", fg="yellow") + f"threshold passed: {what}, at {moment(int(at * 1_000_000))}{noted}"
        )
