"""The client's side of an HTTP exchange: the stream of events to it, and the watch on whether it is still there."""

from __future__ import annotations

import queue
import select
import socket
import threading
from collections.abc import Iterable
from http import HTTPStatus
from io import BufferedIOBase
from typing import TYPE_CHECKING, Protocol

from verdikt.mcp.event_stream import KEEP_ALIVE, format_event
from verdikt.mcp.server_address import EVENTS_TYPE

if TYPE_CHECKING:
    from verdikt.mcp.message import Message
    from verdikt.mcp.reaction import Reaction
    from verdikt.mcp.server_address import ServerConnection


class ResponseWriter(Protocol):
    """The part of a request handler that writes the response."""

    wfile: BufferedIOBase

    def send_head(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Send status and headers."""


class ClientStream:
    """One response to a client, as JSON or as a stream of events; several threads may write to it."""

    def __init__(self, handler: ResponseWriter) -> None:
        self._handler = handler
        self._lock = threading.Lock()
        self.has_begun = False
        self.reactions: queue.Queue[Reaction] = queue.Queue()
        self.is_waiting = False
        """Whether the thread that answers the request waits in `reactions` for a person's answer."""

    def begin(self, headers: Iterable[tuple[str, str]] = ()) -> None:
        """Send the head of a stream of events, once."""
        with self._lock:
            if not self.has_begun:
                self.has_begun = True
                self._handler.send_head(
                    HTTPStatus.OK, [("Content-Type", EVENTS_TYPE), ("Cache-Control", "no-cache"), *headers]
                )

    def send(self, message: Message | None, *, event_id: str = "", retry: str = "") -> None:
        """Send one event."""
        self.begin()
        self._write(format_event(message, event_id=event_id, retry=retry))

    def keep_alive(self) -> None:
        """Send a comment, which also shows whether the client is still there."""
        self._write(KEEP_ALIVE)

    def _write(self, data: bytes) -> None:
        with self._lock:
            self._handler.wfile.write(data)
            self._handler.wfile.flush()


class ClientWatch:
    """Closes the connection to the server when the client goes away: in the new era that cancels a request."""

    def __init__(self, client: socket.socket, upstream: ServerConnection) -> None:
        self._client, self._upstream = client, upstream
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *exception: object) -> None:
        self._has_ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._has_ended.wait(0.1):
            try:
                readable, _, _ = select.select([self._client], [], [], 0)
                if readable and self._client.recv(1, socket.MSG_PEEK) == b"":
                    break
            except (OSError, ValueError):
                break
        if not self._has_ended.is_set():
            self._upstream.break_off()
