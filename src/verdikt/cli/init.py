"""`verdikt init`: the policy of a project, and the hooks of the clients that work in it."""

import difflib
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click

from verdikt.cli.git import hooks_directory, install_hooks
from verdikt.cli.hook_environment import choose_environment, install_service, offer_service
from verdikt.cli.policy_accept import accept_snapshot
from verdikt.cli.store_access import open_data_store
from verdikt.errors import VerdiktError
from verdikt.graph.pending_policy import PENDING_NOTE
from verdikt.hosts.host import PROJECT_SCOPES, SCOPES, Host
from verdikt.hosts.registry import HOSTS, WIRABLE_HOSTS
from verdikt.hosts.wiring.file_change import FileChange
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.mcp_servers import describe_remote, find_unreadable_files, list_servers, plan_relaying
from verdikt.hosts.wiring.plan import GIT, apply_plan, detect_hosts, list_scopes, plan_wiring
from verdikt.hosts.wiring.registration import WRAPPER_NAMES
from verdikt.ledger.data_directory import get_data_directory
from verdikt.model.distribution import INSTALL_COMMAND
from verdikt.observe.git_repository import find_work_tree
from verdikt.ratchet import PolicySnapshot

_SCOPE_CHOICES = {
    "user": "you, in every project",
    "local": "this project, only you: nothing is committed",
    "project": "this project, everyone: files to commit",
}
"""The scopes that `init` offers. The managed one needs root, and is named by a flag."""

_NEXT_STEPS = (
    ("verdikt doctor", "fires a canary through every hook, and checks that it is blocked"),
    ("restart your agents", "a session that is running does not know the hooks yet"),
    ("verdikt docs now-what", "what to do when something is blocked"),
)


@click.command()
@click.option(
    "--host",
    "hosts",
    multiple=True,
    type=click.Choice([*WIRABLE_HOSTS, GIT, "all"]),
    help="Which clients to wire; default: those found.",
)
@click.option(
    "--profile",
    type=click.Choice(["relaxed", "standard", "strict"]),
    default="standard",
    help="The rules to begin with.",
)
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    help="user: you, in every project; local: this project, only you; project: this project, in files to commit; "
    "managed: everybody on this machine. Without it you are asked, and a script gets `project`.",
)
@click.option(
    "--trust-codex",
    is_flag=True,
    help="Approve the hooks in Codex's configuration and trust this project there; "
    "Codex otherwise skips them in silence.",
)
@click.option(
    "--socket",
    default="",
    metavar="PATH",
    help="Hooks ask the warm process of another user at this socket, and no other; with --scope managed.",
)
@click.option(
    "--isolated",
    is_flag=True,
    help="Run the hooks from an environment of their own below the data directory, outside of every project.",
)
@click.option(
    "--service",
    is_flag=True,
    help="Decide in a service of another user, which the agent can neither end nor read; needs root and systemd.",
)
@click.option("--mcp", "with_servers", is_flag=True, help="Also put the relay in front of the clients' MCP servers.")
@click.option(
    "--mcp-except",
    "excepted_servers",
    multiple=True,
    metavar="NAME",
    help="A server that stays as it is, because a login through the client would not reach it; with --mcp.",
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
    scope: str | None,
    trust_codex: bool,
    socket: str,
    isolated: bool,
    service: bool,
    with_servers: bool,
    excepted_servers: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    as_json: bool,
    project: str,
) -> None:
    """Make this project governed: write the policy and wire the hooks of the clients found.

    Shows what it will change, keeps the originals, merges with what is there. `verdikt uninstall` restores the files
    as they were; `verdikt doctor` proves that the hooks fire.

    Example: verdikt init --host claude --profile strict
    """
    silent = yes or as_json or dry_run
    # First, because it is the strongest: the agent's account then holds neither the key nor the log.
    if service or (not socket and not isolated and offer_service(silent)):
        install_service(hosts, profile, dry_run=dry_run)
    if not hosts and not as_json:
        _print_found_hosts(project)
    choose_environment(isolated=isolated, silent=silent, dry_run=dry_run)
    scope = scope or _ask_scope(silent)
    _check_socket(socket, scope)
    installation = Installation(
        project=os.path.realpath(project),
        data_directory=str(get_data_directory(os.environ)),
        env=os.environ,
        socket_path=socket,
    )
    try:
        chosen = _select_hosts(installation, hosts, scope)
        changes = plan_wiring(installation, chosen, profile=profile, scope=scope, trust=trust_codex)
        # The plan is made first, so that a file that cannot be read is reported before any question is asked.
        trust_codex = trust_codex or _offer_trust(chosen, scope, silent)
        if trust_codex:
            changes = plan_wiring(installation, chosen, profile=profile, scope=scope, trust=True)
        plan_relays = partial(plan_relaying, installation, chosen, excepted_servers, in_every_project=scope == "user")
        relays = plan_relays() if with_servers else []
        if as_json:
            rows = [_change_to_dict(change) for change in (*changes, *relays)]
            click.echo(json.dumps({"changes": rows, "done": not dry_run}))
        else:
            _print_changes([*changes, *relays], dry_run=dry_run)
            _print_remote_servers(installation, excepted_servers, with_servers=with_servers)
            _print_notes(installation, chosen, scope, dry_run=dry_run)
        if (not (changes or relays) and GIT not in chosen) or dry_run or not _confirm_changes(silent):
            return
        apply_plan(installation, changes)
        # Planned again: a file that was just wired may hold servers too.
        apply_plan(installation, plan_relays() if with_servers else [])
        policy_note = _accept_written_policy(installation, changes)
        if GIT in chosen:
            for line in install_hooks(installation.project):
                click.echo(line, err=as_json)
    except VerdiktError as error:
        raise click.ClickException(str(error)) from error
    if not as_json:
        _print_commit_advice(installation, [*changes, *relays], scope)
        _print_next_steps([] if trust_codex else _list_unapproved_hosts(chosen, scope), policy_note)


