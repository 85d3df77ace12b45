"""Whatever either side sends, the relay holds a bounded number of messages, sessions and connections."""

import io
import json
import socket
import threading
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.unit.mcp import test_http_transport
from tests.unit.mcp.relay_bench import RelayBench
from tests.unit.mcp.scripted_http_server import ScriptedHttpServer
from tests.unit.mcp.test_http_transport import listen
from verdikt.errors import McpError
from verdikt.mcp import conversation, event_stream, http_relay, http_server, http_transport
from verdikt.mcp.event_stream import read_events
from verdikt.mcp.http_relay import HttpRelay
from verdikt.mcp.server_address import ServerAddress


def test_requests_of_a_client_that_are_not_answered_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One too many is an error, and an answer makes room."""
    monkeypatch.setattr(conversation, "MAX_PENDING", 2)
    bench = RelayBench(tmp_path)
    first, _ = bench.request("ping"), bench.request("ping")

    assert "at most 2 requests" in bench.request("ping").to_client[0].body["error"]["message"]
    bench.server(id=first.to_server[0].id, result={})
    assert len(bench.request("ping").to_server) == 1


def test_requests_of_a_server_that_are_not_answered_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client never sees one too many."""
    monkeypatch.setattr(conversation, "MAX_PENDING", 2)
    bench = RelayBench(tmp_path)
    for number in range(2):
        assert len(bench.server(id=number, method="ping").to_client) == 1
    refused = bench.server(id=2, method="ping")

    assert refused.to_client == []
    assert "fewer requests" in refused.to_server[0].body["error"]["message"]


@pytest.mark.parametrize("line", [b"data: 0123456789\n", b"data\n", b"x\n", b"id: 1\n"])
def test_an_event_without_an_end_is_refused(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one of lines that add nothing to it."""
    monkeypatch.setattr(event_stream, "MAX_MESSAGE_BYTES", 100)

    with pytest.raises(McpError, match="at most 100 bytes"):
        list(read_events(io.BytesIO(line * 100)))


def test_sessions_over_http_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was begun first is forgotten, and begins again when it comes back."""
    monkeypatch.setattr(http_relay, "MAX_SESSIONS", 2)
    bench = RelayBench(tmp_path)
    relay = HttpRelay("http://127.0.0.1:1/mcp", bench.reconnect, bench.pins)
    first, second, _ = [relay.add_session(name, bench.reconnect()) for name in "abc"]

    assert relay.find_relay("b", None) is second
    assert relay.find_relay("a", None) is not first


def test_connections_over_http_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One too many waits until another has ended."""
    for module in (http_transport, test_http_transport):
        monkeypatch.setattr(module, "MAX_CONNECTIONS", 1)
    client = listen(tmp_path, close_after_test(ScriptedHttpServer()))
    with socket.create_connection(("127.0.0.1", client.port)):
        waiting = threading.Thread(target=client.connect, args=({},))
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
    waiting.join(20)

    assert client.session


def test_requests_to_a_server_at_an_address_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a connection of its own; one too many is an error."""
    monkeypatch.setattr(http_server, "MAX_REQUESTS", 0)
    upstream = close_after_test(ScriptedHttpServer())
    server = http_server.HttpServer(ServerAddress(upstream.url), {})
    server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    server.stdin.close()
    server.wait(20)
    server.stdout.close()

    assert "at most 0 requests" in answer["error"]["message"]
    assert upstream.bodies == []
