"""`verdikt doctor`: fires a canary through every hook that is wired, and reports what is not protected."""

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
from verdikt.cli.installation_health import inspect_installation, is_wired_whole
from verdikt.cli.mcp_check import check_servers, describe_server
from verdikt.cli.progress import show_status
from verdikt.cli.store_access import format_timestamp, open_data_store
from verdikt.council.config import Councils
from verdikt.errors import VerdiktError
from verdikt.evidence.section import EvidenceSettings
from verdikt.graph.policy_cache import load_cached_policy
from verdikt.hosts.git import git_hooks
from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.host import KnownGap
from verdikt.hosts.live.live_canary import BLOCKED, run_live_canary
from verdikt.hosts.registry import HOSTS
from verdikt.hosts.wiring.host_wiring import WiredFile
from verdikt.hosts.wiring.inspection import (
    count_crashes,
    find_unreadable_settings,
    find_wired_files,
)
from verdikt.hosts.wiring.installation import Installation
from verdikt.ledger import pause
from verdikt.ledger.data_directory import get_data_directory
from verdikt.ledger.evidence_records import OVERRIDE_MARKER_FILE, count_overrides_since
from verdikt.observe.alerts import CRASH_MARKER_FILE, read_marks
from verdikt.observe.git_index import GitIndex
from verdikt.observe.git_repository import find_work_tree
from verdikt.policy import load_policy
from verdikt.ratchet import describe_pending
from verdikt.report.gate import select_gate_entries


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
@click.option("--limits", is_flag=True, help="Also list what each client never shows to a hook, and what to do.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.option(
    "--project", type=click.Path(exists=True, file_okay=False), default=".", help="The project; default: here."
)
def command(*, live: bool, calls: int, limits: bool, as_json: bool, project: str) -> None:
    """Fire a canary through the exact command that each client's settings name, and check the answer.

    What is wrong comes first. Exit status 0 when every wired client blocks it, 1 otherwise and when nothing is wired.

    Example: verdikt doctor --live
    """
    installation = Installation(
        project=os.path.realpath(project), data_directory=str(get_data_directory(os.environ)), env=os.environ
    )
    try:
        with show_status("firing a canary through every hook"):
            reports = list(_collect_host_reports(installation, calls=calls, live=live))
        health = inspect_installation(installation, {report["scope"] for report in reports if report["wrapped"]})
        general = health._asdict() | _build_general_report(installation)
        with show_status("calling a canary of every relayed MCP server"):
            general["mcp"] = check_servers(installation)
    except VerdiktError as error:
        raise click.ClickException(str(error)) from error
    git_hook_names = general["git"]
    faults = health.list_faults(is_wrapper_called=any(report["wrapped"] for report in reports))
    failing = [f"{report['host']} ({report['scope']})" for report in reports if not report["healthy"]] + faults
    failing += ["git"] if git_hook_names["installed"] and git_hook_names["missing"] else []
    failing += [f"the MCP server {server['server']}" for server in general["mcp"] if not server["healthy"]]
    is_wired = bool(reports or git_hook_names["installed"])
    healthy = is_wired and not failing
    if as_json:
        click.echo(json.dumps({"healthy": healthy, "hosts": reports, **general}))
    else:
        if not is_wired:
            click.echo(_style_bad("nothing is wired here") + ": run `verdikt init`")
        elif healthy:
            click.echo(_style_good("every client that is wired here blocks" if reports else "commits are checked"))
        else:
            click.echo(_style_bad(f"failing: {', '.join(failing)}"))
        _print_problems(general, is_wrapper_intact="the wrapper" not in faults)
        # A client that fails is what the person came for.
        for report in sorted(reports, key=lambda report: bool(report["healthy"])):
            _print_host_report(report, limits=limits)
        for server in general["mcp"]:
            mark = _style_bad("✗") if not server["healthy"] else _style_good("✓") if server["relayed"] else " "
            click.echo(f"{mark} mcp {describe_server(server)}")
        _print_last_day(general)
        _print_limit_count(reports, limits=limits)
    raise SystemExit(0 if healthy else 1)


