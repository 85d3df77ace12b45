"""`verdikt daemon`: the warm process behind the hooks."""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from verdikt.cli import daemon_control
from verdikt.cli.operator_access import refuse_agents
from verdikt.cli.store_access import json_option
from verdikt.daemon.client import start_daemon as spawn
from verdikt.daemon.journal import Journal
from verdikt.daemon.lifecycle import run_daemon
from verdikt.errors import DaemonError
from verdikt.hosts.claude import http_hooks
from verdikt.hosts.wiring.installation import Installation
from verdikt.ledger.data_directory import get_data_directory

EXIT_NOT_RUNNING = 3
"""The status of `verdikt daemon status` when there is none, as service managers have it."""

START_SECONDS = 15.0

_SOCKET_OPTION = click.option(
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
@_SOCKET_OPTION
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
        _serve_all_users(system, sock, home, allow)
    directory = daemon_control.require_run_directory()
    found = daemon_control.query_status(directory / "daemon.sock")
    begun = found is None
    if begun:
        found = _start_background(directory, [] if port is None else ["--http", str(port)])
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
    pid = daemon_control.stop_daemon(daemon_control.require_run_directory())
    if as_json:
        click.echo(json.dumps({"stopped": bool(pid), "pid": pid or None}))
    else:
        click.echo(f"stopped process {pid}" if pid else "not running")


@command.command()
@_SOCKET_OPTION
@json_option
def status(*, sock: Path | None, as_json: bool) -> None:
    """How it is: process, version, calls, times, memory. Ends with 3 when it does not run.

    Example: verdikt daemon status --json
    """
    place = sock or daemon_control.require_run_directory() / "daemon.sock"
    found = daemon_control.query_status(place)
    if as_json:
        click.echo(json.dumps({"running": found is not None, "socket": str(place), **(found or {})}))
    elif found is None:
        click.echo("not running; the next hook starts it" if sock is None else f"nobody answers at `{place}`")
    else:
        click.echo(_render_status(found, place))
    if found is None:
        sys.exit(EXIT_NOT_RUNNING)


@command.command()
@click.option(
    "--project", type=click.Path(exists=True, file_okay=False), default=".", help="The project; default: here."
)
def hooks(*, project: str) -> None:
    """Prints hooks that ask by http, for a project's `.claude/settings.json`. `verdikt init` wires commands instead.

    Needs `verdikt daemon start --http PORT`, and Claude Code 2.1.295 or newer, which blocks when nobody listens.

    Example: verdikt daemon hooks > hooks.json
    """
    run = daemon_control.require_run_directory()
    found = daemon_control.query_status(run / "daemon.sock")
    port = (found or {}).get("http")
    if not port:
        raise DaemonError(
            "nobody listens on a port: run `verdikt daemon start --http 8787` (`verdikt daemon stop` first)"
        )
    here = Installation(
        project=os.path.realpath(project), data_directory=str(get_data_directory(os.environ)), env=os.environ
    )
    click.echo(json.dumps(http_hooks.build_settings(here, port), indent=2))
    click.echo(
        f"start the client with {http_hooks.TOKEN_VARIABLE}=$(cat '{run}/http.token'); `verdikt doctor` tries the hooks",
        err=True,
    )


@command.command()
@click.option("-n", "--lines", default=20, show_default=True, help="How many of the last lines.")
def logs(*, lines: int) -> None:
    """What became of it: starts, ends, whom it sent away. Nothing of what it was asked.

    Example: verdikt daemon logs -n 50
    """
    for line in Journal(daemon_control.require_run_directory() / "daemon.log").read_tail(lines):
        ts, _, rest = line.partition(" ")
        try:
            click.echo(f"{datetime.fromtimestamp(float(ts), UTC):%Y-%m-%d %H:%M:%S} {rest}")
        except (ValueError, OverflowError, OSError):
            click.echo(line)


def _start_background(directory: Path, arguments: list[str]) -> dict[str, Any]:
    """Starts one in the background; how it is, once it answers."""
    if not spawn(os.environ, *arguments):
        raise DaemonError(f"cannot start `{sys.executable}`: run `verdikt doctor`")
    found: dict[str, Any] | None = daemon_control.wait_until(
        lambda: daemon_control.query_status(directory / "daemon.sock"), START_SECONDS
    )
    if found is None:
        raise DaemonError(f"it was started and does not answer: see `verdikt daemon logs`, or look into `{directory}`")
    return found


def _serve_all_users(system: bool, sock: Path | None, home: Path | None, allow: tuple[int, ...]) -> None:
    """Becomes the process that serves every user."""
    if not (system and sock and home):
        raise click.UsageError("expected --system together with --socket and --home")

    words = ["--system", "--socket", str(sock.absolute()), "--home", str(home.absolute())]
    sys.exit(run_daemon([*words, *(word for uid in allow for word in ("--allow", str(uid)))], dict(os.environ)))


def _render_status(stats: dict[str, Any], socket_path: Path) -> str:
    minutes, seconds = divmod(int(stats["uptime_seconds"]), 60)
    return "\n".join(
        [
            click.style("running", fg="green")
            + f": process {stats['pid']}, version {stats['version']}, at `{socket_path}`",
            f"for {minutes // 60} h {minutes % 60} min {seconds} s; "
            f"calls {stats['calls']}, refused {stats['refused']}, under way {stats['pending']}",
            f"p50 {stats['p50_ms']} ms, p99 {stats['p99_ms']} ms; "
            f"policies held {stats['policies']}, memory {stats['memory_kb'] // 1024} MB",
        ]
    )
