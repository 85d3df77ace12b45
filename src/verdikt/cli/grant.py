"""`verdikt grant`: an operator's permission to get past one guard, for a while."""

import getpass
import json
import os
import re
from pathlib import Path

import click

from verdikt.cli.operator_access import refuse_agents, require_terminal
from verdikt.cli.store_access import (
    format_timestamp,
    home_option,
    json_option,
    open_data_store,
    open_existing_store,
    resolve_session,
)
from verdikt.ledger import grants
from verdikt.model.grant import Grant

_UNIT_SECONDS = {"m": 60, "h": 3_600, "d": 86_400}


@click.group()
def command() -> None:
    """Permissions to get past a guard: signed, scoped, expiring, recorded. Red lines accept none.

    Example: verdikt grant list
    """


def _parse_duration(ctx: click.Context, parameter: click.Parameter, value: str) -> int:
    match = re.fullmatch(r"([1-9][0-9]{0,3})([mhd])", value)
    if not match:
        raise click.BadParameter(f"expected a time such as 30m, 2h or 1d, found `{value}`")
    seconds = int(match[1]) * _UNIT_SECONDS[match[2]]
    if seconds > 30 * _UNIT_SECONDS["d"]:
        raise click.BadParameter(f"expected at most 30d, found `{value}`; change the policy instead")
    return seconds


@command.command()
@click.option("--guard", required=True, help="The guard, by the name that the refusal gave.")
@click.option(
    "--target", required=True, help="An absolute path (covers what is below it), or exactly the command or target."
)
@click.option("--session", required=True, help="The session; `*` for any.")
@click.option(
    "--for", "seconds", default="1h", show_default=True, callback=_parse_duration, metavar="TIME", help="30m, 2h, 1d …"
)
@click.option("--reason", required=True, help="Why, for whoever reads the log.")
@json_option
@home_option
def add(*, guard: str, target: str, session: str, seconds: int, reason: str, as_json: bool, home: Path | None) -> None:
    """Lets through what a guard would stop, on one target. Asks for confirmation at the terminal.

    Example: verdikt grant add --guard delete_system --target /srv/cache --session 1f0c… --for 1h --reason 'cleanup'
    """
    require_terminal("granting")
    store = open_data_store(home)
    session = session if session == "*" else resolve_session(store, session, allow_unknown=True)
    now = int(store.clock.now())
    grant = Grant(
        id=os.urandom(4).hex(),
        guard=guard,
        target=target,
        session=session,
        expires=now + seconds,
        reason=reason,
        by=_get_user_name(),
        created=now,
    )
    where = "any session" if session == "*" else f"session {session}"
    click.echo(
        f"`{guard}` will not stop `{target}` in {where} until {format_timestamp(grant.expires * 1_000_000)} UTC",
        err=True,
    )
    if click.prompt("type the guard's name to confirm", err=True) != guard:
        raise click.Abort
    entry = grants.add_grant(store, grant)
    if as_json:
        click.echo(json.dumps({"grant": grant.to_record(), "seq": entry.seq}))
    else:
        click.echo(f"granted: {grant.id} (entry {entry.seq} of `{entry.session}`)")


@command.command("list")
@json_option
@home_option
def list_grants(as_json: bool, home: Path | None) -> None:
    """The grants that hold now.

    Example: verdikt grant list --json
    """
    store = open_existing_store(home)
    found = grants.find_live_grants(store, None, store.clock.now())
    if as_json:
        click.echo(json.dumps([grant.to_record() for grant in found], indent=1))
        return
    if not found:
        click.echo("no grant holds now")
    for grant in found:
        until = format_timestamp(grant.expires * 1_000_000)
        click.echo(f"{grant.id}  {grant.guard}  {grant.target}  session {grant.session}  until {until}  {grant.reason}")


@command.command()
@click.argument("id")
@home_option
def revoke(id: str, home: Path | None) -> None:
    """Ends a grant before its time.

    Example: verdikt grant revoke 9f3c01aa
    """
    refuse_agents("revoking a grant")
    entry = grants.revoke_grant(open_existing_store(home), id)
    click.echo(f"revoked: {id} (entry {entry.seq} of `{entry.session}`)")


def _get_user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
