"""Builds the relay with its governance, connects it to a server at an address, and serves it over HTTP."""

import gc
import os
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from verdikt.errors import McpError
from verdikt.mcp.call_governor import CallGovernor
from verdikt.mcp.pin_store import ServerPins
from verdikt.mcp.relay import Relay
from verdikt.mcp.sealed_state import StateSealer

if TYPE_CHECKING:
    from verdikt.mcp.http_server import HttpServer


GC_THRESHOLDS = (20_000, 20, 20)
"""How many objects may be made before garbage is looked for: a decision makes thousands, and leaves none in cycles."""


def _settle_memory() -> None:
    """Leave what was made at the start out of every later search for garbage."""
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def create_relay(name: str, identity: tuple[str, ...], *, trust_first: bool) -> Relay:
    """Return a relay for one connection to a server, with the policy in force here."""
    governor = CallGovernor(name, cwd=os.getcwd(), env=os.environ)
    _settle_memory()
    return Relay(governor, ServerPins(governor.data_directory, name, identity), trust_first=trust_first)


def connect_server(address: str) -> "HttpServer":
    """Return a server at an address, with the headers that the client's entry has for it."""
    # A server that is a command needs no HTTP, and starts sooner without it.
    from verdikt.hosts.wiring.server_entry import build_headers, parse_entry
    from verdikt.mcp.http_server import HttpServer
    from verdikt.mcp.server_address import ServerAddress

    return HttpServer(ServerAddress(address), build_headers(parse_entry(os.environ), os.environ))


def serve_http(
    name: str,
    listen: str,
    to: str,
    origins: tuple[str, ...],
    *,
    trust_first: bool,
    everywhere: bool,
    announce: Callable[[str], None],
) -> None:
    """Listen for clients and relay each of them to the server, until a person ends it."""
    from verdikt.mcp.http_transport import HttpRelay, RelayListener, parse_listen_address

    host, port = parse_listen_address(listen)
    if host not in ("127.0.0.1", "localhost", "::1") and not everywhere:
        raise McpError(
            f"expected an address of this machine alone, found `{host}`; --everywhere listens there all the same"
        )
    governor = CallGovernor(name, cwd=os.getcwd(), env=os.environ)
    pins = ServerPins(governor.data_directory, name, (to,))
    sealer = StateSealer(governor.clock)
    _settle_memory()

    def create_client_relay() -> Relay:
        return Relay(governor, pins, trust_first=trust_first, sealer=sealer)

    with (
        closing(governor),
        RelayListener(host, port, HttpRelay(to, create_client_relay, pins, origins=origins)) as listener,
    ):
        announce(f"listening on http://{listen.rpartition(':')[0]}:{listener.server_port}, for {to}")
        with suppress(KeyboardInterrupt):
            listener.serve_forever()
