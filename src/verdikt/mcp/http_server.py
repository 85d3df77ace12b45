"""A server at an address, in front of which the stdio transport stands as in front of a child process.

The relay writes one message per line to `stdin` and reads one per line from `stdout`; here each becomes a request over
HTTP, and each message of a response a line. Nothing is decided here: what arrives has been decided, and what the server
sends is decoded again by the relay.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, Any

from verdikt.errors import McpError
from verdikt.mcp.event_stream import read_events
from verdikt.mcp.http_authorization import LOGIN_STATUSES
from verdikt.mcp.http_headers import SESSION_HEADER, VERSION_HEADER, build_agreeing_headers
from verdikt.mcp.message import (
    INTERNAL_ERROR,
    MAX_MESSAGE_BYTES,
    Message,
    MessageError,
    MessageKind,
    RequestId,
    build_error,
    decode_message,
    encode_message,
    is_request_id,
)
from verdikt.mcp.protocol_era import PROTOCOL_VERSION_KEY, is_modern
from verdikt.mcp.server_address import (
    CONNECT_SECONDS,
    EVENTS_TYPE,
    JSON_TYPE,
    ServerAddress,
    ServerConnection,
    get_content_type,
)
from verdikt.mcp.tool_pin import MAX_TOOLS

MAX_REQUESTS = 64
"""Requests that run at the same time; further ones are answered with an error."""

RECONNECT_SECONDS = 1.0
MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.1, 60.0
"""How soon and how late a stream is resumed, whatever the server says."""

ONE_WAY_SECONDS = 10.0
"""How long a server may take to say that it has a notification or a response; everything else waits meanwhile."""

_NETWORK_ERRORS = (OSError, http.client.HTTPException, McpError)
_LOGIN = (
    "the server wants a login, which needs a client over HTTP: put a token into the headers of its entry, run `verdikt "
    "mcp --listen 127.0.0.1:8765 --to URL` and give the client that address, or leave the server as it was (`verdikt "
    "uninstall`, then `verdikt init --mcp --mcp-except NAME`)"
)
# How a server answers that only speaks the transport of 2024, in which responses arrive on a stream of their own.
_LEGACY_STATUSES = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


@dataclass(slots=True)
class _StreamPlace:
    """Where a stream of events goes on, and when."""

    event_id: str = ""
    wait_seconds: float = RECONNECT_SECONDS


class HttpServer:
    """Sends messages to a server over HTTP. Has the names of a child process that the stdio transport uses."""

    def __init__(
        self, address: ServerAddress, headers: Mapping[str, str], *, one_way_seconds: float = ONE_WAY_SECONDS
    ) -> None:
        self._address, self._headers = address, dict(headers)
        self._one_way_seconds = one_way_seconds
        self._requests, self.stdin = _open_pipe()
        self.stdout, self._responses = _open_pipe()
        self.returncode = 0
        self._has_ended = threading.Event()
        self._write_lock = threading.Lock()
        self._connections: set[ServerConnection] = set()
        self._modern_requests: dict[RequestId, ServerConnection] = {}
        """Requests of the new era that run; breaking one off cancels it."""
        self._awaited_ids: set[RequestId] = set()
        """Requests whose answer the client waits for."""
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(MAX_REQUESTS)
        self._schemas: dict[str, Any] = {}
        self._session_id = self._version = ""
        self._reads_unasked = False
        """Whether a thread reads what the server sends without being asked."""
        self._post_address: ServerAddress | None = None
        """Where messages are posted in the transport of 2024; None while responses come with their requests."""
        threading.Thread(target=self._send_lines, name="mcp-http", daemon=True).start()

    # What a child process has.

    def wait(self, timeout: float | None = None) -> int:
        """Return 0 once everything is closed."""
        if not self._has_ended.wait(timeout):
            raise subprocess.TimeoutExpired(self._address.url, timeout or 0)
        return self.returncode

    def terminate(self) -> None:
        """Break off every request."""
        self.kill()

    def kill(self) -> None:
        """Break off every request."""
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            connection.break_off()
        self._end_responses()

    # From the relay.

    def _send_lines(self) -> None:
        with suppress(OSError, ValueError):
            for line in self._requests:
                self._send_line(line)
        if self._session_id:
            with suppress(*_NETWORK_ERRORS), self._open_request("DELETE", None, wait_seconds=self._one_way_seconds):
                pass
        self.kill()

    def _send_line(self, line: bytes) -> None:
        message = decode_message(line)
        if message.kind is not MessageKind.REQUEST:
            self._send_one_way(message)
            return
        assert message.id is not None
        # Taken here, because a flood of requests is read faster than their threads start.
        if not self._slots.acquire(blocking=False):
            self._write_error(message.id, f"expected at most {MAX_REQUESTS} requests at once, found more")
            return
        # In a thread of its own: a tool may wait for an answer that the reader of these lines has to send.
        threading.Thread(target=self._run_request, args=(message,), name="mcp-http-request", daemon=True).start()

    def _send_one_way(self, message: Message) -> None:
        """Send a notification or a response, here, so that what follows cannot overtake it."""
        if message.method == "notifications/cancelled" and self._cancel_request(message.params.get("requestId")):
            return
        try:
            with self._open_request("POST", message, wait_seconds=self._one_way_seconds) as response:
                response.read(MAX_MESSAGE_BYTES)
        except _NETWORK_ERRORS:
            return  # nothing waits for an answer to it
        has_begun = message.method == "notifications/initialized" and self._post_address is None
        if has_begun and not self._reads_unasked:
            self._reads_unasked = True
            threading.Thread(target=self._read_unasked, name="mcp-http-events", daemon=True).start()

    def _cancel_request(self, request_id: object) -> bool:
        """Break off a request of the new era, which cancels it; return whether there was one."""
        if not is_request_id(request_id):
            return False
        self._awaited_ids.discard(request_id)
        with self._lock:
            connection = self._modern_requests.get(request_id)
        if connection is None:
            return False
        connection.break_off()
        return True

    # From the server.

    def _run_request(self, message: Message) -> None:
        request_id = message.id
        assert request_id is not None
        self._awaited_ids.add(request_id)
        try:
            with self._open_request("POST", message) as response:
                is_answered = self._relay_response(message, response)
            if not is_answered and self._post_address is None:
                self._write_error(request_id, "the server broke off before it answered")
        except _NETWORK_ERRORS as error:
            self._write_error(request_id, f"the server cannot be reached, or broke off: {error}")
        finally:
            self._awaited_ids.discard(request_id)
            self._slots.release()

    def _relay_response(self, request: Message, response: http.client.HTTPResponse) -> bool:
        """Pass on what a response says; return whether the request has its answer."""
        assert request.id is not None
        kind, status = get_content_type(response), response.status
        if request.method == "initialize":
            self._session_id = response.headers.get(SESSION_HEADER, "")
        if kind == EVENTS_TYPE and status == HTTPStatus.OK:
            return self._relay_stream(request, response)
        body = response.read(MAX_MESSAGE_BYTES + 1)
        if kind == JSON_TYPE and body and status not in LOGIN_STATUSES:
            return self._relay_message(body, request)
        if request.method == "initialize" and status in _LEGACY_STATUSES and self._begin_legacy(request):
            return True
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            text = _LOGIN if status == HTTPStatus.UNAUTHORIZED else f"the server answered with the status {status}"
            self._write_error(request.id, text)
            return True
        return False

    def _relay_stream(self, request: Message, response: http.client.HTTPResponse) -> bool:
        """Pass on the events of a request; return whether one is its answer.

        A server of the old era may end the stream before and have it resumed, while a tool takes its time.
        """
        place = _StreamPlace()
        is_answered = self._relay_events(request, response, place)
        while not is_answered and place.event_id and not is_modern(request):
            if self._has_ended.wait(place.wait_seconds) or request.id not in self._awaited_ids:
                return False
            with self._open_request("GET", None, {"last-event-id": place.event_id}) as resumed:
                if resumed.status != HTTPStatus.OK or get_content_type(resumed) != EVENTS_TYPE:
                    return False
                is_answered = self._relay_events(request, resumed, place)
        return is_answered

    def _relay_events(self, request: Message, response: http.client.HTTPResponse, place: _StreamPlace) -> bool:
        is_answered = False
        # All events, not only those up to the answer: what the server sends after it is for the client too.
        for event in read_events(response):
            place.event_id = event.event_id or place.event_id
            if event.retry.isdecimal():
                place.wait_seconds = min(max(int(event.retry) / 1000, MIN_RETRY_SECONDS), MAX_RETRY_SECONDS)
            if event.data:
                is_answered = self._relay_message(event.data, request) or is_answered
        return is_answered

    def _relay_message(self, data: bytes, request: Message | None) -> bool:
        """Pass one message on; return whether it answers the request."""
        try:
            message = decode_message(data)
        except MessageError:
            # The relay refuses it in its turn, records that, and tells the client whose answer is lost.
            self._write_line(data.replace(b"\r", b" ").replace(b"\n", b" "))
            return False
        if request is not None and message.kind is MessageKind.RESPONSE and message.id is None:
            # Servers answer so when they refuse a request before they decode it.
            message = Message(message.kind, {**message.body, "id": request.id})
        is_answer = request is not None and message.kind is MessageKind.RESPONSE and message.id == request.id
        if is_answer and request is not None:
            self._note_result(request, message.result)
        self._write_line(encode_message(message))
        return is_answer

    def _note_result(self, request: Message, result: object) -> None:
        """Keep of a result what later requests repeat in their headers."""
        if not isinstance(result, Mapping):
            return
        if request.method == "initialize":
            self._version = str(result.get("protocolVersion", ""))
        elif request.method == "tools/list" and isinstance(result.get("tools"), list):
            for tool in result["tools"]:
                if isinstance(tool, Mapping) and len(self._schemas) < MAX_TOOLS:
                    self._schemas[str(tool.get("name"))] = tool.get("inputSchema")

    def _read_unasked(self) -> None:
        """Read what a server of the old era sends without being asked, until it or the client ends the session."""
        last_event_id = ""
        while not self._has_ended.is_set():
            headers = {"last-event-id": last_event_id} if last_event_id else {}
            try:
                with self._open_request("GET", None, headers) as response:
                    if response.status != HTTPStatus.OK or get_content_type(response) != EVENTS_TYPE:
                        self._reads_unasked = False  # the next session may have one
                        return  # many servers have no such stream
                    for event in read_events(response):
                        last_event_id = event.event_id or last_event_id
                        if event.data:
                            self._relay_message(event.data, None)
            except _NETWORK_ERRORS:
                pass  # it may be back soon
            self._has_ended.wait(RECONNECT_SECONDS)

    # The transport of 2024.

    def _begin_legacy(self, request: Message) -> bool:
        """Find out whether a server speaks the transport of 2024, and send the request again in that case."""
        has_endpoint = threading.Event()
        threading.Thread(target=self._read_legacy, args=(has_endpoint,), name="mcp-http-events", daemon=True).start()
        has_endpoint.wait(CONNECT_SECONDS)
        if self._post_address is None:
            return False
        with self._open_request("POST", request) as response:
            return response.status < HTTPStatus.MULTIPLE_CHOICES

    def _read_legacy(self, has_endpoint: threading.Event) -> None:
        """Read the stream of a server of 2024: first where to post, then every message."""
        try:
            with self._open_request("GET", None) as response:
                is_stream = response.status == HTTPStatus.OK and get_content_type(response) == EVENTS_TYPE
                for event in read_events(response) if is_stream else ():
                    if event.name == "endpoint" and self._post_address is None:
                        self._post_address = self._address.resolve(event.data.decode("ascii", "replace"))
                        has_endpoint.set()
                    elif event.data and self._post_address is not None:
                        self._relay_message(event.data, None)
        except _NETWORK_ERRORS:
            pass
        has_endpoint.set()
        if self._post_address is not None:
            self.kill()  # without its stream the server can answer nothing any more

    # Requests.

    def _build_headers(self, message: Message | None) -> dict[str, str]:
        headers = {"accept": f"{JSON_TYPE}, {EVENTS_TYPE}", "accept-encoding": "identity", **self._headers}
        if message is not None:
            headers["content-type"] = JSON_TYPE
        if message is not None and is_modern(message):
            schema = self._schemas.get(str(message.params.get("name"))) if message.method == "tools/call" else None
            return {
                **headers,
                **build_agreeing_headers(message, schema),
                VERSION_HEADER: str(message.params["_meta"][PROTOCOL_VERSION_KEY]),
            }
        headers |= {SESSION_HEADER: self._session_id} if self._session_id else {}
        return headers | ({VERSION_HEADER: self._version} if self._version else {})

    @contextmanager
    def _open_request(
        self,
        method: str,
        message: Message | None,
        headers: Mapping[str, str] = {},
        wait_seconds: float | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request, yield its response, and close the connection, which `kill` may break off meanwhile."""
        address = self._post_address if message is not None and self._post_address is not None else self._address
        connection = address.connect()
        modern_id = message.id if message is not None and is_modern(message) else None
        with self._lock:
            self._connections.add(connection)
            if modern_id is not None:
                self._modern_requests[modern_id] = connection
        try:
            body = encode_message(message) if message is not None else None
            all_headers = self._build_headers(message) | dict(headers)
            yield connection.send(method, all_headers, body, wait_seconds=wait_seconds)
        finally:
            with self._lock:
                self._connections.discard(connection)
                if modern_id is not None:
                    self._modern_requests.pop(modern_id, None)
            connection.close()

    def _write_error(self, request_id: RequestId, text: str) -> None:
        self._write_line(encode_message(build_error(request_id, INTERNAL_ERROR, text)))

    def _write_line(self, line: bytes) -> None:
        with self._write_lock, suppress(OSError, ValueError):
            self._responses.write(line + b"\n")
            self._responses.flush()

    def _end_responses(self) -> None:
        self._has_ended.set()
        with self._write_lock, suppress(OSError, ValueError):
            self._responses.close()


def _open_pipe() -> tuple[IO[bytes], IO[bytes]]:
    read_end, write_end = os.pipe()
    return os.fdopen(read_end, "rb"), os.fdopen(write_end, "wb")
