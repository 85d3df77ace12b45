"""`verdikt uninstall`: takes the hooks out again and restores the files."""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from verdikt.cli import daemon_control
from verdikt.cli.git import drop_hooks
from verdikt.cli.operator_access import refuse_agents
from verdikt.daemon.client import find_daemon_pid
from verdikt.daemon.http_listener import load_port
from verdikt.errors import VerdiktError, WiringError
from verdikt.hosts.git import git_hooks
from verdikt.hosts.registry import WIRABLE_HOSTS
from verdikt.hosts.wiring.file_change import FileChange
from verdikt.hosts.wiring.inspection import find_wired_files
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.plan import GIT, apply_unwiring, has_files_of_every_project, plan_unwiring
from verdikt.ledger.data_directory import get_data_directory
from verdikt.observe.git_index import GitIndex
from verdikt.observe.git_repository import find_work_tree


@click.command()
@click.option(
    "--host",
    "hosts",
    multiple=True,
    type=click.Choice([*WIRABLE_HOSTS, GIT]),
    help="Only these clients; default: all that were wired.",
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
    """Take the hooks out again. Files that only `verdikt init` changed come back byte for byte; the log is kept.

    The warm process ends too, once no hook of yours remains that would ask it.

    Example: verdikt uninstall --host codex
    """
    # A dry run changes nothing, so an agent may look.
    if not dry_run:
        refuse_agents("switching verdikt off")
    installation = Installation(
        project=os.path.realpath(project), data_directory=str(get_data_directory(os.environ)), env=os.environ
    )
    try:
        changes = plan_unwiring(installation, host_names=hosts, everything=everything)
        hook_paths = _find_git_hooks(installation, hosts)
        daemon_pid = _find_orphaned_daemon(installation, changes)
        _print_changes(changes, hook_paths, daemon_pid, dry_run=dry_run, as_json=as_json)
        if not (changes or hook_paths) or dry_run:
            return
        if not (yes or as_json):
            if not sys.stdin.isatty():
                raise click.UsageError(
                    "no terminal to confirm on; run it with --yes, or with --dry-run to see the changes"
                )
            if not click.confirm("Make these changes?", default=True):
                click.echo("nothing was changed")
                return
        apply_unwiring(installation, changes)
        if hook_paths:
            drop_hooks(os.path.dirname(hook_paths[0]), installation.data_directory)
            git_hooks.uninstall_hooks(os.path.dirname(hook_paths[0]))
        if daemon_pid:
            # Last, because until then the hooks that are being removed may still ask it.
            daemon_control.stop_daemon(Path(installation.data_directory, "run"))
        if not as_json:
            note = f" sessions that run must be restarted; the log stays in {installation.data_directory}"
            click.echo(click.style("done.", fg="green") + note)
            if has_files_of_every_project(installation):
                click.echo("what was wired for every project stays; `verdikt uninstall --all` takes that out too")
    except VerdiktError as error:
        raise click.ClickException(str(error)) from error


def _print_changes(
    changes: list[FileChange], hook_paths: list[str], daemon_pid: int, *, dry_run: bool, as_json: bool
) -> None:
    if as_json:
        rows = [{"path": change.path, "host": change.host, "what": change.description} for change in changes]
        click.echo(json.dumps({"changes": rows, "ends": daemon_pid or None, "done": not dry_run}))
        return
    if not (changes or hook_paths):
        click.echo("nothing on record for this project; `--all` looks at every project")
    for change in changes:
        word = "keep" if not change.is_needed else "remove" if change.after is None else "restore"
        click.echo(f"{click.style(word, fg='cyan')} {change.path}  ({change.description})")
    for path in hook_paths:
        click.echo(f"{click.style('restore', fg='cyan')} {path}  (git's hooks, as they were before)")
    if daemon_pid:
        click.echo(
            f"{click.style('end', fg='cyan')} process {daemon_pid}  (the warm process, which no hook asks any more)"
        )


def _find_orphaned_daemon(installation: Installation, changes: Iterable[FileChange]) -> int:
    """Return the pid of the warm process if nothing remains that asks it after these changes; 0 otherwise."""
    run = Path(installation.data_directory, "run")
    restored_paths = {change.path for change in changes}
    try:
        is_needed = restored_paths < set(installation.load_record().files) or any(
            wired.file not in restored_paths for wired in find_wired_files(installation)
        )
    except WiringError:
        is_needed = True  # a file that cannot be read may name the hook
    # Http hooks are wired by hand, so no record knows about them.
    return 0 if not restored_paths or is_needed or load_port(run) else find_daemon_pid(run)


def _find_git_hooks(installation: Installation, hosts: tuple[str, ...]) -> list[str]:
    """Return the hooks of the project's repository that are ours and are to be removed."""
    if (hosts and GIT not in hosts) or not find_work_tree(installation.project):
        return []
    states = git_hooks.read_hook_states(GitIndex(installation.project, installation.env).find_hooks_directory())
    return [state.path for state in states if state.is_installed]
