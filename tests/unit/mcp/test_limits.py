"""Whatever either side sends, the relay holds a bounded number of messages, sessions and connections."""

import io
import json
import socket
import threading
from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock
from tests.unit.mcp import test_http_transport
from tests.unit.mcp.relay_bench import MODERN, RelayBench, build, text_of
from tests.unit.mcp.scripted_http_server import ScriptedHttpServer
from tests.unit.mcp.test_http_transport import listen
from verdikt.errors import McpError
from verdikt.mcp import conversation, event_stream, http_relay, http_server, http_transport, sealed_state
from verdikt.mcp.event_stream import read_events
from verdikt.mcp.http_relay import HttpRelay
from verdikt.mcp.sealed_state import StateSealer
from verdikt.mcp.server_address import ServerAddress
from verdikt.mcp.tool_pin import MAX_TOOLS
from verdikt.model.entry import EntryKind


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


def test_what_one_message_of_a_server_wants_is_bounded(tmp_path: Path) -> None:
    """Each wish is decided and recorded: a message full of them would hold the relay up for minutes."""
    bench = RelayBench(tmp_path)
    bench.list_tools()
    wishes = {str(number): {"method": "roots/list"} for number in range(1000)}
    request_id = bench.call("get_note", _meta=MODERN).to_server[0].id
    decisions = len(bench.entries(EntryKind.DECISION))
    answer = bench.server(id=request_id, result={"resultType": "input_required", "inputRequests": wishes})

    assert "at most 32" in text_of(answer)
    pages = [{"mode": "url", "url": "https://example.com", "message": "m", "elicitationId": "e"}] * 1000
    request_id = bench.call("get_note").to_server[0].id
    answer = bench.server(id=request_id, error={"code": -32042, "message": "m", "data": {"elicitations": pages}})
    assert "at most 32" in text_of(answer)
    assert len(bench.entries(EntryKind.DECISION)) == decisions + 1


def test_answers_that_were_used_are_not_forgotten_while_they_could_count_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that floods the relay with answers gets none accepted, and no earlier one a second time."""
    monkeypatch.setattr(sealed_state, "MAX_USED", 2)
    clock = FakeClock()
    sealer = StateSealer(clock)
    tokens = [sealer.seal({"call": "c", "number": number}) for number in range(3)]
    for token in tokens[:2]:
        sealer.open(token, call="c")
    for token in tokens:
        with pytest.raises(McpError, match="used before|too many"):
            sealer.open(token, call="c")
    clock.sleep(sealed_state.LIFETIME_SECONDS + 1)

    assert sealer.open(sealer.seal({"call": "c", "number": 4}), call="c")["number"] == 4


def test_schemas_of_a_server_at_an_address_are_bounded() -> None:
    """A server that lists other tools each time does not fill the memory."""
    upstream = close_after_test(ScriptedHttpServer())
    server = http_server.HttpServer(ServerAddress(upstream.url), {})
    request = build({"id": 1, "method": "tools/list"})
    for page in range(3):
        server._note_result(request, {"tools": [{"name": f"{page}-{number}"} for number in range(1500)]})
    server.stdin.close()
    server.wait(20)
    server.stdout.close()

    assert len(server._schemas) <= MAX_TOOLS


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
