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

from verdikt.cli.canary_check import READY_SECONDS, CanaryResult, fire_canary
from verdikt.cli.store_access import format_timestamp
from verdikt.errors import VerdiktError
from verdikt.evidence.section import EvidenceSettings
from verdikt.hosts.git import git_hooks
from verdikt.hosts.live.live_canary import run_live_canary
from verdikt.hosts.wiring.inspection import (
    HookWiring,
    count_crashes,
    find_unreadable_settings,
    find_wirings,
    get_wrapper_state,
)
from verdikt.hosts.wiring.installation import Installation
from verdikt.ledger import pause
from verdikt.ledger.data_directory import get_data_directory
from verdikt.ledger.evidence_records import OVERRIDE_MARKER_FILE, count_overrides_since
from verdikt.ledger.files import open_store
from verdikt.ledger.projections import load_projections
from verdikt.observe.alerts import CRASH_MARKER_FILE, read_marks
from verdikt.observe.git_index import GitIndex
from verdikt.observe.git_repository import find_work_tree
from verdikt.policy import load_policy


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
    here = Installation(
        project=os.path.realpath(project), data_directory=str(get_data_directory(os.environ)), env=os.environ
    )
    try:
        reports = []
        for report in _collect_host_reports(here, calls=calls, live=live):
            reports.append(report)
            if not as_json:
                _print_host_report(report)
        general = _build_general_report(here, {report["scope"] for report in reports if report["wrapped"]})
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
            click.echo(_style_bad("nothing is wired here") + ": run `verdikt init`")
        elif healthy:
            click.echo(_style_good("every client that is wired here blocks" if reports else "commits are checked"))
        else:
            wrong = [f"{report['host']} ({report['scope']})" for report in reports if not report["healthy"]]
            wrong += [] if wrapped else ["the wrapper"]
            wrong += ["git"] if hooks["installed"] and hooks["missing"] else []
            click.echo(_style_bad(f"not in order: {', '.join(wrong)}"))
    raise SystemExit(0 if healthy else 1)


def _collect_host_reports(installation: Installation, *, calls: int, live: bool) -> Iterator[dict[str, Any]]:
    patience = READY_SECONDS
    for found in find_wirings(installation):
        firing = fire_canary(installation, found, calls, wait_seconds=patience)
        # Where none came for one client, none comes for the next.
        patience = READY_SECONDS if firing.warm else 0
        yield _build_host_report(installation, found, firing, live=live)


def _build_host_report(
    installation: Installation, wiring: HookWiring, canary: CanaryResult, *, live: bool
) -> dict[str, Any]:
    ran = ""
    if live and not wiring.is_foreign:
        ran = run_live_canary(installation, wiring.host)
    holes = [asdict(hole) for hole in wiring.known_gaps]
    healthy = (
        canary.blocked
        and wiring.is_trusted
        and not wiring.missing_events
        and not any(hole.open for hole in wiring.known_gaps)
    )
    return {
        "host": wiring.host,
        "scope": wiring.scope,
        "file": wiring.file,
        "events": sorted(wiring.commands),
        "wrapped": wiring.is_wrapped,
        "missing": list(wiring.missing_events),
        "trusted": wiring.is_trusted,
        "firing": asdict(canary),
        "live": ran,
        "holes": holes,
        "healthy": healthy and ran in ("", "blocked"),
    }


def _build_general_report(installation: Installation, scopes: set[str]) -> dict[str, Any]:
    now = (
        pause.find_active_pause(open_store(Path(installation.data_directory), projections=load_projections()))
        if os.path.isdir(installation.data_directory)
        else None
    )
    day = time.time() - 24 * 3600
    return {
        "wrapper": get_wrapper_state(installation, scopes),
        "unreadable": find_unreadable_settings(installation),
        "crashes": count_crashes(installation, since=day),
        "overrides": count_overrides_since(Path(installation.data_directory), day),
        "breaches": _collect_breaches(installation),
        "paused": now.reason if now else "",
        "git": _list_git_hooks(installation),
    }


