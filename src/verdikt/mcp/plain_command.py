"""`verdikt mcp --name N [--trust-first] -- SERVER …` without click, the form in which clients start the relay.

The server runs before anything else is imported. Every other form of the command is left to the command line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from verdikt.errors import VerdiktError
from verdikt.mcp.stdio_transport import run_stdio_relay, start_server

if TYPE_CHECKING:
    from verdikt.mcp.relay import Relay


class PlainCommand(NamedTuple):
    """A relay over stdio to a server that is a command."""

    name: str
    server: tuple[str, ...]
    trust_first: bool = False


def is_server_name(name: str) -> bool:
    """Whether a name can be part of a tool's name."""
    return bool(name) and "__" not in name and all(letter.isalnum() or letter in "-_." for letter in name)


def parse_plain_command(arguments: Sequence[str]) -> PlainCommand | None:
    """Return the command that these arguments of `verdikt mcp` stand for; None for any other than the plain form."""
    if "--" not in arguments:
        return None
    end = arguments.index("--")
    options, server = list(arguments[:end]), tuple(arguments[end + 1 :])
    trust_first = options.count("--trust-first") == 1
    if trust_first:
        options.remove("--trust-first")
    if len(options) != 2 or options[0] != "--name" or not is_server_name(options[1]) or not server:
        return None
    return PlainCommand(options[1], server, trust_first)


def run_plain_command(command: PlainCommand) -> NoReturn:
    """Relay until one side ends, and exit with the server's status."""
    try:
        run_stdio_relay(partial(start_server, command.server), partial(create_relay_late, *command))
    except VerdiktError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(1)


def create_relay_late(name: str, identity: tuple[str, ...], trust_first: bool) -> Relay:
    """Return a relay for a server that has been started."""
    # Governance takes most of the time until the relay is ready, and the server must have been started before.
    from verdikt.mcp.relay_service import create_relay

    return create_relay(name, identity, trust_first=trust_first)
