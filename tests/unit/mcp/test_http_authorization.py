"""The login of a server behind the relay: what reaches the client, and which addresses the relay calls for it."""

from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.unit.mcp.scripted_http_server import ScriptedHttpServer
from tests.unit.mcp.test_http_transport import HttpClient, listen
from verdikt.mcp.http_authorization import METADATA_PATH, ServerAuthorization
from verdikt.mcp.server_address import ServerAddress

LOGIN = {"Authorization": "Bearer t"}


@pytest.fixture
def upstream() -> ScriptedHttpServer:
    """Return a server that wants a login."""
    server = close_after_test(ScriptedHttpServer(token="t"))
    server.challenge = f'Bearer error="invalid_token", resource_metadata="{server.url[:-4]}{METADATA_PATH}/mcp"'
    server.metadata[f"{METADATA_PATH}/mcp"] = {
        "resource": server.url,
        "authorization_servers": ["https://login.example"],
        "signed_metadata": "x.y.z",
    }
    return server


@pytest.fixture
def client(tmp_path: Path, upstream: ScriptedHttpServer) -> HttpClient:
    """Return a client of a relay in front of the server."""
    return listen(tmp_path, upstream)


def test_a_challenge_reaches_the_client_in_the_relays_name(client: HttpClient) -> None:
    """Status and challenge pass, with the relay's metadata, which describe the address that the client calls."""
    params = {"protocolVersion": "2025-06-18", "capabilities": {}}
    response = client.open({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params})
    own = f"http://127.0.0.1:{client.port}"

    expected = f'Bearer error="invalid_token", resource_metadata="{own}{METADATA_PATH}/mcp"'
    assert (response.status, response.headers["www-authenticate"]) == (401, expected)
    metadata = client.read_json(f"{METADATA_PATH}/mcp")
    assert metadata["resource"] == f"{own}/mcp"
    assert metadata["authorization_servers"] == ["https://login.example"]
    assert "signed_metadata" not in metadata


def test_a_call_is_sent_again_after_a_login_under_the_same_id(client: HttpClient, upstream: ScriptedHttpServer) -> None:
    """A token that ran out in the middle of a session leaves no request behind."""
    client.headers = LOGIN
    client.connect({})
    call = {"id": 5, "method": "tools/call", "params": {"name": "get_note", "arguments": {}}}

    assert client.send({"Authorization": "Bearer old"}, **call)[0] == 401
    assert client.send(**call)[1]["result"]["content"][0]["text"] == "ran"
    assert upstream.calls == ["get_note"]


def test_a_server_without_metadata_has_none_here(client: HttpClient, upstream: ScriptedHttpServer) -> None:
    """The client then looks elsewhere, or gives up."""
    upstream.metadata.clear()

    assert client.open(b"", method="GET", path=f"{METADATA_PATH}/mcp").status == 404


@pytest.mark.parametrize("quote", ['"', ""])
def test_a_challenge_cannot_send_the_relay_to_another_server(upstream: ScriptedHttpServer, quote: str) -> None:
    """Only the server's own metadata are fetched; a foreign address is passed over."""
    stranger = close_after_test(ScriptedHttpServer())
    stranger.metadata["/.well-known/x"] = {"resource": "foreign"}
    authorization = ServerAuthorization(ServerAddress(upstream.url))
    challenge = f"Bearer resource_metadata={quote}{stranger.url[:-4]}/.well-known/x{quote}, scope=a"

    assert authorization.rename_challenge(challenge, "http://own") == 'Bearer resource_metadata="http://own", scope=a'
    metadata = authorization.fetch_metadata("http://own/mcp")
    assert metadata is not None
    assert metadata["authorization_servers"] == ["https://login.example"]


def test_a_challenge_without_metadata_passes_as_it_is(upstream: ScriptedHttpServer) -> None:
    """Other schemes are none of the relay's business."""
    authorization = ServerAuthorization(ServerAddress(upstream.url))

    for challenge in ('Basic realm="notes"', 'Bearer x_resource_metadata="http://a"'):
        assert authorization.rename_challenge(challenge, "http://own") == challenge
