"""`verdikt daemon`: the warm process behind the hooks."""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click

from verdikt.cli import daemon_control
from verdikt.cli.exit_status import EXIT_NOT_RUNNING
from verdikt.cli.operator_access import refuse_agents
from verdikt.cli.store_access import json_option
from verdikt.cli.suggesting_group import SuggestingGroup
from verdikt.daemon.client import start_daemon as spawn
from verdikt.daemon.journal import Journal
from verdikt.daemon.lifecycle import run_daemon
from verdikt.daemon.otlp_settings import OtlpProgress, OtlpSettings, remove_settings
from verdikt.errors import DaemonError
from verdikt.hosts.claude import http_hooks
from verdikt.hosts.wiring.installation import Installation
from verdikt.integrations.sdk_import import import_sdk
from verdikt.ledger.data_directory import get_data_directory

# Generous: a starting daemon imports the whole engine before it answers, and the machine may be busy.
START_SECONDS = 15.0

_SOCKET_OPTION = click.option(
    "--socket", "sock", type=click.Path(path_type=Path), help="The socket of a system-wide daemon, instead of your own."
)


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Control the warm process that answers hooks; the first hook starts it, and it ends when idle.

    Example: verdikt daemon status
    """


@command.command()
@click.option(
    "--http", "port", type=click.IntRange(0, 65535), is_flag=False, flag_value=0, help="Answer http hooks as well."
)
@click.option("--system", is_flag=True, help="Serve every user of this machine, and stay in the foreground.")
@_SOCKET_OPTION
@click.option("--home", type=click.Path(path_type=Path), help="With --system: the data directory of all users.")
@click.option("--allow", type=int, multiple=True, help="With --system: only this user id; repeatable.")
@json_option
def start(
    *, port: int | None, system: bool, sock: Path | None, home: Path | None, allow: tuple[int, ...], as_json: bool
) -> None:
    """Start the daemon now instead of with the next hook; do nothing when it runs already.

    \b
    Example: verdikt daemon start
             verdikt daemon start --http 8787
             verdikt daemon start --system --socket /run/verdikt/daemon.sock --home /var/lib/verdikt
    """  # noqa: D301
    if system or sock or home or allow:
        _serve_all_users(system, sock, home, allow)
    directory = daemon_control.require_run_directory()
    status = daemon_control.query_status(directory / "daemon.sock")
    started = status is None
    if started:
        status = _start_background(directory, [] if port is None else ["--http", str(port)])
    elif port is not None and not (status or {}).get("http"):
        raise DaemonError(
            "the daemon runs already, without a port: end it with `verdikt daemon stop`, then start it again"
        )
    assert status is not None
    if as_json:
        click.echo(json.dumps({"started": started, **status}))
        return
    click.echo(f"{'started' if started else 'runs already'}: process {status['pid']}")
    if status.get("http"):
        click.echo(
            f"http hooks: http://127.0.0.1:{status['http']}/hook/<host>/<event>, token in `{directory}/http.token`; "
            "`verdikt daemon hooks` prints settings for a project"
        )


@command.command()
@json_option
def stop(*, as_json: bool) -> None:
    """End the daemon after it has answered pending calls; the next hook starts another one.

    With VERDIKT_DAEMON=off no hook starts it. Only for people: it refuses to run inside an agent.

    Example: verdikt daemon stop
    """
    # Other sessions share the daemon: an agent must not be able to slow them down or interrupt them.
    refuse_agents("`verdikt daemon stop`")
    pid = daemon_control.stop_daemon(daemon_control.require_run_directory())
    if as_json:
        click.echo(json.dumps({"stopped": bool(pid), "pid": pid or None}))
    else:
        click.echo(f"stopped process {pid}" if pid else "not running")


@command.command("status")
@_SOCKET_OPTION
@json_option
def show_status(*, sock: Path | None, as_json: bool) -> None:
    """Show process, version, calls, times and memory of the daemon; status 3 when it does not run.

    Example: verdikt daemon status --json
    """
    socket_path = sock or daemon_control.require_run_directory() / "daemon.sock"
    status = daemon_control.query_status(socket_path)
    if as_json:
        click.echo(json.dumps({"running": status is not None, "socket": str(socket_path), **(status or {})}))
    elif status is None:
        click.echo("not running; the next hook starts it" if sock is None else f"no answer at `{socket_path}`")
    else:
        click.echo(_render_status(status, socket_path))
    if status is None:
        sys.exit(EXIT_NOT_RUNNING)


@command.command()
@click.option(
    "--project", type=click.Path(exists=True, file_okay=False), default=".", help="The project; default: here."
)
def hooks(*, project: str) -> None:
    """Print http hooks for a project's `.claude/settings.json`; `verdikt init` wires commands instead.

    Needs `verdikt daemon start --http PORT`, and Claude Code 2.1.295 or newer, which blocks when nothing listens.

    Example: verdikt daemon hooks > hooks.json
    """
    run_directory = daemon_control.require_run_directory()
    status = daemon_control.query_status(run_directory / "daemon.sock")
    port = (status or {}).get("http")
    if not port:
        raise DaemonError(
            "the daemon does not listen on a port: run `verdikt daemon start --http 8787` (`verdikt daemon stop` first)"
        )
    installation = Installation(
        project=os.path.realpath(project), data_directory=str(get_data_directory(os.environ)), env=os.environ
    )
    # Settings on stdout, the hint on stderr: the output can be redirected into a file.
    click.echo(json.dumps(http_hooks.build_settings(installation, port), indent=2))
    click.echo(
        f"start the client with {http_hooks.TOKEN_VARIABLE}=$(cat '{run_directory}/http.token'); "
        "`verdikt doctor` tries the hooks",
        err=True,
    )


@command.command()
@click.argument("endpoint", required=False)
@click.option("--off", is_flag=True, help="Send nothing any more.")
@click.option("--home", type=click.Path(path_type=Path), help="The data directory of a system-wide daemon.")
@json_option
def otlp(*, endpoint: str | None, off: bool, home: Path | None, as_json: bool) -> None:
    """Send the decisions of hooks to an OpenTelemetry collector over OTLP/HTTP, or show where they are sent.

    Without arguments and reasons of the calls. Headers are those of OTEL_EXPORTER_OTLP_HEADERS, and are kept.
    A collector that is down delays nothing: the log is the queue.

    \b
    Example: verdikt daemon otlp http://127.0.0.1:4318
             verdikt daemon otlp --off
             verdikt daemon otlp --home /var/lib/verdikt http://127.0.0.1:4318
    """  # noqa: D301
    home = home.absolute() if home else get_data_directory(os.environ)
    if endpoint and off:
        raise click.UsageError("expected an endpoint or --off, found both")
    if endpoint or off:
        refuse_agents("`verdikt daemon otlp`")
    if off:
        remove_settings(home)
    elif endpoint:
        if urlsplit(endpoint).scheme not in ("http", "https"):
            raise click.UsageError(f"expected an endpoint like http://127.0.0.1:4318, found `{endpoint}`")
        import_sdk("opentelemetry.exporter.otlp.proto.http", "otel")
        OtlpSettings(endpoint, _parse_headers(os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", ""))).save(home)
    settings, progress = OtlpSettings.load(home), OtlpProgress.load(home) or OtlpProgress()
    if as_json:
        record = {"endpoint": settings.endpoint if settings else None, "spans": progress.spans}
        click.echo(json.dumps({**record, "problem": progress.problem}))
    elif settings is None:
        click.echo("decisions are sent nowhere")
    else:
        note = f"; {progress.problem}" if progress.problem else ""
        click.echo(f"decisions are sent to {settings.endpoint}: {progress.spans} spans so far{note}")


@command.command()
@click.option("-n", "--lines", default=20, show_default=True, help="How many lines from the end.")
def logs(*, lines: int) -> None:
    """Show the daemon's journal: starts, ends and refused clients, but no tool calls.

    Example: verdikt daemon logs -n 50
    """
    for line in Journal(daemon_control.require_run_directory() / "daemon.log").read_tail(lines):
        timestamp, _, message = line.partition(" ")
        try:
            click.echo(f"{datetime.fromtimestamp(float(timestamp), UTC):%Y-%m-%d %H:%M:%S} {message}")
        except (ValueError, OverflowError, OSError):
            # A line cut off by a crash, or written by another version: shown as it is.
            click.echo(line)


def _parse_headers(text: str) -> dict[str, str]:
    """Return the headers of a text like `NAME=VALUE,NAME=VALUE`, as OpenTelemetry's own variable has them."""
    pairs = (part.partition("=") for part in text.split(",") if part.strip())
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs}


