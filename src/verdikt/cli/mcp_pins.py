"""`verdikt mcp pins`: which definitions of tools were accepted, and what changed since."""

import json
import os
import sys
from pathlib import Path

import click

from verdikt.cli.operator_access import get_user_name, require_terminal
from verdikt.cli.suggesting_group import SuggestingGroup
from verdikt.errors import McpError
from verdikt.hosts.host_decision import sanitize_text
from verdikt.ledger.data_directory import get_data_directory
from verdikt.mcp.pin_store import list_books, open_book
from verdikt.mcp.tool_pin import PinBook, ToolPin, propose_effects
from verdikt.model.effect import EffectClass


@click.group(cls=SuggestingGroup, invoke_without_command=True)
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
    books = _find_books(server)
    if server and not books:
        raise McpError(_explain_unknown(server))
    _show_books(books, as_json=as_json)


def _explain_unknown(server: str) -> str:
    names = ", ".join(sorted({book.name for book in _find_books("")}))
    known = f"known: {names}" if names else "it must list its tools through the relay first"
    return f"no server `{server}` was seen yet; {known}"


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
        raise McpError(_explain_unknown(server))
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
                server_pins.accept(pin.name, by=get_user_name(), effects=effects, shown_digest=pin.seen_digest)
            click.echo(f"accepted {', '.join(map(_show_name, waiting))}")


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


def _find_books(server: str) -> list[PinBook]:
    return [book for book in list_books(get_data_directory(os.environ)) if server in ("", book.name)]


def _show_books(books: list[PinBook], *, as_json: bool) -> None:
    if as_json:
        rows = [
            book.to_record() | {"states": {name: pin.state.value for name, pin in book.pins.items()}} for book in books
        ]
        click.echo(json.dumps({"servers": rows}))
        return
    if not books:
        click.echo("no server was seen yet; `verdikt docs mcp` says how to begin")
    for book in books:
        info = f"  {sanitize_text(book.server_info)}" if book.server_info else ""
        click.echo(click.style(book.name, bold=True) + f"  {' '.join(book.identity)}{info}")
        for name in sorted(book.pins):
            _print_pin(book.pins[name], with_diff=book.pins[name].state == "changed")


def _show_name(pin: ToolPin) -> str:
    return sanitize_text(pin.name).replace("\n", " ")


def _print_pin(pin: ToolPin, *, with_diff: bool) -> None:
    color = {"accepted": "green", "new": "yellow", "changed": "red"}[pin.state.value]
    effects = ", ".join(pin.effects) or ", ".join(f"{effect}?" for effect in propose_effects(pin.seen)) or "-"
    by = f"  by {pin.accepted_by}" if pin.accepted_by else ""
    # A server's words must not steer the terminal in which a person judges them.
    click.echo(f"  {click.style(f'{pin.state.value:<9}', fg=color)} {_show_name(pin)}  {effects}{by}")
    for finding in pin.findings:
        click.echo(f"            {click.style('!', fg='yellow')} {sanitize_text(finding)}")
    if with_diff:
        for line in pin.render_diff().splitlines():
            click.echo(f"            {line}")