def _collect_host_reports(installation: Installation, *, calls: int, live: bool) -> Iterator[dict[str, Any]]:
    wait_seconds = READY_SECONDS
    for wired in find_wired_files(installation):
        canary = fire_canary(installation, wired, calls, wait_seconds=wait_seconds)
        # If no warm process came up for one client, none will for the next.
        wait_seconds = READY_SECONDS if canary.warm else 0
        yield _build_host_report(installation, wired, canary, live=live)


def _build_host_report(
    installation: Installation, wired: WiredFile, canary: CanaryResult, *, live: bool
) -> dict[str, Any]:
    live_result = ""
    # What a foreign file names could be anything, so it is not run.
    if live and not wired.is_foreign:
        live_result = run_live_canary(installation, wired.host)
    healthy = canary.blocked and is_wired_whole(wired)
    return {
        "host": wired.host,
        "scope": wired.scope,
        "file": wired.file,
        "events": sorted(wired.commands),
        "wrapped": wired.is_wrapped,
        "missing": list(wired.missing_events),
        "trusted": wired.is_trusted,
        "firing": asdict(canary),
        "live": live_result,
        "holes": [gap._asdict() for gap in (*wired.known_gaps, *_find_missing_triggers(installation, wired.host))],
        "healthy": healthy and live_result in ("", BLOCKED),
    }


def _find_missing_triggers(installation: Installation, host: str) -> list[KnownGap]:
    """Return a limit for each trigger of a council for which the host has no event."""
    try:
        councils = load_policy(installation.project, environ=installation.env).section("councils") or Councils()
    except VerdiktError:
        return []
    events, wired = HOSTS[host].events, HOSTS[host].wired_events
    # A plugin forwards every event of its host; of those, only the one that shows whether it works is listed.
    reported_kinds = {events.get(event) for event in (wired if len(wired) > 1 else events)}
    kinds = {
        "session-start": HookEventKind.START,
        "session-end": HookEventKind.END,
        "file-save": HookEventKind.AFTER,
    }
    return [
        KnownGap(
            what=f"{HOSTS[host].title} reports no {trigger}, so council `{council.name}` does not run then",
            fix=f"run `verdikt council trigger {trigger}`",
        )
        for trigger, kind in kinds.items()
        for council in councils.find_by_trigger(trigger)
        if kind not in reported_kinds
    ]


def _build_general_report(installation: Installation) -> dict[str, Any]:
    active_pause = None
    # Opening a store would create the directory.
    if os.path.isdir(installation.data_directory):
        store = open_data_store(Path(installation.data_directory))
        active_pause = pause.find_active_pause(store)
    day_ago = time.time() - 24 * 3600
    return {
        "unreadable": find_unreadable_settings(installation),
        "crashes": count_crashes(installation, since=day_ago),
        "overrides": count_overrides_since(Path(installation.data_directory), day_ago),
        "unproven": _count_unproven_turns(installation, day_ago),
        "breaches": _collect_breaches(installation),
        "paused": active_pause.reason if active_pause else "",
        "policy": describe_pending(installation.project, installation.env),
        "git": _list_git_hooks(installation),
    }


def _count_unproven_turns(installation: Installation, since: float) -> int:
    """Return how many turns ended with claims that nothing proves."""
    # Opening a store would create the directory.
    if not os.path.isdir(installation.data_directory):
        return 0
    store = open_data_store(Path(installation.data_directory))
    # Sessions that were not written to since are not read: there can be thousands.
    files = {name: store.reader.hot_file_path(name) for name in store.list_sessions()}
    recent = [name for name, file in files.items() if file.exists() and file.stat().st_mtime >= since]
    stops = select_gate_entries(entry for name in recent for entry in store.reader.read_intact_entries(name))
    oldest = int(since * 1_000_000)
    return sum(stop.ts >= oldest and stop.body.get("result") == "ended_unproven" for stop in stops)


