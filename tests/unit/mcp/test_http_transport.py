"""The relay over HTTP: both eras, JSON and events, and who may call at all."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cleanup import close_after_test
from tests.unit.mcp.relay_bench import MODERN, RelayBench
from tests.unit.mcp.scripted_http_server import SESSION, ScriptedHttpServer
from verdikt.errors import McpError
from verdikt.ledger.files import open_store
from verdikt.mcp.event_stream import read_events
from verdikt.mcp.http_headers import is_allowed_origin, is_own_host
from verdikt.mcp.http_relay import HttpRelay
from verdikt.mcp.http_transport import MAX_CONNECTIONS, RelayListener, parse_listen_address
from verdikt.mcp.question import QUESTION_KEY
from verdikt.mcp.relay import Relay
from verdikt.mcp.sealed_state import StateSealer
from verdikt.model.entry import EntryKind

YES = {"action": "accept", "content": {"allow": True}}
JSON_TYPES = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class HttpClient:
    """A client that speaks to the relay, one connection per request."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.headers: Mapping[str, str] = {}
        self.session: dict[str, str] = {}
        self._last_id = 0

    def open(
        self, body: object, headers: Mapping[str, str] = {}, method: str = "POST", path: str = "/mcp"
    ) -> http.client.HTTPResponse:
        """Send a request and return the response, whose body is still to come."""
        connection = close_after_test(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20))
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, body=data, headers={**JSON_TYPES, **self.headers, **self.session, **headers})
        return close_after_test(connection.getresponse())

    def read_json(self, path: str) -> Any:
        """Return the JSON at a path."""
        return json.loads(self.open(b"", method="GET", path=path).read())

    def send(self, headers: Mapping[str, str] = {}, **body: Any) -> tuple[int, Any]:
        """Send a message and return status and JSON of the response."""
        response = self.open({"jsonrpc": "2.0", **body}, headers)
        data = response.read()
        return response.status, json.loads(data) if data else None

    def events(self, **body: Any) -> Iterator[dict[str, Any]]:
        """Send a message and yield the messages of the response's events as they arrive."""
        return self.read_messages(self.open({"jsonrpc": "2.0", **body}))

    @staticmethod
    def read_messages(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
        """Yield the messages of a stream."""
        assert response.headers["content-type"] == "text/event-stream"
        yield from (json.loads(event.data) for event in read_events(response) if event.data)

    def call(self, tool: str, headers: Mapping[str, str] = {}, **params: Any) -> tuple[int, Any]:
        """Call a tool."""
        self._last_id += 1
        params = {"name": tool, "arguments": {}, **params}
        return self.send(headers, id=self._last_id, method="tools/call", params=params)

    def connect(self, capabilities: Mapping[str, Any]) -> None:
        """Do the handshake of the old era, and list the tools."""
        params = {"protocolVersion": "2025-06-18", "capabilities": capabilities}
        response = self.open({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params})
        response.read()
        self.session = {"Mcp-Session-Id": response.headers["mcp-session-id"]}
        assert self.send(method="notifications/initialized") == (202, None)
        self.send(id="l", method="tools/list")


@pytest.fixture
def upstream() -> ScriptedHttpServer:
    """Return the server behind the relay."""
    return close_after_test(ScriptedHttpServer())


class Closer:
    """Ends a listener with the test."""

    def __init__(self, listener: RelayListener) -> None:
        self._listener = listener

    def close(self) -> None:
        """Stop listening, and wait for requests whose outcome is still being recorded; one that asks may wait on."""
        self._listener.shutdown()
        self._listener.server_close()
        for _ in range(MAX_CONNECTIONS):
            if not self._listener.slots.acquire(timeout=5):
                break


def listen(root: Path, upstream: ScriptedHttpServer, *, has_person: bool = True) -> HttpClient:
    """Return a client of a relay in front of the server; `has_person` is the operator's `--attended`."""
    bench = RelayBench(root, has_person=has_person)
    sealer = StateSealer()

    def create_relay() -> Relay:
        return Relay(bench.governor, bench.pins, trust_first=True, sealer=sealer)

    relay = HttpRelay(upstream.url, create_relay, bench.pins, origins=["https://pages.example"])
    listener = RelayListener("127.0.0.1", 0, relay)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    close_after_test(Closer(listener))
    return HttpClient(listener.server_port)


@pytest.fixture
def client(tmp_path: Path, upstream: ScriptedHttpServer) -> HttpClient:
    """Return a client at which a person sits."""
    return listen(tmp_path, upstream)


def test_calls_pass_and_are_refused_over_http(client: HttpClient, upstream: ScriptedHttpServer) -> None:
    """A harmless call runs once; one that a person would have to confirm does not run."""
    client.connect({})

    assert client.call("get_note")[1]["result"]["content"] == [{"type": "text", "text": "ran"}]
    assert client.call("frobnicate")[1]["result"]["isError"] is True
    assert upstream.calls == ["get_note"]


def test_events_are_relayed_one_by_one(client: HttpClient) -> None:
    """Progress arrives before the result; what no message is stays out."""
    client.connect({})
    params = {"name": "get_stream", "arguments": {}}

    methods = [m.get("method") for m in client.events(id=5, method="tools/call", params=params)]
    assert methods == ["notifications/progress", None]
    [message] = client.events(id=6, method="tools/call", params={"name": "get_broken", "arguments": {}})
    assert message["id"] == 6


def test_an_ask_of_the_old_era_waits_in_the_stream_of_its_call(
    client: HttpClient, upstream: ScriptedHttpServer
) -> None:
    """The question is an event; its answer is another request; the result follows in the same stream."""
    client.connect({"elicitation": {}})
    for answer, calls in ((YES, ["frobnicate"]), ({"action": "decline"}, [])):
        upstream.calls.clear()
        params = {"name": "frobnicate", "arguments": {}}
        events = client.events(id=f"c-{len(calls)}", method="tools/call", params=params)
        question = next(events)
        assert question["method"] == "elicitation/create"
        assert upstream.calls == []
        assert client.send(id=question["id"], result=answer) == (202, None)
        assert next(events)["id"] == f"c-{len(calls)}"
        assert upstream.calls == calls


def test_an_ask_of_the_new_era_travels_in_results(client: HttpClient, upstream: ScriptedHttpServer) -> None:
    """The repeated call reaches the server without our state, and the answer counts once."""
    client.send(id=1, method="tools/list", params={"_meta": MODERN})
    result = client.call("frobnicate", _meta=MODERN)[1]["result"]
    answer = {"inputResponses": {QUESTION_KEY: YES}, "requestState": result["requestState"]}

    assert upstream.calls == []
    assert client.call("frobnicate", _meta=MODERN, **answer)[1]["result"]["content"][0]["text"] == "ran"
    assert upstream.bodies[-1]["params"].keys() == {"name", "arguments", "_meta"}
    assert client.call("frobnicate", _meta=MODERN, **answer)[1]["result"]["isError"] is True


def test_a_client_that_may_be_a_program_is_not_asked(tmp_path: Path, upstream: ScriptedHttpServer) -> None:
    """Without the operator's word an ask is a refusal in both eras, for calls and for what the server wants."""
    client = listen(tmp_path, upstream, has_person=False)
    client.connect({"elicitation": {}, "sampling": {}})

    for meta in ({}, {"_meta": MODERN}):
        result = client.call("frobnicate", **meta)[1]["result"]
        assert result["isError"] is True
        assert "No person can be asked through this client" in result["content"][0]["text"]
    events = client.events(id=9, method="tools/call", params={"name": "get_sample", "arguments": {}})
    assert next(events)["id"] == 9
    assert "error" in upstream.answers["s-1"]
    assert upstream.calls == ["get_sample"]


def test_sampling_over_events_is_asked_about(client: HttpClient, upstream: ScriptedHttpServer, tmp_path: Path) -> None:
    """A yes shows the server's request to the client, in the same stream."""
    client.connect({"elicitation": {}, "sampling": {}})
    events = client.events(id=9, method="tools/call", params={"name": "get_sample", "arguments": {}})
    question = next(events)

    client.send(id=question["id"], result=YES)
    assert next(events)["method"] == "sampling/createMessage"
    client.send(id="s-1", result={"role": "assistant"})
    assert next(events)["id"] == 9
    assert upstream.answers["s-1"]["result"] == {"role": "assistant"}
    store = close_after_test(open_store(tmp_path / "data"))
    entries = [entry for name in store.list_sessions() for entry in store.read_entries(name)]
    assert "mcp__notes__sampling" in [e.body["tool"] for e in entries if e.kind is EntryKind.TOOL_CALL]


def test_sampling_that_nobody_can_allow_is_refused_to_the_server(
    client: HttpClient, upstream: ScriptedHttpServer
) -> None:
    """The server gets an error in a request of its own, and goes on."""
    client.connect({"sampling": {}})
    events = client.events(id=9, method="tools/call", params={"name": "get_sample", "arguments": {}})

    assert next(events)["id"] == 9
    assert "error" in upstream.answers["s-1"]


def test_the_stream_without_a_request_is_relayed(client: HttpClient) -> None:
    """With the ids by which a client resumes it."""
    client.connect({})
    response = client.open(b"", {"Last-Event-ID": "6"}, method="GET")

    [event] = read_events(response)
    assert (json.loads(event.data)["method"], event.event_id) == ("notifications/message", "7")
    assert client.open(b"", method="DELETE").status == 200


def test_a_session_of_the_old_era_keeps_its_header(client: HttpClient, upstream: ScriptedHttpServer) -> None:
    """The server's session id reaches the client, and comes back; what identifies a browser does not go on."""
    client.connect({})
    client.call("get_note", {"Authorization": "Bearer x", "Cookie": "a=b"})

    headers = upstream.headers[-1]
    assert (headers["mcp-session-id"], headers["authorization"]) == (SESSION, "Bearer x")
    assert "cookie" not in headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Encoding": "gzip"}, 411),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "https://pages.example"}, 200),
        ({}, 200),
    ],
)
def test_only_pages_of_this_machine_and_named_ones_may_call(
    client: HttpClient, upstream: ScriptedHttpServer, headers: dict[str, str], status: int
) -> None:
    """A page of another site, and a name that was bent to this machine, get nothing through."""
    client.connect({})

    assert client.call("get_note", headers)[0] == status
    assert upstream.calls == (["get_note"] if status == 200 else [])


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        (None, True),
        ("http://127.0.0.1:5173", True),
        ("http://LOCALHOST", True),
        ("http://[::1]:80", True),
        ("", False),
        ("null", False),
        ("localhost", False),
        ("http://localhost.evil.example", False),
        ("http://127.0.0.1@evil.example", False),
        ("http://evil.example#@localhost", False),
        ("http://evil.example/localhost", False),
        ("http://[::1", False),
        ("http://127.0.0.1.", False),
        ("https://pages.example.evil", False),
    ],
)
def test_an_origin_counts_as_a_whole(origin: str | None, is_allowed: bool) -> None:
    """Neither a part of a name nor what a lenient parser makes of it."""
    assert is_allowed_origin(origin, ("https://pages.example",)) is is_allowed


