"""`verdikt mcp`: the relay that governs an MCP server, and the pins of its tools."""

import os
from functools import partial
from urllib.parse import urlsplit

import click

from verdikt.cli.lazy_group import LazyGroup
from verdikt.knowledge import find_role
from verdikt.mcp.plain_command import create_relay_late, is_server_name
from verdikt.mcp.stdio_transport import run_stdio_relay, start_server


class RelayGroup(LazyGroup):
    """A group whose default command is `run`, so that `verdikt mcp -- SERVER` starts the relay."""

    default_command = "run"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `run` where the first word is neither a command nor a request for help."""
        if args and args[0] not in self.places and args[0] not in ("-h", "--help"):
            args = [self.default_command, *args]
        return super().parse_args(ctx, args)


# Loaded when they are called: the relay starts its server before everything that it does not need for that.
_PLACES = {"run": "verdikt.cli.mcp:run", "pins": "verdikt.cli.mcp_pins:pins"}


@click.group(cls=RelayGroup, places=_PLACES)
def command() -> None:
    """Stand between an MCP client and a server: decide on calls, pin tools, keep the log.

    Example: verdikt mcp --name git -- mcp-server-git --repository .
    """


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("--name", default="", help="The server's name in the policy and the log; default: its program's.")
@click.option("--trust-first", is_flag=True, help="Accept the tools that the server lists when it is first seen.")
@click.option("--listen", default="", metavar="HOST:PORT", help="Listen for clients over HTTP; with --to.")
@click.option("--to", default="", metavar="URL", help="The address of a server that is reached over HTTP.")
@click.option(
    "--allow-origin", "origins", multiple=True, metavar="ORIGIN", help="A web page that may call; with --listen."
)
@click.option("--everywhere", is_flag=True, help="Let --listen take calls from other machines.")
@click.option("--attended", is_flag=True, help="A person sits at every client that calls: ask there; with --listen.")
@click.argument("server", nargs=-1, type=click.UNPROCESSED)
def run(
    *,
    name: str,
    trust_first: bool,
    listen: str,
    to: str,
    origins: tuple[str, ...],
    everywhere: bool,
    attended: bool,
    server: tuple[str, ...],
) -> None:
    """Relay to a server: a command, or an address with --to. The default: `run` can be left out.

    The client speaks to the relay over stdio; with --listen over HTTP. Headers for an address are in the variable
    VERDIKT_MCP_SERVER, as JSON: {"headers": {"Authorization": "Bearer …"}}.

    Example: verdikt mcp run --name git -- mcp-server-git --repository .
    """
    if bool(to) == bool(server):
        raise click.UsageError("expected either the command of a server after `--`, or its address with --to URL")
    if listen and not to:
        raise click.UsageError("expected --to URL with --listen: a server that is a command has one client, over stdio")
    if attended and not listen:
        raise click.UsageError("expected --listen with --attended: a client that starts the relay is asked anyway")
    server_name = check_server_name(name or (guess_host_name(to) if to else guess_server_name(server)))
    create = partial(create_relay_late, server_name, (to,) if to else server, trust_first)
    if not to:
        run_stdio_relay(partial(start_server, server), create)
    from verdikt.mcp import http_service  # a server that is a command starts sooner without it

    if not listen:
        run_stdio_relay(partial(http_service.connect_server, to), create)
    http_service.serve_http(
        server_name,
        listen,
        to,
        origins,
        trust_first=trust_first,
        everywhere=everywhere,
        attended=attended,
        announce=partial(click.echo, err=True),
    )


def check_server_name(name: str) -> str:
    """Return a name that can be part of a tool's name; raise `UsageError` for any other."""
    if not is_server_name(name):
        raise click.UsageError(f"expected a name of letters, digits, `-`, `_` and `.`, found `{name}`; use --name")
    return name


def guess_server_name(server: tuple[str, ...]) -> str:
    """Return a name for a server from its command: that of the package, without what all of them have in common."""
    words = [word for word in server if not word.startswith("-")]
    program = os.path.basename(words[0]) if words else ""
    # Asked only here: it loads a large table, which a server with a name must not wait for.
    if len(words) > 1 and program in find_role("package_launcher"):
        program = os.path.basename(words[1]).split("@")[0] or words[1].rsplit("@", 1)[0]
    for affix in ("mcp-server-", "server-"):
        program = program.removeprefix(affix)
    return program.removesuffix(".js").removesuffix(".py").removesuffix("-mcp")


def guess_host_name(address: str) -> str:
    """Return a name for a server from its address."""
    return (urlsplit(address).hostname or "").split(".")[0]
