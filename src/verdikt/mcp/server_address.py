"""The address of a server over HTTP, and connections to it."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urljoin, urlsplit

from verdikt.errors import McpError

CONNECT_SECONDS = 20.0

JSON_TYPE = "application/json"
EVENTS_TYPE = "text/event-stream"


class ServerAddress:
    """Where a server listens. Each request has a connection of its own, and redirections are not followed."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise McpError(f"expected the address of a server, such as http://127.0.0.1:8000/mcp, found `{url}`")
        self.url = url
        self._is_secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def resolve(self, reference: str) -> ServerAddress:
        """Return another address of the same server; raise `McpError` for one of another server."""
        address = ServerAddress(urljoin(self.url, reference))
        if urlsplit(address.url)[:2] != urlsplit(self.url)[:2]:
            raise McpError(f"expected an address of the same server, found `{address.url}`")
        return address

    def connect(self) -> ServerConnection:
        """Return a connection to the server, which is opened by its request."""
        if self._is_secure:
            context = ssl.create_default_context()
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=CONNECT_SECONDS, context=context
            )
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=CONNECT_SECONDS)
        return ServerConnection(connection, self._path)


class ServerConnection:
    """A connection for one request, which another thread may break off at any time."""

    def __init__(self, connection: http.client.HTTPConnection, path: str) -> None:
        self._connection, self._path = connection, path
        self._socket: socket.socket | None = None

    def send(
        self, method: str, headers: Mapping[str, str], body: bytes | None, *, wait_seconds: float | None = None
    ) -> http.client.HTTPResponse:
        """Send a request and return its response, whose body is still to come.

        Without `wait_seconds` the server may take as long as it likes, because a tool may.
        """
        self._connection.connect()
        # Kept here: the connection forgets it once it has handed it to a response without a length.
        self._socket = self._connection.sock
        self._socket.settimeout(wait_seconds)
        self._connection.request(method, self._path, body=body, headers=dict(headers))
        return self._connection.getresponse()

    def break_off(self) -> None:
        """End the request: a thread that waits for the response gets an error."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def get_content_type(response: http.client.HTTPResponse) -> str:
    """Return the type of a response's body, without its parameters."""
    return response.headers.get("content-type", "").split(";")[0].strip().lower()
