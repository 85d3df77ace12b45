"""`verdikt init`: one command makes a project governed."""

import difflib
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from verdikt.cli.git import hooks_directory, install_hooks
from verdikt.errors import VerdiktError
from verdikt.hosts.wiring.file_change import FileChange
from verdikt.hosts.wiring.installation import (
    WIRABLE_HOSTS,
    Installation,
    apply_plan,
    detect_hosts,
    list_scopes,
    plan_wiring,
)
from verdikt.hosts.wiring.registration import WRAPPER_NAMES
from verdikt.hosts.wiring.settings_layout import SCOPES
from verdikt.ledger.data_directory import get_data_directory
from verdikt.observe.git_repository import find_work_tree


@click.command()
@click.option(
    "--host",
    "hosts",
    multiple=True,
    type=click.Choice([*WIRABLE_HOSTS, "all"]),
    help="Which clients to wire; default: those found.",
)
@click.option(
    "--profile",
    type=click.Choice(["relaxed", "standard", "strict"]),
    default="standard",
    help="The rules to begin with.",
)
@click.option(
    "--scope", type=click.Choice(SCOPES), default="project", help="This project, this user, or everybody here."
)
@click.option(
    "--trust-codex",
    is_flag=True,
    help="Approve the hooks in Codex's configuration and trust this project there; Codex otherwise skips them in silence.",
)
@click.option(
    "--socket",
    default="",
    metavar="PATH",
    help="Hooks ask the warm process of another user at this socket, and nobody else; with --scope managed.",
)
@click.option("--dry-run", is_flag=True, help="Show every change, make none.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="The changes as JSON; implies not asking.")
@click.option(
    "--project", type=click.Path(exists=True, file_okay=False), default=".", help="The project; default: here."
)
def command(
    *,
    hosts: tuple[str, ...],
    profile: str,
    scope: str,
    trust_codex: bool,
    socket: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    project: str,
) -> None:
    """Makes this project governed: writes the policy and wires the hooks of the clients found.

    Shows what it will change, keeps the originals, merges with what is there. `verdikt uninstall` puts the files back as
    they were; `verdikt doctor` proves that the hooks fire.

    Example: verdikt init --host claude --profile strict
    """
    if socket and (scope != "managed" or not os.path.isabs(socket)):
        raise click.UsageError(
            "--socket needs an absolute path and --scope managed: who is governed must not choose it"
        )
    here = Installation(
        project=os.path.realpath(project),
        data_directory=str(get_data_directory(os.environ)),
        env=os.environ,
        socket_path=socket,
    )
    try:
        chosen = _select_hosts(here, hosts, scope)
        changes = plan_wiring(here, chosen, profile=profile, scope=scope, trust=trust_codex)
        trust_codex = trust_codex or _offer_trust(chosen, scope, yes or as_json or dry_run)
        if trust_codex:
            changes = plan_wiring(here, chosen, profile=profile, scope=scope, trust=True)
        if not (as_json or hosts):
            click.echo(f"found here: {', '.join(chosen)}; `--host` names others, `--host git` has commits checked too")
        _print_changes(changes, dry_run=dry_run, as_json=as_json)
        if "git" in chosen and dry_run and not as_json:
            click.echo(
                f"{click.style('write ', fg='cyan')} {hooks_directory(here.project)}  (git's hooks; those there go on)"
            )
        if dry_run and not as_json:
            click.echo("nothing was changed; run it without --dry-run to make these changes")
        if not as_json and (around := _find_enclosing_repository(here, scope)):
            click.echo(f"this lies in `{around}`: sessions that start there are not governed; `--project` can name it")
        if (not changes and "git" not in chosen) or dry_run or not _confirm_changes(yes or as_json):
            return
        apply_plan(here, changes)
        if "git" in chosen:
            for line in install_hooks(here.project):
                click.echo(line, err=as_json)
    except VerdiktError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        return
    if "codex" in chosen and not trust_codex and scope != "managed":
        click.echo(
            "Codex skips hooks that nobody approved: trust this project and open `/hooks` in Codex, "
            "or run `verdikt init --host codex --trust-codex`"
        )
    click.echo(
        click.style("done.", fg="green") + " `verdikt doctor` proves that it works; running sessions must be restarted"
    )


def _find_enclosing_repository(installation: Installation, scope: str) -> str:
    """The repository that the project is only a part of; empty when it is all of it, or every project is wired."""
    root = find_work_tree(installation.project) if scope == "project" else ""
    return root if root and os.path.realpath(root) != installation.project else ""


def _select_hosts(installation: Installation, hosts: tuple[str, ...], scope: str) -> list[str]:
    if hosts and "all" not in hosts:
        return list(dict.fromkeys(hosts))
    wanted = (
        [host for host in WIRABLE_HOSTS if host != "git" or find_work_tree(installation.project)]
        if hosts
        else detect_hosts(installation)
    )
    chosen = [host for host in wanted if scope in list_scopes(host)]
    if left := [host for host in wanted if host not in chosen]:
        click.echo(f"left out, because they have no {scope} settings: {', '.join(left)}", err=True)
    if not chosen:
        raise click.UsageError("found no client that can be wired; name one with --host, for example --host claude")
    return chosen


def _offer_trust(hosts: list[str], scope: str, silent: bool) -> bool:
    if "codex" not in hosts or scope == "managed" or silent or not sys.stdin.isatty():
        return False
    asked = "Codex runs only hooks that you approve, and a project's only if you trust it. Approve them and trust this project?"
    return click.confirm(asked, default=False)


def _confirm_changes(without_asking: bool) -> bool:
    if without_asking:
        return True
    if not sys.stdin.isatty():
        raise click.UsageError("nobody is there to confirm; run it with --yes, or with --dry-run to see the changes")
    agreed = click.confirm("Make these changes?", default=True)
    if not agreed:
        click.echo("nothing was changed")
    return agreed


def _print_changes(changes: list[FileChange], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"changes": [_change_to_dict(change) for change in changes], "done": not dry_run}))
        return
    if not changes:
        click.echo("everything is in place; nothing to change")
    for change in changes:
        word = "write " if change.before is None else "change"
        click.echo(f"{click.style(word, fg='cyan')} {_shorten_path(change.path)}  ({change.description})")
        if dry_run and os.path.basename(change.path) not in WRAPPER_NAMES:
            before, after = (
                (data or b"").decode(errors="replace").splitlines() for data in (change.before, change.after)
            )
            for line in list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]:
                click.echo("    " + click.style(line, fg={"+": "green", "-": "red"}.get(line[0])))


def _change_to_dict(change: FileChange) -> dict[str, Any]:
    return {"path": change.path, "host": change.host, "what": change.description, "new": change.before is None}


def _shorten_path(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else str(Path(relative))