def _collect_breaches(installation: Installation) -> dict[str, Any]:
    """Return the thresholds, when each was last passed, and where that was noted."""
    try:
        policy = load_cached_policy(installation.project, installation.env)
        settings = policy.section("evidence") or EvidenceSettings()
    except VerdiktError:
        settings = EvidenceSettings()
    data = Path(installation.data_directory)
    return {
        "overrides_per_day": settings.overrides_per_day,
        "crashes_per_hour": settings.crashes_per_hour,
        "overrides": read_marks(data / "overrides" / OVERRIDE_MARKER_FILE).get("overrides"),
        "crashes": read_marks(data / CRASH_MARKER_FILE),
        "memory": settings.memory,
    }


def _list_git_hooks(installation: Installation) -> dict[str, list[str]]:
    """Return which hooks of the project's repository are ours, and which are not."""
    states = []
    if find_work_tree(installation.project):
        directory = GitIndex(installation.project, installation.env).find_hooks_directory()
        states = git_hooks.read_hook_states(directory)
    return {
        "installed": [hook.name for hook in states if hook.is_installed],
        "missing": [hook.name for hook in states if not hook.is_installed],
    }


_NAME_WIDTH = len("not protected") + 2
"""The width of the first column of the report."""


def _style_good(text: str) -> str:
    return click.style(text, fg="green")


def _style_bad(text: str) -> str:
    return click.style(text, fg="red")


def _print_limit_count(reports: list[dict[str, Any]], *, limits: bool) -> None:
    count = sum(not gap["open"] for report in reports for gap in report["holes"])
    if count and not limits:
        click.echo(f"{count} known limit{'s' if count > 1 else ''}: `verdikt doctor --limits` lists them")


def _print_host_report(report: dict[str, Any], *, limits: bool) -> None:
    mark = _style_good("✓") if report["healthy"] else _style_bad("✗")
    click.echo(f"{mark} {click.style(report['host'], bold=True)} ({report['scope']}: {report['file']})")
    events = f"{len(report['events'])} event{'s' if len(report['events']) != 1 else ''}"
    if report["missing"]:
        events += _style_bad(f", missing: {', '.join(report['missing'])}") + "; run `verdikt init`"
    click.echo(_format_row("wired", events))
    host = HOSTS[report["host"]]
    if host.approval_advice:
        distrust = _style_bad(f"no, so {host.title} skips the hooks in silence") + f"; {host.approval_advice}"
        click.echo(_format_row("trusted", "yes" if report["trusted"] else distrust))
    firing = report["firing"]
    click.echo(_format_row("firing", "canary blocked" if firing["blocked"] else _style_bad(firing["why"])))
    if firing["blocked"]:
        click.echo(_format_row("time", _describe_latency(firing)))
    if report["live"]:
        style = _style_good if report["live"] == BLOCKED else _style_bad
        click.echo(_format_row("live", style(report["live"])))
    for gap in (gap for gap in report["holes"] if gap["open"] or limits):
        click.echo(_format_row(_style_bad("not protected") if gap["open"] else "known limit", gap["what"]))
        click.echo(_format_row("", gap["fix"]))


def _format_row(name: str, text: str) -> str:
    """Return a line of the report, wrapped to the width of a terminal."""
    indent = " " * (_NAME_WIDTH + 4)
    head = f"    {name}{' ' * (_NAME_WIDTH - len(click.unstyle(name)))}"
    # In a pipe every row stays on one line, so that it can be searched.
    if not sys.stdout.isatty():
        return head + text.replace("\n", f"\n{indent}")
    return head + click.wrap_text(text, shutil.get_terminal_size().columns, indent, indent).removeprefix(indent)