@pytest.mark.parametrize(
    ("host", "own_name", "is_own"),
    [
        ("127.0.0.1:8765", "127.0.0.1", True),
        ("192.168.1.5:8765", "127.0.0.1", False),
        ("192.168.1.5:8765", "0.0.0.0", True),
        ("[fe80::1]:8765", "::", True),
        (socket.gethostname(), "0.0.0.0", True),
        ("evil.example:8765", "0.0.0.0", False),
        ("192.168.1.5.evil.example", "0.0.0.0", False),
        ("", "0.0.0.0", False),
        (None, "", False),
    ],
)
def test_a_name_that_was_bent_to_this_machine_is_not_its_own(host: str | None, own_name: str, is_own: bool) -> None:
    """A relay that listens everywhere is called by any address, and by no name of another."""
    assert is_own_host(host, own_name) is is_own


@pytest.mark.parametrize(
    ("headers", "agrees"),
    [
        ({"Mcp-Method": "tools/call", "Mcp-Name": "get_note"}, True),
        ({"Mcp-Method": "tools/list"}, False),
        ({"Mcp-Name": "delete_note"}, False),
        ({"Mcp-Name": "=?base64?Z2V0X25vdGU=?="}, True),
        ({"Mcp-Name": "=?base64?Z2V0X25vdGV=?="}, False),
        ({"Mcp-Name": "=?base64?%?="}, False),
        ({"MCP-Protocol-Version": "2025-06-18"}, False),
        ({"MCP-Protocol-Version": "2026-07-28"}, True),
        ({"Mcp-Param-Note": "1"}, True),
        ({"Mcp-Param-Note": "2"}, False),
        ({"Mcp-Param-Other": "1"}, False),
        ({"Mcp-Param-Folder": "home"}, True),
        ({"Mcp-Param-Folder": "other"}, False),
        ({"Mcp-Param-Author": "null"}, False),
    ],
)
def test_headers_must_agree_with_the_body(
    client: HttpClient, upstream: ScriptedHttpServer, headers: dict[str, str], agrees: bool
) -> None:
    """A server that goes by its headers would run another call than the one that was decided on."""
    client.send(id=1, method="tools/list", params={"_meta": MODERN})
    arguments = {"id": "1", "author": None, "place": {"folder": "home"}}
    status, answer = client.call("get_note", headers, _meta=MODERN, arguments=arguments)

    assert status == (200 if agrees else 400)
    assert agrees or answer["error"]["code"] == -32020
    assert upstream.calls == (["get_note"] if agrees else [])


