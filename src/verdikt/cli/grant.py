"""`verdikt grant`: an operator's temporary permission to get past one guard."""

import json
import os
from pathlib import Path

import click

from verdikt.cli.duration import parse_duration
from verdikt.cli.operator_access import get_user_name, refuse_agents, require_terminal
from verdikt.cli.store_access import (
    format_timestamp,
    home_option,
    json_option,
    open_data_store,
    open_existing_store,
    resolve_session,
)
from verdikt.cli.suggesting_group import SuggestingGroup
from verdikt.errors import LedgerError
from verdikt.graph.guard_index import index_guards
from verdikt.ledger import grants
from verdikt.model.grant import ANY_SESSION, MAX_GRANT_SECONDS, Grant
from verdikt.model.yaml_node import suggest_name
from verdikt.policy import load_policy
from verdikt.report.entry_line import shorten_session


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Manage permissions to get past a guard: signed, scoped, expiring, recorded; none for red lines.

    Example: verdikt grant list
    """


def _parse_lifetime(ctx: click.Context, parameter: click.Parameter, value: str) -> int:
    seconds = parse_duration(value, "mhd")
    if not seconds:
        raise click.BadParameter(f"expected a time such as 30m, 2h or 1d, found `{value}`")
    if seconds > MAX_GRANT_SECONDS:
        raise click.BadParameter(f"expected at most 30d, found `{value}`; change the policy instead")
    return seconds


@command.command()
@click.option("--guard", required=True, help="The name of the rule or guard, as in the refusal.")
@click.option(
    "--target", required=True, help="An absolute path (with everything below it), or the exact command or target."
)
@click.option("--session", required=True, help="The session; `*` for any.")
@click.option(
    "--for", "seconds", default="1h", show_default=True, callback=_parse_lifetime, metavar="TIME", help="30m, 2h, 1d …"
)
@click.option("--reason", required=True, help="Why; it goes into the log.")
@click.option(
    "--project", type=click.Path(exists=True, file_okay=False), default=".", help="The project with the rule."
)
@json_option
@home_option
def add(
    *,
    guard: str,
    target: str,
    session: str,
    seconds: int,
    reason: str,
    project: str,
    as_json: bool,
    home: Path | None,
) -> None:
    """Permit what a guard would stop, on one target. Asks for confirmation at the terminal.

    Example: verdikt grant add --guard delete_system --target /srv/cache --session 1f0c… --for 1h --reason 'cleanup'
    """
    require_terminal("granting")
    store = open_data_store(home)
    # An unknown session is allowed: a grant can be given before the agent starts.
    session = session if session == ANY_SESSION else resolve_session(store, session, allow_unknown=True)
    # Whole seconds: the grant is signed in canonical JSON, where fractions are a source of differences.
    now = int(store.clock.now())
    grant = Grant(
        id=os.urandom(4).hex(),
        guard=guard,
        target=target,
        session=session,
        expires=now + seconds,
        reason=reason,
        by=get_user_name(),
        created=now,
    )
    require_grantable(guard, project)
    where = "any session" if session == ANY_SESSION else f"session {session}"
    click.echo(
        f"`{guard}` will not stop `{target}` in {where} until {format_timestamp(grant.expires * 1_000_000)} UTC",
        err=True,
    )
    # The name, not `y`: a habit of confirming must not be enough to open a guard.
    if click.prompt("type the guard's name to confirm", err=True) != guard:
        raise click.Abort
    entry = grants.add_grant(store, grant)
    if as_json:
        click.echo(json.dumps({"grant": grant.to_record(), "seq": entry.seq}))
    else:
        click.echo(f"granted: {grant.id} (entry {entry.seq} of `{entry.session}`)")


def require_grantable(guard: str, project: str) -> None:
    """Raise `LedgerError` unless the policy of a project has this rule or guard and it accepts permissions."""
    red_lines = index_guards(load_policy(project))
    if guard not in red_lines:
        hint = suggest_name(guard, red_lines, list_names=False)
        raise LedgerError(
            f"no rule or guard `{guard}` in the policy in force here{hint}; `verdikt policy show` lists them"
        )
    if red_lines[guard]:
        raise LedgerError(f"`{guard}` is a red line: no grant and no exception gets past it")


@command.command("list")
@json_option
@home_option
def list_grants(as_json: bool, home: Path | None) -> None:
    """List the grants that are valid now.

    Example: verdikt grant list --json
    """
    store = open_existing_store(home)
    live_grants = grants.find_live_grants(store, None, store.clock.now())
    if as_json:
        click.echo(json.dumps([grant.to_record() for grant in live_grants], indent=1))
        return
    if not live_grants:
        click.echo("no valid grants")
    for grant in live_grants:
        until = format_timestamp(grant.expires * 1_000_000)[:16]
        where = "any session" if grant.session == ANY_SESSION else f"session {shorten_session(grant.session)}"
        often = "once, " if grant.once else ""
        click.echo(f"{grant.id}  {grant.guard}  {often}{where}, until {until}: {grant.reason}")
        click.echo(f"          {grant.target}")


@command.command()
@click.argument("id")
@home_option
def revoke(id: str, home: Path | None) -> None:
    """End a grant before it expires.

    Example: verdikt grant revoke 9f3c01aa
    """
    refuse_agents("revoking a grant")
    entry = grants.revoke_grant(open_existing_store(home), id)
    click.echo(f"revoked: {id} (entry {entry.seq} of `{entry.session}`)")
