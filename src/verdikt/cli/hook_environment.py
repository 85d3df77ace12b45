"""What decides for `verdikt init`: this environment, one outside of every project, or a service of another user."""

import os
import shlex
import sys
from pathlib import Path
from typing import NoReturn

import click

from verdikt.errors import VerdiktError
from verdikt.hosts.wiring.file_change import write_file
from verdikt.hosts.wiring.isolated_environment import (
    RUNTIME_NAME,
    create_isolated_environment,
    is_running_from,
    run_init_again,
)
from verdikt.hosts.wiring.system_unit import (
    SERVICE_RUNTIME,
    SERVICE_SOCKET,
    is_service_possible,
    list_service_commands,
    plan_service,
    start_service,
)
from verdikt.ledger.data_directory import get_data_directory
from verdikt.observe.runtime_environment import find_enclosing_project


def offer_service(silent: bool) -> bool:
    """Return whether root, at a terminal, wants a service to decide for the whole machine."""
    if silent or not sys.stdin.isatty() or not is_service_possible():
        return False
    question = (
        "You are root: a service of its own user can decide for everybody on this machine, so that no agent can end "
        "it, read its key or change its log. Install that service?"
    )
    return click.confirm(question, default=True)


def install_service(hosts: tuple[str, ...], profile: str, *, dry_run: bool) -> NoReturn:
    """Install the service, and the hooks that ask it, for everybody on this machine; then exit."""
    change = plan_service()
    click.echo(f"{click.style('write ', fg='cyan')} {change.path}  ({change.description})")
    for line in map(shlex.join, list_service_commands()):
        click.echo(f"{click.style('run   ', fg='cyan')} {line}")
    if dry_run:
        click.echo("nothing was changed; run it without --dry-run to make these changes")
        raise SystemExit(0)
    if not is_service_possible():
        raise click.ClickException(
            "the service needs root and systemd: run `sudo verdikt init --service`, or see `verdikt docs daemon`"
        )
    try:
        python = create_isolated_environment(Path(SERVICE_RUNTIME))
        write_file(change.path, change.after)
        start_service()
    except VerdiktError as error:
        raise click.ClickException(str(error)) from error
    names = [word for host in hosts for word in ("--host", host)]
    arguments = ["--scope", "managed", "--socket", SERVICE_SOCKET, "--profile", profile, "--yes", *names]
    raise SystemExit(run_init_again(python, arguments))


def _offer_isolation(silent: bool) -> bool:
    """Offer an environment outside of every project to a person whose hooks would run from one inside."""
    project = find_enclosing_project(sys.prefix, os.path.expanduser("~"))
    if not project:
        return False
    if silent or not sys.stdin.isatty():
        click.echo(
            f"the hooks will run from `{sys.prefix}`, which lies in the project `{project}`; --isolated makes an "
            "environment outside of every project",
            err=True,
        )
        return False
    question = (
        f"The hooks would run from `{sys.prefix}`, in the project `{project}`, where an agent could change them. "
        "Make an environment for them outside of every project?"
    )
    return click.confirm(question, default=True)


def choose_environment(*, isolated: bool, silent: bool, dry_run: bool) -> None:
    """Make an isolated environment, if that is wanted, and wire the hooks with it; else return.

    Also returns where this process runs from it already.
    """
    if dry_run or not (isolated or _offer_isolation(silent)):
        return
    directory = get_data_directory(os.environ).absolute() / RUNTIME_NAME
    if is_running_from(directory):
        return
    try:
        python = create_isolated_environment(directory)
    except VerdiktError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{click.style('write ', fg='cyan')} {directory}  (the environment of the hooks)", err=True)
    arguments = [word for word in sys.argv[sys.argv.index("init") + 1 :] if word != "--isolated"]
    raise SystemExit(run_init_again(python, arguments))