def _collect_breaches(installation: Installation) -> dict[str, Any]:
    """Which thresholds were passed, when last, and where that was noted."""
    try:
        wanted = load_policy(installation.project, environ=installation.env).section("evidence") or EvidenceSettings()
    except VerdiktError:
        wanted = EvidenceSettings()
    data = Path(installation.data_directory)
    return {
        "overrides_per_day": wanted.overrides_per_day,
        "crashes_per_hour": wanted.crashes_per_hour,
        "overrides": read_marks(data / "overrides" / OVERRIDE_MARKER_FILE).get("overrides"),
        "crashes": read_marks(data / CRASH_MARKER_FILE),
        "memory": wanted.memory,
    }


def _list_git_hooks(installation: Installation) -> dict[str, list[str]]:
    """Which hooks of the project's repository call us, and which do not."""
    found = (
        git_hooks.read_hook_states(GitIndex(installation.project, installation.env).find_hooks_directory())
        if find_work_tree(installation.project)
        else []
    )
    return {
        "installed": [hook.name for hook in found if hook.is_installed],
        "missing": [hook.name for hook in found if not hook.is_installed],
    }


def _style_good(text: str) -> str:
    return click.style(text, fg="green")


def _style_bad(text: str) -> str:
    return click.style(text, fg="red")


def _print_host_report(report: dict[str, Any]) -> None:
    mark = _style_good("✓") if report["healthy"] else _style_bad("✗")
    click.echo(f"{mark} {click.style(report['host'], bold=True)} ({report['scope']}: {report['file']})")
    wiring = f"{len(report['events'])} event{'s' if len(report['events']) != 1 else ''}"
    if report["missing"]:
        wiring += _style_bad(f", missing: {', '.join(report['missing'])}") + "; run `verdikt init`"
    click.echo(_format_row("wired", wiring))
    if report["host"] == "codex":
        advice = "; open `/hooks` in Codex, or run `verdikt init --host codex --trust-codex`"
        distrust = _style_bad("no, so Codex skips the hooks in silence") + advice
        click.echo(_format_row("trusted", "yes" if report["trusted"] else distrust))
    firing = report["firing"]
    click.echo(_format_row("firing", "canary blocked" if firing["blocked"] else _style_bad(firing["why"])))
    if firing["blocked"]:
        click.echo(_format_row("time", _describe_latency(firing)))
    if report["live"]:
        colour = _style_good if report["live"] == "blocked" else _style_bad
        click.echo(_format_row("live", colour(report["live"])))
    for hole in report["holes"]:
        click.echo(_format_row(_style_bad("open") if hole["open"] else "hole", hole["what"]))
        click.echo(_format_row("", hole["fix"]))


def _format_row(name: str, text: str) -> str:
    """A line of the report; on a terminal as many lines as it is wide for."""
    indent = " " * 13
    head = f"    {name}{' ' * (9 - len(click.unstyle(name)))}"
    if not sys.stdout.isatty():
        return head + text.replace("\n", f"\n{indent}")
    return head + click.wrap_text(text, shutil.get_terminal_size().columns, indent, indent).removeprefix(indent)


def _describe_latency(canary: dict[str, Any]) -> str:
    """What a call costs, and who answered it."""
    times = f"p50 {canary['p50_milliseconds']} ms, p99 {canary['p99_milliseconds']} ms"
    over = f"over {canary['calls']} call{'s' if canary['calls'] != 1 else ''}"
    if canary["warm"]:
        cold = canary["cold_milliseconds"]
        first = "" if cold is None else f"; a first one, which found none running and started it, took {cold} ms"
        return f"{times} {over}, answered by the warm process{first}"
    off = os.environ.get("VERDIKT_DAEMON") == "off"
    why = "VERDIKT_DAEMON switches the warm process off" if off else "the warm process did not answer them all"
    return f"{times} {over}; slow, because {why}: see `verdikt daemon status`"


def _print_general(general: dict[str, Any], *, wrapped: bool) -> None:
    hooks = general["git"]
    if hooks["installed"]:
        lacking = _style_bad(f"; missing: {', '.join(hooks['missing'])}") + "; run `verdikt init --host git`"
        mark = _style_bad("✗") if hooks["missing"] else _style_good("✓")
        click.echo(
            f"{mark} {click.style('git', bold=True)} ({', '.join(hooks['installed'])})"
            + (lacking if hooks["missing"] else "")
        )
    if not wrapped:
        click.echo(_style_bad(f"✗ the wrapper is {general['wrapper']}") + "; run `verdikt init`")
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
            click.style("! ", fg="yellow")
            + f"threshold passed: {what}, at {format_timestamp(int(at * 1_000_000))}{noted}"
        )
