"""`verdikt doctor`: proves that the hooks fire instead of hoping that they do."""

import json
import os
import subprocess
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from verdikt.adapters.live.canary import Canary
from verdikt.adapters.wiring.checkup import Wired, crashes, wired, wrapper_state
from verdikt.adapters.wiring.install import Installation
from verdikt.cli.data import moment
from verdikt.errors import VerdiktError
from verdikt.ledger.home import data_home
from verdikt.model.value import Value

_FAILED = ("did not work", "no decision could be made", "could not start", "verdikt: blocked\n")


class Firing(Value, kw_only=True):
    """What came back when a canary went through the registered command."""

    blocked: bool
    why: str
    p50_milliseconds: float
    p99_milliseconds: float


@click.command()
@click.option(
    "--live",
    is_flag=True,
    help="Also run each real client against a scripted model and check that nothing forbidden ran.",
)
@click.option(
    "--calls", default=5, show_default=True, type=click.IntRange(1, 1000), help="How often to fire, for the times."
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
        reports = [_report(here, found, calls=calls, live=live) for found in wired(here)]
        general = _general(here, {report["scope"] for report in reports})
    except VerdiktError as error:
        raise click.ClickException(str(error)) from error
    hooks = general["git"]
    wrapped = general["wrapper"] == "intact" or not reports
    healthy = bool(reports or hooks["installed"]) and all(report["healthy"] for report in reports) and wrapped
    healthy = healthy and not (hooks["installed"] and hooks["missing"])
    if as_json:
        click.echo(json.dumps({"healthy": healthy, "hosts": reports, **general}))
    else:
        for report in reports:
            _print(report)
        _print_general(general, wired=bool(reports))
        if not reports and not hooks["installed"]:
            click.echo(_bad("nothing is wired here") + ": run `verdikt init`")
        elif reports:
            wrong = [f"{report['host']} ({report['scope']})" for report in reports if not report["healthy"]]
            click.echo(
                _bad(f"not in order: {', '.join(wrong)}") if wrong else _good("every client that is wired here blocks")
            )
    raise SystemExit(0 if healthy else 1)


def _report(here: Installation, found: Wired, *, calls: int, live: bool) -> dict[str, Any]:
    firing = _fire(here, found, calls)
    ran = ""
    if live:
        from verdikt.adapters.live.rehearsal import rehearse

        ran = rehearse(here, found.host)
    holes = [asdict(hole) for hole in found.holes]
    healthy = firing.blocked and found.trusted and not found.missing and not any(hole.open for hole in found.holes)
    return {
        "host": found.host,
        "scope": found.scope,
        "file": found.file,
        "events": sorted(found.commands),
        "missing": list(found.missing),
        "trusted": found.trusted,
        "firing": asdict(firing),
        "live": ran,
        "holes": holes,
        "healthy": healthy and ran in ("", "blocked"),
    }


def _fire(here: Installation, found: Wired, calls: int) -> Firing:
    """Through the shell, from the project, as the client does it."""
    if not found.before:
        return Firing(blocked=False, why="no hook before an action", p50_milliseconds=0, p99_milliseconds=0)
    payload = json.dumps(Canary(data=here.data).payload(found.host, found.before_event, here.project))
    times, said = [], None
    for _ in range(calls):
        start = time.perf_counter()
        said = subprocess.run(
            ["/bin/sh", "-c", found.before],
            input=payload,
            cwd=here.project,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        times.append((time.perf_counter() - start) * 1000)
    assert said is not None
    times.sort()
    p50, p99 = times[len(times) // 2], times[min(len(times) - 1, int(len(times) * 0.99))]
    return Firing(**_judged(said), p50_milliseconds=round(p50, 1), p99_milliseconds=round(p99, 1))


def _judged(said: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    try:
        document = json.loads(said.stdout)
    except ValueError:
        document = {}
    words = json.dumps(document)
    blocked = said.returncode == 2 or '"deny"' in words or '"block"' in words
    reason = (
        document.get("reason")
        or document.get("permissionDecisionReason")
        or document.get("user_message")
        or said.stderr
    )
    broken = next((mark for mark in _FAILED if mark in f"{reason}\n"), "")
    if not blocked:
        return {"blocked": False, "why": "the canary was not blocked"}
    return {"blocked": not broken, "why": str(reason).strip() if broken else ""}


def _general(here: Installation, scopes: set[str]) -> dict[str, Any]:
    from verdikt.ledger import pause
    from verdikt.ledger.files import open_store
    from verdikt.ledger.overrides import overrides_since
    from verdikt.projections import projections

    now = pause.current(open_store(Path(here.data), projections=projections())) if os.path.isdir(here.data) else None
    day = time.time() - 24 * 3600
    return {
        "wrapper": wrapper_state(here, scopes),
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
    click.echo(f"    wired    {wiring}")
    if report["host"] == "codex":
        advice = "; open `/hooks` in Codex, or run `verdikt init --host codex --trust-codex`"
        click.echo(
            "    trusted  " + ("yes" if report["trusted"] else _bad("no, so Codex skips the hooks in silence") + advice)
        )
    firing = report["firing"]
    if firing["blocked"]:
        click.echo(
            f"    firing   canary blocked, {firing['p50_milliseconds']} ms (p99 {firing['p99_milliseconds']} ms)"
        )
    else:
        click.echo("    firing   " + _bad(firing["why"]))
    if report["live"]:
        colour = _good if report["live"] == "blocked" else _bad
        click.echo("    live     " + colour(report["live"]))
    for hole in report["holes"]:
        click.echo(f"    {_bad('open   ') if hole['open'] else 'hole   '}  {hole['what']}\n             {hole['fix']}")


def _print_general(general: dict[str, Any], *, wired: bool) -> None:
    hooks = general["git"]
    if hooks["installed"]:
        lacking = _bad(f"; missing: {', '.join(hooks['missing'])}") + "; run `verdikt init --host git`"
        mark = _bad("✗") if hooks["missing"] else _good("✓")
        click.echo(
            f"{mark} {click.style('git', bold=True)} ({', '.join(hooks['installed'])})"
            + (lacking if hooks["missing"] else "")
        )
    if wired and general["wrapper"] != "intact":
        click.echo(_bad(f"✗ the wrapper is {general['wrapper']}") + "; run `verdikt init`")
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
