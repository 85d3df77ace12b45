"""`verdikt mcp`: the relay that governs an MCP server, and the pins of its tools."""

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from verdikt.cli.operator_access import get_user_name, require_terminal
from verdikt.cli.suggesting_group import SuggestingGroup
from verdikt.errors import McpError
from verdikt.knowledge import find_role
from verdikt.ledger.data_directory import get_data_directory
from verdikt.mcp.pin_store import list_books, open_book
from verdikt.mcp.stdio_transport import run_stdio_relay
from verdikt.mcp.tool_pin import propose_effects
from verdikt.model.effect import EffectClass
from verdikt.observe.crash_log import record_crash

if TYPE_CHECKING:
    from verdikt.mcp.relay import Relay
    from verdikt.mcp.tool_pin import PinBook, ToolPin

_LAUNCHERS = find_role("package_launcher")


class RelayGroup(SuggestingGroup):
    """A group whose default command is `run`, so that `verdikt mcp -- SERVER` starts the relay."""

    default_command = "run"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `run` where the first word is neither a command nor a request for help."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [self.default_command, *args]
        return super().parse_args(ctx, args)


@click.group(cls=RelayGroup)
def command() -> None:
    """Stand between an MCP client and a server: decide on calls, pin tools, keep the log.

    Example: verdikt mcp --name git -- mcp-server-git --repository .
    """


@command.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("--name", default="", help="The server's name in the policy and the log; default: its program's.")
@click.option("--trust-first", is_flag=True, help="Accept the tools that the server lists when it is first seen.")
@click.option("--listen", default="", metavar="HOST:PORT", help="Listen for clients over HTTP; with --to.")
@click.option("--to", default="", metavar="URL", help="The address of the server; with --listen.")
@click.option(
    "--allow-origin", "origins", multiple=True, metavar="ORIGIN", help="A web page that may call; with --listen."
)
@click.option("--everywhere", is_flag=True, help="Let --listen take calls from other machines.")
@click.argument("server", nargs=-1, type=click.UNPROCESSED)
def run(
    *,
    name: str,
    trust_first: bool,
    listen: str,
    to: str,
    origins: tuple[str, ...],
    everywhere: bool,
    server: tuple[str, ...],
) -> None:
    """Relay to a server: over stdio, or over HTTP with --listen and --to. The default: `run` can be left out.

    Example: verdikt mcp run --name git -- mcp-server-git --repository .
    """
    if listen or to:
        if not listen or not to or server:
            raise click.UsageError("expected both --listen HOST:PORT and --to URL, and no command of a server")
        server_name = check_server_name(name or guess_host_name(to))
        from verdikt.mcp.relay_service import serve_http

        announce = partial(click.echo, err=True)
        serve_http(server_name, listen, to, origins, trust_first=trust_first, everywhere=everywhere, announce=announce)
        return
    if not server:
        raise click.UsageError("expected the command of a server after `--`, or --listen and --to")
    server_name = check_server_name(name or guess_server_name(server))
    run_stdio_relay(server, lambda: _create_relay(server_name, server, trust_first=trust_first), _report_failure)


def check_server_name(name: str) -> str:
    """Return a name that can be part of a tool's name; raise `UsageError` for any other."""
    if not name or "__" in name or not all(character.isalnum() or character in "-_." for character in name):
        raise click.UsageError(f"expected a name of letters, digits, `-`, `_` and `.`, found `{name}`; use --name")
    return name


def guess_server_name(server: tuple[str, ...]) -> str:
    """Return a name for a server from its command: that of the package, without what all of them have in common."""
    words = [word for word in server if not word.startswith("-")]
    program = os.path.basename(words[0]) if words else ""
    if program in _LAUNCHERS and len(words) > 1:
        program = os.path.basename(words[1]).split("@")[0] or words[1].rsplit("@", 1)[0]
    for affix in ("mcp-server-", "server-"):
        program = program.removeprefix(affix)
    return program.removesuffix(".js").removesuffix(".py").removesuffix("-mcp")


def _create_relay(name: str, identity: tuple[str, ...], *, trust_first: bool) -> "Relay":
    # Governance takes most of the time until the relay is ready, and the server must have been started before.
    from verdikt.mcp.relay_service import create_relay

    return create_relay(name, identity, trust_first=trust_first)


def guess_host_name(address: str) -> str:
    """Return a name for a server from its address."""
    return (urlsplit(address).hostname or "").split(".")[0]


