"""`verdikt serve`: the log in the browser, of this machine or of a team."""

import gc
import os
import signal
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from verdikt.cli.extra_install import describe_extra_install
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
@click.option(
    "--oidc",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --db: a TOML file with the identity provider and who has which role.",
)
@click.option("--worker", is_flag=True, help="With --db: listen nowhere, and do the work that no request waits for.")
@home_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    port: int,
    browser: bool,
    database: str,
    listen: str,
    public_url: str,
    oidc: Path | None,
    worker: bool,
    home: Path | None,
) -> None:
    """Show this machine's log in the browser: what happens now, sessions, search and export.

    It listens on 127.0.0.1 only, and prints a link that signs in once. End it with Ctrl-C.
    With --db it serves the logs that machines of a team send with `verdikt ship`.

    Example: verdikt serve
    """
    if ctx.invoked_subcommand is not None:
        return
    if (worker or oidc) and not database:
        raise click.UsageError("--worker and --oidc are for a team: name its database with --db")
    if worker:
        _run_worker(database, public_url or f"http://{listen}")
    elif database:
        _serve_team(database, listen, public_url, oidc)
    else:
        _serve_embedded(resolve_home(home), port, browser=browser)


def _serve_embedded(home: Path, port: int, *, browser: bool) -> None:
    with _import_extra("embedded").EmbeddedService(home, port) as embedded:
        link = embedded.create_link()

        def announce() -> None:
            click.echo(f"{link}\nopen this link to sign in; it works once, for ten minutes. Ctrl-C ends the service")
            if browser:
                _open_browser(link, home / "serve" / "open.html")

        _run_until_interrupted(embedded, announce)


def _run_until_interrupted(service: Any, announce: Callable[[], None]) -> None:
    # Uvicorn has closed everything when it raises the signal again; Ctrl-C is how this command is meant to end.
    with suppress(KeyboardInterrupt):
        service.run(announce)


def _serve_team(database: str, listen: str, public_url: str, oidc: Path | None) -> None:
    _import_extra("logs").configure_logs()
    module = _import_extra("team_service")
    settings = module.load_oidc(oidc, os.environ) if oidc else None
    with module.TeamService(database, listen, public_url, oidc=settings) as team:

        def announce() -> None:
            module.settle_memory()
            click.echo(f"listening on {team.address}")

        _run_until_interrupted(team, announce)


def _run_worker(database: str, public_url: str) -> None:
    def announce(worker: Any) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: worker.stop())
        click.echo("working")

    _import_extra("logs").configure_logs()
    module = _import_extra("team_service")
    module.run_worker(database, public_url, announce)


def _import_extra(name: str) -> Any:
    """Return a module of the service. It needs the extra `team`, which other commands work without."""
    # Modules stay, so looking for cycles in them while they are loaded is a fifth of the time and finds nothing.
    gc.disable()
    try:
        return import_module(f"verdikt.serve.{name}")
    except ImportError as error:
        raise ServiceError(
            f"the service is not installed (no {error.name}): `{describe_extra_install('team')}`"
        ) from error
    finally:
        gc.freeze()
        gc.enable()


def _open_browser(link: str, page: Path) -> None:
    """Open the link by way of a file that only this user can read: every user sees the arguments of a process."""
    page.unlink(missing_ok=True)
    page.touch(mode=0o600)
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={link}"><title>verdikt</title>')
    webbrowser.open(page.as_uri())


def _open_store(database: str, *, create: bool = False) -> Any:
    store = _import_extra("store").TeamStore(database, create=create)
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
@click.option("--group", "groups", multiple=True, help="A group or team that the person belongs to; repeatable.")
@organisation_option
@database_option
def link(
    *, name: str, roles: tuple[str, ...], public_url: str, groups: tuple[str, ...], organisation: str, database: str
) -> None:
    """Print a link that signs a person in once, with these roles.

    Example: verdikt serve link ana --role admin --db sqlite:///team.db
    """
    refuse_agents("making a sign-in link")
    module = _import_extra("people")
    if problem := module.find_role_problem(roles):
        raise click.UsageError(problem)
    store, now = _open_store(database), SystemClock().now()
    people = module.People(store.database)
    organisation_id = store.ensure_organisation(organisation, int(now * 1_000_000))
    person = people.ensure_person(organisation_id, f"link:{name}", name, frozenset(roles), groups)
    people.record_event(organisation_id, "command line", "create_link", name, now)
    click.echo(f"{public_url.rstrip('/')}/sign-in#{people.create_link(person, now)}")


@command.command()
@click.option("--uses", type=click.IntRange(1, 100_000), default=1, help="How many machines may enrol with it.")
@click.option("--hours", type=click.IntRange(1, 24 * 30), default=24, help="How long it can be used.")
@click.option("--team", default="", help="The team of these machines: its viewers see what they send.")
@organisation_option
@database_option
def code(*, uses: int, hours: int, team: str, organisation: str, database: str) -> None:
    """Print a code by which machines enrol: `verdikt ship enrol URL --code CODE`.

    Example: verdikt serve code --uses 50 --db sqlite:///team.db
    """
    refuse_agents("making a code")
    store, now = _open_store(database), SystemClock().now()
    organisation_id = store.ensure_organisation(organisation, int(now * 1_000_000))
    _import_extra("people").People(store.database).record_event(
        organisation_id, "command line", "create_code", f"{uses} uses", now
    )
    machines = _import_extra("machines").Machines(store.database)
    click.echo(machines.create_code(organisation_id, uses, hours * HOUR_SECONDS, now, team))


@command.command("text-index")
@click.option("--drop", is_flag=True, help="Remove it.")
@organisation_option
@database_option
def text_index(*, drop: bool, organisation: str, database: str) -> None:
    """Index what is searched by text, in PostgreSQL: rare words are found without reading every entry.

    It may take long, and machines go on sending meanwhile. What arrives later is indexed at once.

    Example: verdikt serve text-index --db postgresql://verdikt@db/verdikt
    """
    store, module = _open_store(database), _import_extra("text_index")
    organisation_id = store.ensure_organisation(organisation, int(SystemClock().now() * 1_000_000))
    if drop:
        module.drop_text_index(store.database, organisation_id)
    else:
        module.create_text_index(store.database, organisation_id)
    click.echo("there is no index of texts any more" if drop else "texts are indexed")