def _print_remote_servers(installation: Installation, excepted: tuple[str, ...], *, with_servers: bool) -> None:
    if not with_servers:
        return
    servers = [server for server in list_servers(installation) if server.name not in excepted]
    for line in (*describe_remote(servers), *find_unreadable_files(installation)):
        click.echo(click.style("! ", fg="yellow") + line)


def _ask_scope(silent: bool) -> str:
    """Return for whom the hooks are to be wired; a script that does not say gets the settings of the project."""
    if silent or not sys.stdin.isatty():
        return "project"
    click.echo("Who is to be governed?")
    for number, (scope, text) in enumerate(_SCOPE_CHOICES.items(), 1):
        click.echo(f"  {number}  {text}  ({click.style(f'--scope {scope}', dim=True)})")
    answer = click.prompt("Choose", type=click.IntRange(1, len(_SCOPE_CHOICES)), default=2)
    return list(_SCOPE_CHOICES)[answer - 1]


def _print_commit_advice(installation: Installation, changes: list[FileChange], scope: str) -> None:
    """Say which files are for the whole team."""
    inside = os.path.join(installation.project, "")
    files = [
        os.path.relpath(change.path, installation.project)
        for change in changes
        if change.path.startswith(inside) and change.after is not None
    ]
    if scope == "project" and files:
        # Not the files: a server that goes through the relay may be started from anywhere.
        click.echo(f"commit {', '.join(sorted(files))}: what verdikt added names no path of this machine")
        click.echo(f"a colleague without verdikt is blocked, and told to run `{INSTALL_COMMAND}`")
    elif scope == "local":
        # The servers of a project stand in a file that is often committed; git cannot ignore a part of it.
        shared_files = [
            os.path.relpath(change.path, installation.project)
            for change in changes
            if change.path.startswith(inside) and not change.has_hooks
        ]
        if shared_files:
            names = ", ".join(sorted(shared_files))
            click.echo(f"git does not ignore {names}: commit it only if everyone here has verdikt")
        else:
            click.echo("nothing to commit: git ignores what was written into this project")


def _print_found_hosts(project: str) -> None:
    """Print which clients are here, before the first question: the answers depend on it."""
    installation = Installation(
        project=os.path.realpath(project), data_directory=str(get_data_directory(os.environ)), env=os.environ
    )
    names = detect_hosts(installation)
    if not names:
        _refuse_without_hosts()
    click.echo(f"found here: {', '.join(names)}; `--host` names others, `--host git` has commits checked too")


def _refuse_without_hosts() -> NoReturn:
    raise click.UsageError(
        f"found no client that can be wired (looked for {', '.join(WIRABLE_HOSTS)}); "
        "name one with --host, for example --host claude"
    )


def _print_next_steps(unapproved_hosts: list[Host], policy_note: str) -> None:
    for host in unapproved_hosts:
        advice = host.approval_advice
        click.echo(f"{host.title} skips hooks that no person has approved: trust this project and {advice}")
    if policy_note:
        click.echo(click.style("! ", fg="yellow") + policy_note)
    click.echo(click.style("done.", fg="green") + " Next:")
    for command_text, why in _NEXT_STEPS:
        click.echo(f"  {command_text:<22} {why}")


def _check_socket(socket: str, scope: str) -> None:
    # In any other scope the person who is governed could point the hooks at a process of their own.
    if socket and (scope != "managed" or not os.path.isabs(socket)):
        raise click.UsageError(
            "--socket needs an absolute path and --scope managed: who is governed must not choose it"
        )


