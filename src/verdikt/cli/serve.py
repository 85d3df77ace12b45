"""`verdikt serve`: the log in the browser, of this machine or of a team."""

import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from verdikt.cli.operator_access import refuse_agents
from verdikt.cli.store_access import home_option, resolve_home
from verdikt.errors import ServiceError
from verdikt.observe.clock import SystemClock

HOUR_SECONDS = 3600

database_option: Callable[[Any], Any] = click.option(
    "--db",
    "database",
    envvar="VERDIKT_DB",
    required=True,
    metavar="URL",
    help="postgresql://USER@HOST/DATABASE or sqlite:///FILE; also from $VERDIKT_DB.",
)
organisation_option: Callable[[Any], Any] = click.option(
    "--organisation", default="default", help="The organisation; default: `default`."
)


@click.group(invoke_without_command=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8787, help="Port on 127.0.0.1; 0 takes any free one.")
@click.option("--browser/--no-browser", default=True, help="Open the browser.")
@click.option(
    "--db", "database", envvar="VERDIKT_DB", default="", metavar="URL", help="Serve a team from this database."
)
@click.option("--listen", default="127.0.0.1:8787", metavar="HOST:PORT", help="With --db: where to listen.")
@click.option("--public-url", default="", metavar="URL", help="With --db: the address that browsers and machines use.")
@home_option
@click.pass_context
def command(
    ctx: click.Context, *, port: int, browser: bool, database: str, listen: str, public_url: str, home: Path | None
) -> None:
    """Show this machine's log in the browser: what happens now, sessions, search and export.

    It listens on 127.0.0.1 only, and prints a link that signs in once. End it with Ctrl-C.
    With --db it serves the logs that machines of a team send with `verdikt ship`.

    Example: verdikt serve
    """
    if ctx.invoked_subcommand is not None:
        return
    if database:
        _serve_team(database, listen, public_url)
    else:
        _serve_embedded(resolve_home(home), port, browser=browser)


def _serve_embedded(home: Path, port: int, *, browser: bool) -> None:
    try:
        # Needs the extra `team`, which other commands work without.
        from verdikt.serve.embedded import EmbeddedService
    except ImportError as error:
        raise _explain_missing(error) from error
    with EmbeddedService(home, port) as embedded:
        link = embedded.create_link()

        def announce() -> None:
            click.echo(f"{link}\nopen this link to sign in; it works once, for ten minutes. Ctrl-C ends the service")
            if browser:
                _open_browser(link, home / "serve" / "open.html")

        embedded.run(announce)


def _serve_team(database: str, listen: str, public_url: str) -> None:
    try:
        from verdikt.serve.team_service import TeamService
    except ImportError as error:
        raise _explain_missing(error) from error
    with TeamService(database, listen, public_url) as team:
        team.run(lambda: click.echo(f"listening on {team.address}"))


def _explain_missing(error: ImportError) -> ServiceError:
    return ServiceError(f"the service is not installed (no {error.name}): `pip install 'verdikt-runtime[team]'`")


def _open_browser(link: str, page: Path) -> None:
    """Open the link by way of a file that only this user can read: every user sees the arguments of a process."""
    page.unlink(missing_ok=True)
    page.touch(mode=0o600)
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={link}"><title>verdikt</title>')
    webbrowser.open(page.as_uri())


def _open_store(database: str, *, create: bool = False) -> Any:
    try:
        from verdikt.serve.store import TeamStore
    except ImportError as error:
        raise _explain_missing(error) from error
    store = TeamStore(database, create=create)
    click.get_current_context().call_on_close(store.close)
    return store


@command.command()
@database_option
def migrate(*, database: str) -> None:
    """Create the tables, or bring them to this version.

    Example: verdikt serve migrate --db postgresql://verdikt@db/verdikt
    """
    _open_store(database, create=True)
    click.echo("the database has the tables of this version")


@command.command()
@click.argument("name")
@click.option("--role", "roles", multiple=True, default=("viewer",), help="A role; repeatable. Default: viewer.")
@click.option("--public-url", default="http://127.0.0.1:8787", metavar="URL", help="The address that browsers use.")
@organisation_option
@database_option
def link(*, name: str, roles: tuple[str, ...], public_url: str, organisation: str, database: str) -> None:
    """Print a link that signs a person in once, with these roles.

    Example: verdikt serve link ana --role admin --db sqlite:///team.db
    """
    refuse_agents("making a sign-in link")
    from verdikt.serve.people import ROLES, People  # needs the extra `team`

    if unknown := set(roles) - set(ROLES):
        raise click.UsageError(f"expected roles among {', '.join(ROLES)}, found {', '.join(sorted(unknown))}")
    store, now = _open_store(database), SystemClock().now()
    people = People(store.database)
    organisation_id = store.ensure_organisation(organisation, int(now * 1_000_000))
    person = people.ensure_person(organisation_id, f"link:{name}", name, frozenset(roles))
    people.record_event(organisation_id, "command line", "create_link", name, now)
    click.echo(f"{public_url.rstrip('/')}/sign-in#{people.create_link(person, now)}")


@command.command()
@click.option("--uses", type=click.IntRange(1, 100_000), default=1, help="How many machines may enrol with it.")
@click.option("--hours", type=click.IntRange(1, 24 * 30), default=24, help="How long it can be used.")
@organisation_option
@database_option
def code(*, uses: int, hours: int, organisation: str, database: str) -> None:
    """Print a code by which machines enrol: `verdikt ship enrol URL --code CODE`.

    Example: verdikt serve code --uses 50 --db sqlite:///team.db
    """
    refuse_agents("making a code")
    from verdikt.serve.machines import Machines  # needs the extra `team`
    from verdikt.serve.people import People

    store, now = _open_store(database), SystemClock().now()
    organisation_id = store.ensure_organisation(organisation, int(now * 1_000_000))
    People(store.database).record_event(organisation_id, "command line", "create_code", f"{uses} uses", now)
    click.echo(Machines(store.database).create_code(organisation_id, uses, hours * HOUR_SECONDS, now))
