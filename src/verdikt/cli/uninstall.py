"""`verdikt uninstall`: the files as they were."""

import json
import os
import sys

import click

from verdikt.adapters.wiring import git
from verdikt.adapters.wiring.install import HOSTS, Installation, take_back, undo
from verdikt.errors import VerdiktError
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
        if as_json:
            plain = [{"path": change.path, "host": change.host, "what": change.what} for change in changes]
            click.echo(json.dumps({"changes": plain, "done": not dry_run}))
        elif not changes and not _git_hooks(here, hosts):
            click.echo("nothing on record for this project; `--all` looks at every project")
        for change in () if as_json else changes:
            word = "keep" if not change.needed else "remove" if change.after is None else "restore"
            click.echo(f"{click.style(word, fg='cyan')} {change.path}  ({change.what})")
        hooks = _git_hooks(here, hosts)
        for path in () if as_json else hooks:
            click.echo(f"{click.style('restore', fg='cyan')} {path}  (git's hooks, as they were before)")
        if not (changes or hooks) or dry_run:
            return
        if not (yes or as_json):
            if not sys.stdin.isatty():
                raise click.UsageError(
                    "nobody is there to confirm; run it with --yes, or with --dry-run to see the changes"
                )
            if not click.confirm("Make these changes?", default=True):
                return
        take_back(here, changes)
        if hooks:
            git.uninstall(os.path.dirname(hooks[0]))
        if not as_json:
            said = f" sessions that run must be restarted; the log stays in {here.data}"
            click.echo(click.style("done.", fg="green") + said)
    except VerdiktError as error:
        raise click.ClickException(str(error)) from error


def _git_hooks(here: Installation, hosts: tuple[str, ...]) -> list[str]:
    """The hooks of the project's repository that are ours and are to go."""
    if (hosts and "git" not in hosts) or not find_root(here.project):
        return []
    states = git.status(GitIndex(here.project, here.env).hooks_directory())
    return [state.path for state in states if state.installed]
