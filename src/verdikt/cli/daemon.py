"""`verdikt daemon`: the warm process behind the hooks."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from verdikt.cli import warm
from verdikt.cli.data import json_option
from verdikt.cli.operator import refuse_agents
from verdikt.errors import DaemonError

NOT_RUNNING = 3
"""The status of `verdikt daemon status` when there is none, as service managers have it."""

START_SECONDS = 15.0

_SOCKET = click.option(
    "--socket", "sock", type=click.Path(path_type=Path), help="The socket of a system-wide one, instead of your own."
)


@click.group()
def command() -> None:
    """The warm process that answers hooks: started by the first of them, ended by itself when it has nothing to do.

    Example: verdikt daemon status
    """


@command.command()
@click.option(
    "--http", "port", type=click.IntRange(0, 65535), is_flag=False, flag_value=0, help="Answer http hooks as well."
)
@click.option("--system", is_flag=True, help="Serve every user of this machine, and stay in the foreground.")
@_SOCKET
@click.option("--home", type=click.Path(path_type=Path), help="With --system: where the data of all users is kept.")
@click.option("--allow", type=int, multiple=True, help="With --system: only this user id. Can be given again.")
@json_option
def start(
    *, port: int | None, system: bool, sock: Path | None, home: Path | None, allow: tuple[int, ...], as_json: bool
) -> None:
    """Starts it now, instead of by the next hook; does nothing when it runs already.

    \b
    Example: verdikt daemon start
             verdikt daemon start --http 8787
             verdikt daemon start --system --socket /run/verdikt/daemon.sock --home /var/lib/verdikt
    """
    if system or sock or home or allow:
        _serve_all(system, sock, home, allow)
    directory = warm.directory()
    found = warm.status(directory / "daemon.sock")
    begun = found is None
    if begun:
        found = _begin(directory, [] if port is None else ["--http", str(port)])
    elif port is not None and not (found or {}).get("http"):
        raise DaemonError("it runs already, without a port: end it with `verdikt daemon stop`, then start it again")
    assert found is not None
    if as_json:
        click.echo(json.dumps({"started": begun, **found}))
        return
    click.echo(f"{'started' if begun else 'runs already'}: process {found['pid']}")
    if found.get("http"):
        click.echo(
            f"http hooks: http://127.0.0.1:{found['http']}/hook/<host>/<event>, token in `{directory}/http.token`; "
            "`verdikt daemon hooks` prints settings for a project"
        )


@command.command()
@json_option
def stop(*, as_json: bool) -> None:
    """Ends it. Whoever has asked is answered first; the next hook starts a new one, unless VERDIKT_DAEMON=off.

    For people: an agent's environment is refused.

    Example: verdikt daemon stop
    """
    refuse_agents("`verdikt daemon stop`")
    pid = warm.stop(warm.directory())
    if as_json:
        click.echo(json.dumps({"stopped": bool(pid), "pid": pid or None}))
    else:
        click.echo(f"stopped process {pid}" if pid else "not running")


@command.command()
@_SOCKET
@json_option
def status(*, sock: Path | None, as_json: bool) -> None:
    """How it is: process, version, calls, times, memory. Ends with 3 when it does not run.

    Example: verdikt daemon status --json
    """
    place = sock or warm.directory() / "daemon.sock"
    found = warm.status(place)
    if as_json:
        click.echo(json.dumps({"running": found is not None, "socket": str(place), **(found or {})}))
    elif found is None:
        click.echo("not running; the next hook starts it" if sock is None else f"nobody answers at `{place}`")
    else:
        click.echo(_shown(found, place))
    if found is None:
        sys.exit(NOT_RUNNING)


@command.command()
@click.option(
    "--project", type=click.Path(exists=True, file_okay=False), default=".", help="The project; default: here."
)
def hooks(*, project: str) -> None:
    """Prints hooks that ask by http, for a project's `.claude/settings.json`. `verdikt init` wires commands instead.

    Needs `verdikt daemon start --http PORT`, and Claude Code 2.1.295 or newer, which blocks when nobody listens.

    Example: verdikt daemon hooks > hooks.json
    """
    from verdikt.adapters.wiring import web
    from verdikt.adapters.wiring.install import Installation
    from verdikt.ledger.home import data_home

    run = warm.directory()
    found = warm.status(run / "daemon.sock")
    port = (found or {}).get("http")
    if not port:
        raise DaemonError(
            "nobody listens on a port: run `verdikt daemon start --http 8787` (`verdikt daemon stop` first)"
        )
    here = Installation(project=os.path.realpath(project), data=str(data_home(os.environ)), env=os.environ)
    click.echo(json.dumps(web.hooks(here, port), indent=2))
    click.echo(
        f"start the client with {web.TOKEN}=$(cat '{run}/http.token'); `verdikt doctor` tries the hooks", err=True
    )


@command.command()
@click.option("-n", "--lines", default=20, show_default=True, help="How many of the last lines.")
def logs(*, lines: int) -> None:
    """What became of it: starts, ends, whom it sent away. Nothing of what it was asked.

    Example: verdikt daemon logs -n 50
    """
    from datetime import UTC, datetime

    from verdikt.daemon.journal import Journal

    for line in Journal(warm.directory() / "daemon.log").tail(lines):
        ts, _, rest = line.partition(" ")
        try:
            click.echo(f"{datetime.fromtimestamp(float(ts), UTC):%Y-%m-%d %H:%M:%S} {rest}")
        except (ValueError, OverflowError, OSError):
            click.echo(line)


def _begin(directory: Path, arguments: list[str]) -> dict[str, Any]:
    """Starts one in the background; how it is, once it answers."""
    from verdikt.daemon.client import start as spawn

    if not spawn(os.environ, *arguments):
        raise DaemonError(f"cannot start `{sys.executable}`: run `verdikt doctor`")
    found: dict[str, Any] | None = warm.wait(lambda: warm.status(directory / "daemon.sock"), START_SECONDS)
    if found is None:
        raise DaemonError(f"it was started and does not answer: see `verdikt daemon logs`, or look into `{directory}`")
    return found


def _serve_all(system: bool, sock: Path | None, home: Path | None, allow: tuple[int, ...]) -> None:
    """Becomes the process that serves every user."""
    if not (system and sock and home):
        raise click.UsageError("expected --system together with --socket and --home")
    from verdikt.daemon.life import live

    words = ["--system", "--socket", str(sock.absolute()), "--home", str(home.absolute())]
    sys.exit(live([*words, *(word for uid in allow for word in ("--allow", str(uid)))], dict(os.environ)))


def _shown(found: dict[str, Any], place: Path) -> str:
    minutes, seconds = divmod(int(found["uptime_seconds"]), 60)
    return "\n".join(
        [
            click.style("running", fg="green") + f": process {found['pid']}, version {found['version']}, at `{place}`",
            f"for {minutes // 60} h {minutes % 60} min {seconds} s; "
            f"calls {found['calls']}, refused {found['refused']}, under way {found['pending']}",
            f"p50 {found['p50_ms']} ms, p99 {found['p99_ms']} ms; "
            f"policies held {found['policies']}, memory {found['memory_kb'] // 1024} MB",
        ]
    )