def _report_failure(error: BaseException) -> None:
    click.echo(f"verdikt: the relay failed ({type(error).__name__}); nothing more runs through it", err=True)
    if isinstance(error, Exception):
        record_crash(get_data_directory(os.environ), "mcp.relay", error)


@command.group(cls=SuggestingGroup, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def pins(ctx: click.Context, *, as_json: bool) -> None:
    """Show which definitions of tools were accepted, and what changed since: `pins show`, `pins accept`, `pins forget`.

    Example: verdikt mcp pins show git
    """
    if ctx.invoked_subcommand is None:
        _show_books(_find_books(""), as_json=as_json)


@pins.command()
@click.argument("server", default="")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(*, server: str, as_json: bool) -> None:
    """Show the tools of a server, or of all: what was accepted, by whom, and what changed since.

    Example: verdikt mcp pins show git
    """
    _show_books(_find_books(server), as_json=as_json)


@pins.command()
@click.argument("server")
@click.argument("tools", nargs=-1)
@click.option(
    "--effect",
    "effects",
    multiple=True,
    type=click.Choice([effect.value for effect in EffectClass]),
    help="What the tools do; counts as if the policy's manifest declared it.",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask; still needs a terminal.")
def accept(*, server: str, tools: tuple[str, ...], effects: tuple[str, ...], yes: bool) -> None:
    """Accept tools as the server describes them now, after a look at what changed. Without names: all of them.

    Example: verdikt mcp pins accept git git_push --effect network
    """
    require_terminal("accepting a tool", screen=sys.stdout)
    books = _find_books(server)
    if not books:
        raise McpError(f"no server `{server}` was seen yet: it must list its tools through the relay first")
    for book in books:
        chosen = [book.pins[name] for name in (tools or sorted(book.pins)) if name in book.pins]
        waiting = [pin for pin in chosen if pin.state != "accepted" or effects]
        if unknown := [name for name in tools if name not in book.pins]:
            raise McpError(f"expected tools that `{server}` has listed, found {', '.join(unknown)}")
        for pin in waiting:
            _print_pin(pin, with_diff=True)
        if not waiting:
            click.echo(f"{server}: nothing to accept")
        elif yes or click.confirm(f"Accept {len(waiting)} of {server}'s tools?", default=False):
            server_pins = open_book(get_data_directory(os.environ), book)
            for pin in waiting:
                server_pins.accept(pin.name, by=get_user_name(), effects=effects)
            click.echo(f"accepted {', '.join(pin.name for pin in waiting)}")


@pins.command()
@click.argument("server")
def forget(*, server: str) -> None:
    """Forget a server's tools: its next list counts as the first one.

    Example: verdikt mcp pins forget git
    """
    require_terminal("forgetting a server", screen=sys.stdout)
    data_directory = get_data_directory(os.environ)
    for book in _find_books(server):
        Path(open_book(data_directory, book).path).unlink(missing_ok=True)
        click.echo(f"forgot {book.name} ({len(book.pins)} tools)")


def _find_books(server: str) -> list["PinBook"]:
    return [book for book in list_books(get_data_directory(os.environ)) if server in ("", book.name)]


def _show_books(books: list["PinBook"], *, as_json: bool) -> None:
    if as_json:
        rows = [
            book.to_record() | {"states": {name: pin.state.value for name, pin in book.pins.items()}} for book in books
        ]
        click.echo(json.dumps({"servers": rows}))
        return
    if not books:
        click.echo("no server was seen yet; `verdikt docs mcp` says how to begin")
    for book in books:
        info = f"  {book.server_info}" if book.server_info else ""
        click.echo(click.style(book.name, bold=True) + f"  {' '.join(book.identity)}{info}")
        for name in sorted(book.pins):
            _print_pin(book.pins[name], with_diff=book.pins[name].state == "changed")


def _print_pin(pin: "ToolPin", *, with_diff: bool) -> None:
    color = {"accepted": "green", "new": "yellow", "changed": "red"}[pin.state.value]
    effects = ", ".join(pin.effects) or ", ".join(f"{effect}?" for effect in propose_effects(pin.seen)) or "-"
    by = f"  by {pin.accepted_by}" if pin.accepted_by else ""
    click.echo(f"  {click.style(f'{pin.state.value:<9}', fg=color)} {pin.name}  {effects}{by}")
    for finding in pin.findings:
        click.echo(f"            {click.style('!', fg='yellow')} {finding}")
    if with_diff:
        for line in pin.render_diff().splitlines():
            click.echo(f"            {line}")
