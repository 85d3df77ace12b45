"""`verdikt uninstall`: the files as they were."""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from verdikt.adapters.wiring import git
from verdikt.adapters.wiring.change import FileChange
from verdikt.adapters.wiring.checkup import wired
from verdikt.adapters.wiring.install import HOSTS, Installation, take_back, undo
from verdikt.cli import warm
from verdikt.errors import VerdiktError, WiringError
from verdikt.ledger.home import data_home
from verdikt.observe.agent import agent_around
from verdikt.observe.git import find_root
from verdikt.observe.index import GitIndex


@click.command()
@click.option(
    "--host", "hosts", multiple=True, type=click.Choice(HOSTS), help="Only these clients; default: all that were wired."
)
@click.option(
    "--all", "everything", is_flag=True, help="Every project and every scope on record, not only this project."
)
@click.option("--dry-run", is_flag=True, help="Show what would happen, change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="The changes as JSON; implies not asking.")
@click.option(
    "--project", type=click.Path(exists=True, file_okay=False), default=".", help="The project; default: here."
)
def command(*, hosts: tuple[str, ...], everything: bool, dry_run: bool, yes: bool, as_json: bool, project: str) -> None:
    """Takes the hooks out again. Files that only `verdikt init` changed come back byte for byte; the log is kept.

    The warm process ends too, once none of your hooks is left that would ask it.

    Example: verdikt uninstall --host codex
    """
    agent = agent_around(os.environ)
    if agent and not dry_run:
        raise click.ClickException(
            f"{agent} runs this command, and agents cannot switch verdikt off; run it in a terminal of your own"
        )
    here = Installation(project=os.path.realpath(project), data=str(data_home(os.environ)), env=os.environ)
    try:
        changes = undo(here, hosts=hosts, everything=everything)
        hooks = _git_hooks(here, hosts)
        unasked = _unasked(here, changes)
        _show(changes, hooks, unasked, dry_run=dry_run, as_json=as_json)
        if not (changes or hooks) or dry_run:
            return
        if not (yes or as_json):
            if not sys.stdin.isatty():
                raise click.UsageError(
                    "nobody is there to confirm; run it with --yes, or with --dry-run to see the changes"
                )
            if not click.confirm("Make these changes?", default=True):
                click.echo("nothing was changed")
                return
        take_back(here, changes)
        if hooks:
            git.uninstall(os.path.dirname(hooks[0]))
        if unasked:
            warm.stop(Path(here.data, "run"))
        if not as_json:
            said = f" sessions that run must be restarted; the log stays in {here.data}"
            click.echo(click.style("done.", fg="green") + said)
    except VerdiktError as error:
        raise click.ClickException(str(error)) from error


def _show(changes: list[FileChange], hooks: list[str], unasked: int, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        plain = [{"path": change.path, "host": change.host, "what": change.what} for change in changes]
        click.echo(json.dumps({"changes": plain, "ends": unasked or None, "done": not dry_run}))
        return
    if not (changes or hooks):
        click.echo("nothing on record for this project; `--all` looks at every project")
    for change in changes:
        word = "keep" if not change.needed else "remove" if change.after is None else "restore"
        click.echo(f"{click.style(word, fg='cyan')} {change.path}  ({change.what})")
    for path in hooks:
        click.echo(f"{click.style('restore', fg='cyan')} {path}  (git's hooks, as they were before)")
    if unasked:
        click.echo(f"{click.style('end', fg='cyan')} process {unasked}  (the warm process, which nobody asks any more)")


def _unasked(here: Installation, changes: Iterable[FileChange]) -> int:
    """The warm process of this user, when nothing that asks it is left after these changes; 0 otherwise."""
    from verdikt.daemon.client import holder
    from verdikt.daemon.loopback import remembered_port

    run = Path(here.data, "run")
    gone = {change.path for change in changes}
    try:
        asked = gone < set(here.record().files) or any(found.file not in gone for found in wired(here))
    except WiringError:
        asked = True  # who knows what a file names that cannot be read
    # Whoever switched on http hooks has wired them by hand.
    return 0 if not gone or asked or remembered_port(run) else holder(run)


def _git_hooks(here: Installation, hosts: tuple[str, ...]) -> list[str]:
    """The hooks of the project's repository that are ours and are to go."""
    if (hosts and "git" not in hosts) or not find_root(here.project):
        return []
    states = git.status(GitIndex(here.project, here.env).hooks_directory())
    return [state.path for state in states if state.installed]