@pytest.mark.parametrize(("task", "status"), [("t1", 200), ("t2", 400)])
def test_the_header_that_names_a_task_must_agree_too(client: HttpClient, task: str, status: int) -> None:
    """A gateway may look up the task by it."""
    params = {"taskId": "t1", "_meta": MODERN}

    assert client.send({"Mcp-Name": task}, id=1, method="tasks/get", params=params)[0] == status


@pytest.mark.parametrize("charset", ["utf-7", "utf-16le", "iso-8859-1"])
def test_a_body_in_another_encoding_is_refused(client: HttpClient, upstream: ScriptedHttpServer, charset: str) -> None:
    """A server that decodes by the header would run another call than the one that was decided on."""
    status, _ = client.call("get_note", {"Content-Type": f"application/json; charset={charset}"}, _meta=MODERN)

    assert (status, upstream.calls) == (415, [])


def test_the_server_is_told_the_encoding_of_the_relay(client: HttpClient, upstream: ScriptedHttpServer) -> None:
    """Whatever else the client's header says stays behind."""
    client.send(id=1, method="tools/list", params={"_meta": MODERN})
    client.call("get_note", {"Content-Type": "Application/JSON ;x=y; charset=UTF-8"}, _meta=MODERN)

    assert upstream.headers[-1]["content-type"] == "application/json"


