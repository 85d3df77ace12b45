"""The HTTP transport: a listener on this machine in front of a server's address, for both eras."""

from __future__ import annotations

import http.client
import queue
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import dumps
from typing import Any
from urllib.parse import urlsplit

from verdikt.errors import McpError
from verdikt.mcp.client_stream import ClientStream, ClientWatch
from verdikt.mcp.event_stream import read_events
from verdikt.mcp.http_authorization import CHALLENGE_HEADER, LOGIN_STATUSES, METADATA_PATH
from verdikt.mcp.http_headers import (
    SESSION_HEADER,
    check_agreement,
    is_allowed_origin,
    is_own_host,
    select_request_headers,
    select_response_headers,
)
from verdikt.mcp.http_relay import HttpRelay
from verdikt.mcp.message import (
    INTERNAL_ERROR,
    MAX_MESSAGE_BYTES,
    Message,
    MessageError,
    MessageKind,
    build_error,
    decode_message,
    encode_message,
)
from verdikt.mcp.reaction import Reaction
from verdikt.mcp.relay import Relay
from verdikt.mcp.sealed_state import LIFETIME_SECONDS
from verdikt.mcp.server_address import EVENTS_TYPE, JSON_TYPE, ServerConnection, get_content_type

MAX_CONNECTIONS = 200
KEEP_ALIVE_SECONDS = 15.0
CLIENT_SECONDS = 60.0
"""How long a client may take to send its request."""


