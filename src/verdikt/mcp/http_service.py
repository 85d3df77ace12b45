"""The relay and HTTP: servers at an address, and clients that call one. A server that is a command needs none of it."""

import os
from collections.abc import Callable
from contextlib import closing, suppress

from verdikt.errors import McpError
from verdikt.hosts.wiring.server_entry import build_headers, parse_entry
from verdikt.mcp.call_governor import CallGovernor
from verdikt.mcp.http_relay import HttpRelay
from verdikt.mcp.http_server import HttpServer
from verdikt.mcp.http_transport import RelayListener, parse_listen_address
from verdikt.mcp.pin_store import ServerPins
from verdikt.mcp.relay import Relay
from verdikt.mcp.relay_service import settle_memory
from verdikt.mcp.running_tasks import RunningTasks
from verdikt.mcp.sealed_state import StateSealer
from verdikt.mcp.server_address import ServerAddress


def connect_server(address: str) -> HttpServer:
    """Return a server at an address, with the headers that the client's entry has for it."""
    return HttpServer(ServerAddress(address), build_headers(parse_entry(os.environ), os.environ))


def serve_http(
    name: str,
    listen: str,
    to: str,
    origins: tuple[str, ...],
    *,
    trust_first: bool,
    everywhere: bool,
    attended: bool,
    announce: Callable[[str], None],
) -> None:
    """Listen for clients and relay each of them to the server, until a person ends it."""
    host, port = parse_listen_address(listen)
    if host not in ("127.0.0.1", "localhost", "::1") and not everywhere:
        raise McpError(
            f"expected an address of this machine alone, found `{host}`; --everywhere listens there all the same"
        )
    # Any program of this machine may call, and say that it can show a question, and answer it: only the operator knows.
    governor = CallGovernor(name, cwd=os.getcwd(), env=dict(os.environ), has_person=attended)
    pins = ServerPins(governor.data_directory, name, (to,))
    sealer, tasks = StateSealer(governor.clock), RunningTasks()
    governor.warm_up()
    settle_memory()

    def create_client_relay() -> Relay:
        return Relay(governor, pins, trust_first=trust_first, sealer=sealer, tasks=tasks)

    with (
        closing(governor),
        RelayListener(host, port, HttpRelay(to, create_client_relay, pins, origins=origins)) as listener,
    ):
        announce(f"listening on http://{listen.rpartition(':')[0]}:{listener.server_port}, for {to}")
        with suppress(KeyboardInterrupt):
            listener.serve_forever()