@pytest.mark.parametrize(
    "body", [b"[]", b"not json", b'{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}', b"\xff", b""]
)
def test_a_body_that_is_no_message_is_answered_with_an_error(client: HttpClient, body: bytes) -> None:
    """Status 400, and an error of JSON-RPC."""
    response = client.open(body)

    assert response.status == 400
    assert "error" in json.loads(response.read())


def test_a_body_beyond_the_limit_is_not_read(client: HttpClient) -> None:
    """Its length alone refuses it."""
    assert client.open(b"x", {"Content-Length": str(1 << 40)}).status == 413


def test_an_error_of_the_server_without_an_id_is_the_answer_to_its_request(client: HttpClient) -> None:
    """Servers that refuse before they decode answer so."""
    client.connect({})
    status, answer = client.call("get_refused")

    assert status == 400
    assert (answer["id"], answer["error"]["message"]) == (1, "no")


def test_a_server_that_is_gone_is_an_error(client: HttpClient, upstream: ScriptedHttpServer) -> None:
    """The client is told, and the relay goes on."""
    client.connect({})
    upstream.close()

    assert client.call("get_note")[0] == 502


def test_a_client_that_leaves_ends_its_request_at_the_server(client: HttpClient, upstream: ScriptedHttpServer) -> None:
    """In the new era that is how a request is cancelled."""
    client.connect({})
    body = {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "get_wait", "arguments": {}}}
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
    connection.request("POST", "/mcp", body=json.dumps(body), headers={**JSON_TYPES, **client.session})
    response = connection.getresponse()
    response.close()
    connection.close()

    assert upstream.was_cut.wait(10)


@pytest.mark.parametrize("text", ["8765", "localhost", "localhost:x", "localhost:99999"])
def test_an_address_that_cannot_be_listened_on_is_refused(text: str) -> None:
    """Host and port are both needed."""
    with pytest.raises(McpError, match="HOST:PORT"):
        parse_listen_address(text)


def test_the_address_of_a_server_must_be_one(tmp_path: Path) -> None:
    """A word is none."""
    bench = RelayBench(tmp_path)

    with pytest.raises(McpError, match="address of a server"):
        HttpRelay("nowhere", lambda: bench.relay, bench.pins)


def test_another_client_cannot_answer_a_question(client: HttpClient, upstream: ScriptedHttpServer) -> None:
    """Of two clients at one relay each answers its own questions, and both may use the same ids."""
    client.connect({"elicitation": {"form": {}}})
    other = HttpClient(client.port)
    events = client.events(id=7, method="tools/call", params={"name": "frobnicate", "arguments": {}})
    question = next(events)
    for session in ({}, {"Mcp-Session-Id": "of-another"}):
        other.send(session, id=question["id"], result=YES)
    assert other.send(
        {"Mcp-Session-Id": "of-another"}, id=7, method="tools/call", params={"name": "get_note", "arguments": {}}
    )[1]["result"]["content"] == [{"type": "text", "text": "ran"}]
    assert upstream.calls == ["get_note"]

    client.send(id=question["id"], result={"action": "decline"})
    assert "said no" in next(events)["result"]["content"][0]["text"]
    assert upstream.calls == ["get_note"]