class RelayHandler(BaseHTTPRequestHandler):
    """One connection of a client. Each response ends it: a stream has no length, and errors leave nothing behind."""

    protocol_version = "HTTP/1.1"
    server_version = "verdikt"
    sys_version = ""
    server: RelayListener
    timeout = CLIENT_SECONDS

    def do_POST(self) -> None:
        """Relay one message."""
        body = self._read_body()
        if body is None or not self._is_allowed():
            return
        try:
            message = decode_message(body)
            check_agreement(self.headers.items(), message, self._relay.find_schema(message))
        except MessageError as error:
            self._send_json(HTTPStatus.BAD_REQUEST, build_error(error.id, error.code, str(error)))
            return
        session_id = self.headers.get(SESSION_HEADER)
        relay = self._relay.find_relay(session_id, message)
        reaction = relay.receive_from_client(message)
        if message.kind is MessageKind.REQUEST:
            self._answer_request(relay, message, reaction)
        elif reaction.ask_id:
            self._settle_question(relay, reaction)
            self._send_empty(HTTPStatus.ACCEPTED)
        else:
            self._forward_one_way(reaction)

    def do_GET(self) -> None:
        """Relay the stream on which a server of the old era sends what belongs to no request."""
        session_id = self.headers.get(SESSION_HEADER)
        if not self._is_allowed():
            return
        if urlsplit(self.path).path.startswith(METADATA_PATH):
            self._send_metadata()
            return
        if session_id is None:
            self._send_empty(HTTPStatus.METHOD_NOT_ALLOWED)
            return
        relay, connection = self._relay.find_relay(session_id, None), self._relay.address.connect()
        try:
            response = connection.send("GET", select_request_headers(self.headers.items()), None)
            self._relay_response(relay, response, connection, None)
        except (OSError, http.client.HTTPException, McpError):
            self._fail_upstream(None)
        finally:
            connection.close()

    def do_DELETE(self) -> None:
        """Relay the end of a session."""
        if not self._is_allowed():
            return
        connection = self._relay.address.connect()
        try:
            headers = select_request_headers(self.headers.items())
            response = connection.send("DELETE", headers, None)
            self._relay.remove_session(self.headers.get(SESSION_HEADER, ""))
            self._send_empty(response.status)
        except (OSError, http.client.HTTPException):
            self._fail_upstream(None)
        finally:
            connection.close()

    # Requests.

    def _answer_request(self, relay: Relay, message: Message, reaction: Reaction) -> None:
        """Answer a request: by the relay itself, after a question to the person, or by the server."""
        stream = ClientStream(self)
        if reaction.ask_id:
            answer_reaction = self._ask_on_stream(stream, reaction)
            if answer_reaction is None:
                relay.abandon_question(reaction.ask_id)
                return
            reaction = answer_reaction
        if reaction.to_server:
            self._forward_request(relay, message, reaction, stream)
        elif reaction.to_client and stream.has_begun:
            stream.send(reaction.to_client[0])
        elif reaction.to_client:
            self._send_json(HTTPStatus.OK, reaction.to_client[0])

    def _ask_on_stream(self, stream: ClientStream, reaction: Reaction) -> Reaction | None:
        """Send the question on the response's stream, and wait for the reaction to its answer."""
        stream.is_waiting = True
        self._relay.hold_question(reaction.ask_id, stream)
        try:
            stream.send(reaction.to_client[0])
            for _ in range(int(LIFETIME_SECONDS / KEEP_ALIVE_SECONDS)):
                with suppress(queue.Empty):
                    return stream.reactions.get(timeout=KEEP_ALIVE_SECONDS)
                stream.keep_alive()
        except OSError:
            pass  # the client is gone, and with it the question
        finally:
            stream.is_waiting = False
            self._relay.release_question(reaction.ask_id)
        return None

    def _settle_question(self, relay: Relay, reaction: Reaction) -> None:
        """Do what follows from an answer, on the stream on which the question was asked."""
        stream = self._relay.release_question(reaction.ask_id)
        if stream is None:
            return
        if stream.is_waiting:
            stream.reactions.put(reaction)
            return
        for message in reaction.to_client:
            stream.send(message)
        for message in reaction.to_server:
            self._post_separately(message)
        _run_deferred(relay, reaction)

    def _forward_request(self, relay: Relay, original: Message, reaction: Reaction, stream: ClientStream) -> None:
        connection = self._relay.address.connect()
        try:
            with ClientWatch(self.connection, connection):
                headers = select_request_headers(self.headers.items())
                response = connection.send("POST", headers, encode_message(reaction.to_server[0]))
                # Before the client sees a header or the id of an event; a server may never send the result itself.
                _run_deferred(relay, reaction)
                if original.method == "initialize" and (session_id := response.headers.get(SESSION_HEADER)):
                    self._relay.add_session(session_id, relay)
                self._relay_response(relay, response, connection, original, stream)
        except (OSError, http.client.HTTPException, McpError, MessageError):
            relay.abandon_request(original)
            self._fail_upstream(original, stream)
        finally:
            connection.close()

    def _forward_one_way(self, reaction: Reaction) -> None:
        """Forward a notification or a response, to which a server only says that it has it."""
        status = HTTPStatus.ACCEPTED
        for message in reaction.to_server:
            status = HTTPStatus(self._post_separately(message))
        self._send_empty(status)

    def _post_separately(self, message: Message) -> int:
        """Send a message to the server in a request of its own; return the status."""
        connection = self._relay.address.connect()
        try:
            headers = select_request_headers(self.headers.items())
            response = connection.send("POST", headers, encode_message(message))
            response.read(MAX_MESSAGE_BYTES)
            status = response.status
        except (OSError, http.client.HTTPException):
            status = HTTPStatus.BAD_GATEWAY
        finally:
            connection.close()
        return status

    # Responses of the server.

    def _relay_response(
        self,
        relay: Relay,
        response: http.client.HTTPResponse,
        connection: ServerConnection,
        original: Message | None,
        stream: ClientStream | None = None,
    ) -> None:
        kind = get_content_type(response)
        passed_headers = [
            (name, self._rename_challenge(value) if name.lower() == CHALLENGE_HEADER else value)
            for name, value in select_response_headers(response.headers.items())
        ]
        if kind == EVENTS_TYPE and response.status == HTTPStatus.OK:
            stream = stream or ClientStream(self)
            stream.begin(passed_headers)
            self._relay_events(relay, response, stream)
            return
        body = response.read(MAX_MESSAGE_BYTES + 1)
        if kind != JSON_TYPE or not body or response.status in LOGIN_STATUSES:
            # No message, so nothing to decide about; what it says is not for a client to interpret.
            relay.abandon_request(original)
            self._send_empty(response.status, passed_headers, stream, original)
            return
        reaction = relay.receive_from_server(_restore_id(decode_message(body), original))
        message = reaction.to_client[0] if reaction.to_client else None
        if stream is not None and stream.has_begun:
            stream.send(message)
        elif message is not None:
            self._send_json(response.status, message, passed_headers)
        else:
            self._send_empty(HTTPStatus.BAD_GATEWAY)
        _run_deferred(relay, reaction)

    def _rename_challenge(self, challenge: str) -> str:
        return self._relay.authorization.rename_challenge(challenge, f"{self._own_origin}{METADATA_PATH}{self.path}")

    def _send_metadata(self) -> None:
        """Answer a client that wants to know where to log in."""
        own_path = urlsplit(self.path).path.removeprefix(METADATA_PATH)
        metadata = self._relay.authorization.fetch_metadata(f"{self._own_origin}{own_path}")
        if metadata is None:
            self._send_empty(HTTPStatus.NOT_FOUND)
            return
        self._send_body(HTTPStatus.OK, dumps(metadata).encode())

    @property
    def _own_origin(self) -> str:
        # The name by which the client reached us, which `_is_allowed` has checked: it compares the metadata with it.
        return f"http://{self.headers.get('host')}"

    def _relay_events(self, relay: Relay, response: Any, stream: ClientStream) -> None:
        """Relay a stream event by event, as each arrives."""
        for event in read_events(response):
            if event.is_comment:
                stream.keep_alive()
                continue
            if not event.data:
                stream.send(None, event_id=event.event_id, retry=event.retry)
                continue
            try:
                message = decode_message(event.data)
            except MessageError as error:
                for outgoing in relay.reject_broken(event.data, str(error)).to_client:
                    stream.send(outgoing)
                continue
            reaction = relay.receive_from_server(message)
            if reaction.ask_id and message.kind is MessageKind.REQUEST:
                self._relay.hold_question(reaction.ask_id, stream)
            elif reaction.ask_id:
                self._relay.release_question(reaction.ask_id)  # the server has taken its wish back
            for outgoing in reaction.to_client:
                stream.send(outgoing, event_id=event.event_id, retry=event.retry)
            for outgoing in reaction.to_server:
                self._post_separately(outgoing)
            _run_deferred(relay, reaction)

    # The connection of the client.

    @property
    def _relay(self) -> HttpRelay:
        return self.server.relay

    def _is_allowed(self) -> bool:
        host, origin = self.headers.get("host"), self.headers.get("origin")
        if is_own_host(host, self.server.host_name) and is_allowed_origin(origin, self._relay.origins):
            return True
        self._send_empty(HTTPStatus.FORBIDDEN)
        return False

    def _read_body(self) -> bytes | None:
        """Return the body of a request; None after an answer that says what is wrong with it."""
        length = self.headers.get("content-length", "")
        status = None
        if self.headers.get("transfer-encoding") or self.headers.get("content-encoding") or not length.isdigit():
            status = HTTPStatus.LENGTH_REQUIRED
        elif int(length) > MAX_MESSAGE_BYTES:
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        elif self.headers.get_content_type() != JSON_TYPE or self.headers.get_content_charset("utf-8") != "utf-8":
            # A page of another site can send other types without asking first. What is decided on is read as UTF-8.
            status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        if status is not None:
            self._send_empty(status)
            return None
        return self.rfile.read(int(length))

    def send_head(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Send status and headers; the connection ends after the response."""
        self.close_connection = True
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()

    def _send_json(self, status: int, message: Message, headers: Iterable[tuple[str, str]] = ()) -> None:
        self._send_body(status, encode_message(message), headers)

    def _send_body(self, status: int, data: bytes, headers: Iterable[tuple[str, str]] = ()) -> None:
        self.send_head(status, [("Content-Type", JSON_TYPE), ("Content-Length", str(len(data))), *headers])
        self.wfile.write(data)

    def _send_empty(
        self,
        status: int,
        headers: Iterable[tuple[str, str]] = (),
        stream: ClientStream | None = None,
        original: Message | None = None,
    ) -> None:
        if stream is not None and stream.has_begun and original is not None:
            stream.send(build_error(original.id, INTERNAL_ERROR, "the server did not answer"))
            return
        self.send_head(status, [("Content-Length", "0"), *headers])

    def _fail_upstream(self, original: Message | None, stream: ClientStream | None = None) -> None:
        """Answer where the server cannot be reached, or breaks off."""
        request_id = original.id if original is not None else None
        error = build_error(request_id, INTERNAL_ERROR, "the server cannot be reached, or broke off")
        with suppress(OSError):
            if stream is not None and stream.has_begun:
                stream.send(error)
            elif original is not None:
                self._send_json(HTTPStatus.BAD_GATEWAY, error)
            else:
                self._send_empty(HTTPStatus.BAD_GATEWAY)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: what matters is in the log."""


class RelayListener(ThreadingHTTPServer):
    """Listens for clients, a thread for each connection, and no more than `MAX_CONNECTIONS` of them."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, relay: HttpRelay) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.relay = relay
        self.host_name = host.lower()
        self.slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__((host, port), RelayHandler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread; too many of them wait here."""
        self.slots.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection, and make room for the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Drop the connection of a request that failed: no answer means that nothing was allowed."""


def _restore_id(message: Message, original: Message | None) -> Message:
    """Return a response without an id as one to the request: servers answer so when they refuse before they decode."""
    if original is None or message.kind is not MessageKind.RESPONSE or message.id is not None:
        return message
    return Message(message.kind, {**message.body, "id": original.id})


def _run_deferred(relay: Relay, reaction: Reaction) -> None:
    if reaction.deferred is not None:
        reaction.deferred()
        relay.sync_log()


def parse_listen_address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`; raise `McpError` for anything else."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise McpError(f"expected HOST:PORT, such as 127.0.0.1:8765, found `{text}`")
    return host.strip("[]"), int(port)
