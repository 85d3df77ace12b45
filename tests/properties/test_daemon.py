"""Whatever bytes come through a door, a client is listened to, refused or let go; nothing else comes of it."""

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
REQUESTS = st.lists(st.sampled_from(HEADERS), max_size=9).map(b"\r\n".join)
QUESTIONS = st.tuples(st.integers(0, 40), st.integers(0, 40), st.binary(max_size=90)).map(
    lambda parts: protocol.MAGIC + parts[0].to_bytes(4, "big") + parts[1].to_bytes(4, "big") + parts[2]
)


def heard(connection: Connection, theirs: socket.socket, pieces: list[bytes]) -> bytes:
    """What the client gets in the end, when it sends these pieces."""
    said = DaemonReply(protocol.KIND_ANSWER, 0, b"{}\n")
    connection.sock.setblocking(False)
    try:
        for piece in filter(None, pieces):
            theirs.sendall(piece)
            if connection.receive_data():
                connection.read_request()
                break
        else:
            said = DaemonReply.refusal("it took too long")
    except protocol.MalformedMessage as error:
        said = DaemonReply.refusal(str(error))
    connection.send_reply(said)
    return theirs.recv(1 << 16)


def cut(data: bytes, at: int) -> list[bytes]:
    return [data[:at], data[at:]]


@given(st.one_of(st.binary(max_size=80), QUESTIONS), st.integers(0, 80))
def test_any_bytes_through_the_socket(data: bytes, at: int) -> None:
    """The answer is always one of the protocol."""
    ours, theirs = socket.socketpair()
    with closing(theirs):
        answer = heard(Connection(ours, get_peer(ours), 0.0), theirs, cut(data, at))

    kind, _, out, err = protocol.decode_reply_prefix(answer[: protocol.REPLY_PREFIX_BYTES])
    assert len(answer) == protocol.REPLY_PREFIX_BYTES + out + err
    assert kind in (protocol.KIND_ANSWER, protocol.KIND_REFUSED)


@given(st.one_of(st.binary(max_size=80), REQUESTS), st.integers(0, 200))
def test_any_bytes_through_the_port(data: bytes, at: int) -> None:
    """A 404 for what is no hook; else a 200 that lets nothing through unless it was asked with the token."""
    ours, theirs = socket.socketpair()
    with closing(theirs):
        answer = heard(HttpConnection(ours, 0.0, 7, TOKEN, {}), theirs, cut(data, at))

    head, _, body = answer.partition(b"\r\n\r\n")
    document = json.loads(body)
    assert head.startswith((b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 404 Not Found\r\n"))
    if head.startswith(b"HTTP/1.1 200") and document.get("decision") != "block":
        assert TOKEN.encode() in data
        assert b"Host: 127.0.0.1:7" in data