def _start_background(directory: Path, arguments: list[str]) -> dict[str, Any]:
    """Start a daemon in the background and return its status once it answers."""
    if not spawn(os.environ, *arguments):
        raise DaemonError(f"cannot start `{sys.executable}`: run `verdikt doctor`")
    status: dict[str, Any] | None = daemon_control.wait_until(
        lambda: daemon_control.query_status(directory / "daemon.sock"), START_SECONDS
    )
    if status is None:
        raise DaemonError(
            f"the daemon was started and does not answer: see `verdikt daemon logs`, or look into `{directory}`"
        )
    return status


def _serve_all_users(system: bool, sock: Path | None, home: Path | None, allow: tuple[int, ...]) -> None:
    """Replace this command by the daemon that serves every user; does not return."""
    if not (system and sock and home):
        raise click.UsageError("expected --system together with --socket and --home")

    arguments = ["--system", "--socket", str(sock.absolute()), "--home", str(home.absolute())]
    sys.exit(run_daemon([*arguments, *(word for uid in allow for word in ("--allow", str(uid)))], dict(os.environ)))


def _render_status(stats: dict[str, Any], socket_path: Path) -> str:
    minutes, seconds = divmod(int(stats["uptime_seconds"]), 60)
    return "\n".join(
        [
            click.style("running", fg="green")
            + f": process {stats['pid']}, version {stats['version']}, at `{socket_path}`",
            f"for {minutes // 60} h {minutes % 60} min {seconds} s; "
            f"calls {stats['calls']}, refused {stats['refused']}, under way {stats['pending']}",
            f"p50 {stats['p50_ms']} ms, p99 {stats['p99_ms']} ms; "
            f"policies cached {stats['policies']}, memory {stats['memory_kb'] // 1024} MB",
        ]
    )