def _describe_latency(canary: dict[str, Any]) -> str:
    """Return what a call costs, and whether the warm process answered it."""
    times = f"p50 {canary['p50_milliseconds']} ms, p99 {canary['p99_milliseconds']} ms"
    call_count = f"over {canary['calls']} call{'s' if canary['calls'] != 1 else ''}"
    if canary["warm"]:
        cold = canary["cold_milliseconds"]
        note = "" if cold is None else f"; a first one, which found none running and started it, took {cold} ms"
        return f"{times} {call_count}, answered by the warm process{note}"
    is_off = os.environ.get("VERDIKT_DAEMON") == "off"
    why = "VERDIKT_DAEMON switches the warm process off" if is_off else "the warm process did not answer them all"
    return f"{times} {call_count}; slow, because {why}: see `verdikt daemon status`"


def _print_problems(general: dict[str, Any], *, is_wrapper_intact: bool) -> None:
    if not is_wrapper_intact:
        click.echo(_style_bad(f"✗ the wrapper is {general['wrapper']}") + "; run `verdikt init`")
    if general["policy_fault"]:
        # The canary is blocked all the same, as every other call, which looks like protection and is a standstill.
        click.echo(
            _style_bad("✗ the policy can't be loaded, so every call is blocked") + f": {general['policy_fault']}"
        )
    runtime = general["runtime"]
    if runtime["project"]:
        click.echo(
            _style_bad(f"✗ the hooks run from `{runtime['environment']}`, which lies in `{runtime['project']}`")
            + ": who works there can change them; run `verdikt init --isolated`, or install with `uv tool` or `pipx`"
        )
    elif runtime["other_project"]:
        click.echo(
            click.style("! ", fg="yellow")
            + f"the hooks run from `{runtime['environment']}`, in the project `{runtime['other_project']}`:"
            " `verdikt init --isolated` makes an environment outside of every project"
        )
    for fault in general["unreadable"]:
        click.echo(click.style("! ", fg="yellow") + f"not inspected: {fault}")
    if general["paused"]:
        click.echo(click.style("! paused", fg="yellow") + f": {general['paused']}; `verdikt pause --end` ends it")
    for project in general["unlogged_acceptances"]:
        message = f"✗ no signed entry says that a person accepted the policy of `{project}`"
        click.echo(_style_bad(message) + "; look at the policy there and run `verdikt policy accept`")
    if general["policy"]:
        click.echo(click.style("! policy", fg="yellow") + f": {general['policy']}")
    if general["unproven"]:
        turns = "1 turn" if general["unproven"] == 1 else f"{general['unproven']} turns"
        click.echo(
            click.style("! ", fg="yellow") + f"{turns} ended unproven; see `verdikt evidence report --since 24h`"
        )
    _print_breaches(general["breaches"])


def _print_last_day(general: dict[str, Any]) -> None:
    installed, missing = general["git"]["installed"], general["git"]["missing"]
    if installed:
        note = _style_bad(f"; missing: {', '.join(missing)}") + "; run `verdikt init --host git`" if missing else ""
        mark = _style_bad("✗") if missing else _style_good("✓")
        click.echo(f"{mark} {click.style('git', bold=True)} ({', '.join(installed)}){note}")
    total = sum(general["crashes"].values())
    click.echo(f"in the last day: crashes of hooks {total}, attempts to override {general['overrides']}")
    for hook, count in sorted(general["crashes"].items()):
        click.echo(f"    {hook}: {count}")


def _print_breaches(breaches: dict[str, Any]) -> None:
    note = f"; noted beside `{breaches['memory']}`" if breaches["memory"] else ""
    passed_thresholds = [
        (f"{breaches['crashes_per_hour']} crashes of {hook} in an hour", seconds)
        for hook, seconds in breaches["crashes"].items()
    ]
    if breaches["overrides"]:
        passed_thresholds.append(
            (f"{breaches['overrides_per_day']} attempts to override in 24 hours", breaches["overrides"])
        )
    for what, seconds in sorted(passed_thresholds, key=lambda threshold: threshold[1]):
        timestamp = format_timestamp(int(seconds * 1_000_000))
        click.echo(click.style("! ", fg="yellow") + f"threshold passed: {what}, at {timestamp}{note}")
