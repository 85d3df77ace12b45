"""A server at an address behind the relay on stdio: `verdikt mcp --to URL`."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cleanup import close_after_test
from tests.unit.mcp.relay_bench import MODERN
from tests.unit.mcp.relay_process import RelayProcess
from tests.unit.mcp.scripted_http_server import SESSION, ScriptedHttpServer
from verdikt.errors import McpError
from verdikt.mcp.http_headers import build_agreeing_headers, check_agreement
from verdikt.mcp.http_server import ONE_WAY_SECONDS, HttpServer
from verdikt.mcp.message import decode_message
from verdikt.mcp.server_address import ServerAddress


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[..., RelayProcess]]:
    """Return a function that starts a relay in front of a server at an address; it ends with the test."""
    relays: list[RelayProcess] = []

    def start(upstream: ScriptedHttpServer, **env: str) -> RelayProcess:
        relays.append(RelayProcess(tmp_path, "--trust-first", to=upstream.url, env=env))
        return relays[-1]

    yield start
    for relay in relays:
        relay.close()


@pytest.fixture
def upstream() -> ScriptedHttpServer:
    """Return a server."""
    return close_after_test(ScriptedHttpServer())


def test_a_conversation_of_the_old_era_crosses(
    upstream: ScriptedHttpServer, connect: Callable[..., RelayProcess]
) -> None:
    """Calls pass and are refused, results come as JSON or as events, and the session ends with the client."""
    relay = connect(upstream)
    relay.connect()
    assert relay.call("get_note") == "ran"
    assert "No person can be asked" in relay.call("frobnicate")
    assert relay.call("get_stream") == "ran"
    assert "notifications/progress" in relay.methods
    relay.wait_for("notifications/message")  # from the stream that belongs to no request
    assert relay.process.stdin is not None
    relay.process.stdin.close()
    assert relay.process.wait(20) == 0

    assert upstream.calls == ["get_note", "get_stream"]
    assert upstream.deleted == [SESSION]
    assert upstream.headers[-1]["mcp-session-id"] == SESSION
    assert upstream.headers[-1]["mcp-protocol-version"] == "2025-06-18"


def test_a_request_of_the_new_era_has_the_headers_that_repeat_it(
    upstream: ScriptedHttpServer, connect: Callable[..., RelayProcess]
) -> None:
    """The relay itself would accept them: what a gateway goes by is what was decided."""
    relay = connect(upstream)
    relay.request("tools/list", _meta=MODERN)
    relay.request("tools/call", name="get_note", arguments={"id": "ñ"}, _meta=MODERN)

    headers, body = upstream.headers[-1], upstream.bodies[-1]
    assert (headers["mcp-method"], headers["mcp-name"]) == ("tools/call", "get_note")
    assert headers["mcp-param-note"].startswith("=?base64?")
    assert headers["mcp-protocol-version"] == "2026-07-28"
    schema = {"properties": {"id": {"x-mcp-header": "Note"}}}
    check_agreement(headers.items(), decode_message(json.dumps(body).encode()), schema)


def test_a_request_of_the_new_era_is_cancelled_by_breaking_it_off(
    upstream: ScriptedHttpServer, connect: Callable[..., RelayProcess]
) -> None:
    """The server notices that its client has gone."""
    relay = connect(upstream)
    relay.request("tools/list", _meta=MODERN)
    call = {"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": {"name": "get_wait", "_meta": MODERN}}
    relay.send(json.dumps(call).encode())
    while "get_wait" not in upstream.calls:
        relay.request("ping", _meta=MODERN)
    relay.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}')

    assert upstream.was_cut.wait(20)


def test_a_server_of_2024_is_reached_by_its_own_transport(connect: Callable[..., RelayProcess]) -> None:
    """Its stream says where to post, and brings every answer."""
    upstream = close_after_test(ScriptedHttpServer(is_legacy=True))
    relay = connect(upstream)
    relay.connect()

    assert relay.call("get_note") == "ran"
    assert relay.request("tools/call", name="frobnicate", arguments={})["result"]["isError"] is True
    assert upstream.calls == ["get_note"]


def test_a_session_after_one_without_a_stream_has_its_own(
    upstream: ScriptedHttpServer, connect: Callable[..., RelayProcess]
) -> None:
    """What the server sends unasked is read as soon as a session has a stream of events."""
    upstream.missing_streams = 1
    relay = connect(upstream)
    relay.connect()
    while upstream.missing_streams:
        relay.request("ping")
    for _ in range(100):
        relay.connect()
        if "notifications/message" in relay.methods:
            break

    assert "notifications/message" in relay.methods


def test_a_stream_that_the_server_ends_is_resumed(
    upstream: ScriptedHttpServer, connect: Callable[..., RelayProcess]
) -> None:
    """The answer comes on the resumed stream; the call is sent once."""
    relay = connect(upstream)
    relay.connect()

    assert relay.call("get_later") == "ran"
    assert upstream.calls == ["get_later"]


@pytest.mark.parametrize("entry", [{}, {"headers": {"Authorization": "Bearer t"}}, {"bearer_token_env_var": "TOKEN"}])
def test_the_headers_of_the_entry_are_sent(connect: Callable[..., RelayProcess], entry: dict[str, Any]) -> None:
    """Without them the client reads what is missing."""
    upstream = close_after_test(ScriptedHttpServer(token="t"))
    relay = connect(upstream, VERDIKT_MCP_SERVER=json.dumps(entry), TOKEN="t")
    answer = relay.request("initialize", protocolVersion="2025-06-18", capabilities={})

    assert ("result" in answer) == bool(entry)
    assert entry or "wants a login" in answer["error"]["message"]


def test_a_server_that_cannot_be_reached_is_an_error_for_each_request(
    upstream: ScriptedHttpServer, connect: Callable[..., RelayProcess]
) -> None:
    """The client does not wait for ever."""
    relay = connect(upstream)
    relay.connect()
    upstream.close()

    assert "cannot be reached" in relay.request("tools/call", name="get_note", arguments={})["error"]["message"]


def test_what_is_no_message_is_dropped_and_an_answer_without_an_id_belongs_to_its_request(
    upstream: ScriptedHttpServer, connect: Callable[..., RelayProcess]
) -> None:
    """As in front of a server that is a command."""
    relay = connect(upstream)
    relay.connect()

    assert relay.call("get_broken") == "ran"
    assert relay.request("tools/call", name="get_refused", arguments={})["error"]["message"] == "no"


@pytest.mark.parametrize("reference", ["https://other.example/x", "//other.example/x", "http://127.0.0.1:2/x"])
def test_a_server_cannot_send_messages_elsewhere(reference: str) -> None:
    """Where to post must be at the same server."""
    with pytest.raises(McpError, match="same server"):
        ServerAddress("http://127.0.0.1:1/sse").resolve(reference)


@pytest.mark.parametrize("name", ["get_note", "", " blank ", "ñ", "=?base64?eA==?=", "a\nb"])
def test_headers_that_are_built_agree_with_the_body(name: str) -> None:
    """Whatever a tool is called."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}}
    message = decode_message(json.dumps(body).encode())
    headers = build_agreeing_headers(message)

    check_agreement(headers.items(), message)
    assert all(value.isascii() and value.isprintable() for value in headers.values())


def test_a_notification_that_is_never_acknowledged_holds_nothing_up_for_ever() -> None:
    """The limit is the constructor's, here a moment: the request behind the notification is answered."""
    upstream = close_after_test(ScriptedHttpServer())
    upstream.is_silent = True
    server = HttpServer(ServerAddress(upstream.url), {}, one_way_seconds=0.01)
    for line in ({"method": "notifications/progress"}, {"id": 1, "method": "tools/list"}):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    server.stdin.close()
    server.wait(20)
    server.stdout.close()

    assert (answer["id"], len(upstream.bodies)) == (1, 2)
    assert ONE_WAY_SECONDS == 10