def _accept_written_policy(installation: Installation, changes: list[FileChange]) -> str:
    """Accept the policy if this run wrote it, and return what is left for the person to accept."""
    try:
        snapshot = PolicySnapshot.read(installation.project, installation.env)
        waiting = snapshot.list_changes()
        written = {change.path for change in changes if change.before is None}
        # Only what was written now: a file that came with the project is the person's to look at first.
        if waiting and all(change.accepted is None and change.file in written for change in waiting):
            accept_snapshot(snapshot, open_data_store(Path(installation.data_directory)), how="init")
            return ""
    except VerdiktError as error:
        return str(error)  # the hooks are wired, and block with the same message until the policy is fixed
    return PENDING_NOTE if waiting else ""


def _find_enclosing_repository(installation: Installation, scope: str) -> str:
    """Return the repository of which the project is only a part; empty if there is none, or every project is wired."""
    root = find_work_tree(installation.project) if scope in PROJECT_SCOPES else ""
    return root if root and os.path.realpath(root) != installation.project else ""


def _select_hosts(installation: Installation, hosts: tuple[str, ...], scope: str) -> list[str]:
    # Hosts that were named stay in the order of the command line; an unsuitable scope is then an error, not a hint.
    if hosts and "all" not in hosts:
        return list(dict.fromkeys(hosts))
    if hosts:
        candidates = [*WIRABLE_HOSTS, *([GIT] if find_work_tree(installation.project) else [])]
    else:
        candidates = detect_hosts(installation)
    chosen = [host for host in candidates if scope in list_scopes(host)]
    if omitted := [host for host in candidates if host not in chosen]:
        click.echo(f"left out, because they have no {scope} settings: {', '.join(omitted)}", err=True)
    if not chosen:
        _refuse_without_hosts()
    return chosen


def _list_unapproved_hosts(names: list[str], scope: str) -> list[Host]:
    """Return the hosts that run hooks only after a person has approved them; managed hooks need no approval."""
    if scope == "managed":
        return []
    return [HOSTS[name] for name in names if name in HOSTS and HOSTS[name].approval_advice]


def _offer_trust(names: list[str], scope: str, silent: bool) -> bool:
    hosts = _list_unapproved_hosts(names, scope)
    if not hosts or silent or not sys.stdin.isatty():
        return False
    titles = ", ".join(host.title for host in hosts)
    question = (
        f"{titles} runs only hooks that you approve, and a project's only if you trust it. "
        "Approve them and trust this project?"
    )
    return click.confirm(question, default=False)


def _confirm_changes(without_asking: bool) -> bool:
    if without_asking:
        return True
    if not sys.stdin.isatty():
        raise click.UsageError("no terminal to confirm on; run it with --yes, or with --dry-run to see the changes")
    is_confirmed = click.confirm("Make these changes?", default=True)
    if not is_confirmed:
        click.echo("nothing was changed")
    return is_confirmed


def _print_notes(installation: Installation, names: list[str], scope: str, *, dry_run: bool) -> None:
    if GIT in names and dry_run:
        directory = hooks_directory(installation.project)
        click.echo(f"{click.style('write ', fg='cyan')} {directory}  (git's hooks; those there go on)")
    if dry_run:
        click.echo("nothing was changed; run it without --dry-run to make these changes")
    if repository := _find_enclosing_repository(installation, scope):
        click.echo(f"this lies in `{repository}`: sessions that start there are not governed; `--project` can name it")


def _print_changes(changes: list[FileChange], *, dry_run: bool) -> None:
    if not changes:
        click.echo("everything is in place; nothing to change")
    for change in changes:
        word = "write " if change.before is None else "change"
        click.echo(f"{click.style(word, fg='cyan')} {_shorten_path(change.path)}  ({change.description})")
        # The wrapper is a program, whose text would bury everything else.
        if dry_run and os.path.basename(change.path) not in WRAPPER_NAMES:
            before, after = (
                (data or b"").decode(errors="replace").splitlines() for data in (change.before, change.after)
            )
            for line in list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]:
                click.echo("    " + click.style(line, fg={"+": "green", "-": "red"}.get(line[0])))


def _change_to_dict(change: FileChange) -> dict[str, Any]:
    return {"path": change.path, "host": change.host, "what": change.description, "new": change.before is None}


def _shorten_path(path: str) -> str:
    """Return a path as a person writes it: from here, or from the home directory."""
    relative, home = os.path.relpath(path), os.environ.get("HOME", "")
    if not relative.startswith(".."):
        return str(Path(relative))
    return f"~/{os.path.relpath(path, home)}" if home and path.startswith(f"{home}/") else path
