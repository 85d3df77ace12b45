"""Any bytes on the socket or the port get a valid reply, and only an authorized request is allowed."""

import json
import socket
from contextlib import closing

from hypothesis import given
from hypothesis import strategies as st

from verdikt.daemon import protocol
from verdikt.daemon.connection import Connection, get_peer
from verdikt.daemon.http_listener import HttpConnection
from verdikt.daemon.request import DaemonReply

TOKEN = "t" * 43
HEADERS = [
    b"POST /hook/claude/PreToolUse HTTP/1.1",
    b"GET / HTTP/1.1",
    b"Host: 127.0.0.1:7",
    b"Authorization: Bearer " + TOKEN.encode(),
    b"Content-Length: 2",
    b"content-length: 99999999999999999999",
    b"Transfer-Encoding: chunked",
    b"Origin: x",
    b": x",
    b"",
    b"{}",
    b"\xff\x00",
]
HTTP_REQUESTS = st.lists(st.sampled_from(HEADERS), max_size=9).map(b"\r\n".join)
BINARY_REQUESTS = st.tuples(st.integers(0, 40), st.integers(0, 40), st.binary(max_size=90)).map(
    lambda parts: protocol.MAGIC + parts[0].to_bytes(4, "big") + parts[1].to_bytes(4, "big") + parts[2]
)


def exchange(connection: Connection, client: socket.socket, chunks: list[bytes]) -> bytes:
    """Feed chunks to a connection and return what its client receives."""
    reply = DaemonReply(protocol.KIND_ANSWER, 0, b"{}\n")
    connection.sock.setblocking(False)
    try:
        for chunk in filter(None, chunks):
            client.sendall(chunk)
            if connection.receive_data():
                connection.read_request()
                break
        else:
            reply = DaemonReply.refusal("it took too long")
    except protocol.MalformedMessage as error:
        reply = DaemonReply.refusal(str(error))
    connection.send_reply(reply)
    return client.recv(1 << 16)


def split_at(data: bytes, position: int) -> list[bytes]:
    """Split data into two chunks."""
    return [data[:position], data[position:]]


@given(st.one_of(st.binary(max_size=80), BINARY_REQUESTS), st.integers(0, 80))
def test_any_bytes_on_the_socket_get_a_valid_reply(data: bytes, position: int) -> None:
    """The reply to any bytes is one of the protocol."""
    server, client = socket.socketpair()
    with closing(client):
        response = exchange(Connection(server, get_peer(server), 0.0), client, split_at(data, position))

    kind, _, out, err = protocol.decode_reply_prefix(response[: protocol.REPLY_PREFIX_BYTES])
    assert len(response) == protocol.REPLY_PREFIX_BYTES + out + err
    assert kind in (protocol.KIND_ANSWER, protocol.KIND_REFUSED)


@given(st.one_of(st.binary(max_size=80), HTTP_REQUESTS), st.integers(0, 200))
def test_any_bytes_on_the_port_are_allowed_only_with_the_token(data: bytes, position: int) -> None:
    """Other paths get a 404, and a hook's 200 allows only a request with the token and the right host."""
    server, client = socket.socketpair()
    with closing(client):
        response = exchange(HttpConnection(server, 0.0, 7, TOKEN, {}), client, split_at(data, position))

    head, _, body = response.partition(b"\r\n\r\n")
    document = json.loads(body)
    assert head.startswith((b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 404 Not Found\r\n"))
    if head.startswith(b"HTTP/1.1 200") and document.get("decision") != "block":
        assert TOKEN.encode() in data
        assert b"Host: 127.0.0.1:7" in data
