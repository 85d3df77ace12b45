"""What all HTTP requests to one relayed server share: its address, the sessions, and the questions that are open."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from verdikt.mcp.http_authorization import ServerAuthorization
from verdikt.mcp.protocol_era import is_modern
from verdikt.mcp.server_address import ServerAddress

if TYPE_CHECKING:
    from verdikt.mcp.client_stream import ClientStream
    from verdikt.mcp.message import Message
    from verdikt.mcp.pin_store import ServerPins
    from verdikt.mcp.relay import Relay

MAX_SESSIONS = 1000
"""MCP sessions whose capabilities are remembered; the client of an older one must begin again."""


class HttpRelay:
    """The relays of one server by MCP session (the `Mcp-Session-Id` header), and the open questions by id."""

    def __init__(
        self, target: str, create_relay: Callable[[], Relay], pins: ServerPins, *, origins: Iterable[str] = ()
    ) -> None:
        self.address = ServerAddress(target)
        self.authorization = ServerAuthorization(self.address)
        self._create_relay = create_relay
        self._pins = pins
        self.origins = tuple(origins)
        self._sessions: OrderedDict[str, Relay] = OrderedDict()
        self._open_questions: dict[str, ClientStream] = {}
        self._lock = threading.Lock()

    def find_relay(self, session_id: str | None, message: Message | None) -> Relay:
        """Return the relay of a session; a new one for a request that belongs to none."""
        # A request of the new era is complete in itself; with a relay of its own, ids of clients cannot collide.
        if session_id is None or (message is not None and is_modern(message)):
            return self._create_relay()
        with self._lock:
            relay = self._sessions.get(session_id)
        return relay or self.add_session(session_id, self._create_relay())

    def add_session(self, session_id: str, relay: Relay) -> Relay:
        """Add the relay of a session; return the one that another thread added first, if there is one."""
        with self._lock:
            session_relay = self._sessions.setdefault(session_id, relay)
            self._sessions.move_to_end(session_id)
            if len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return session_relay

    def remove_session(self, session_id: str) -> None:
        """Drop a session that has ended."""
        with self._lock:
            self._sessions.pop(session_id, None)

    def hold_question(self, ask_id: str, stream: ClientStream) -> None:
        """Note on which stream a question was asked."""
        with self._lock:
            self._open_questions[ask_id] = stream

    def release_question(self, ask_id: str) -> ClientStream | None:
        """Return the stream on which a question was asked, and forget the question."""
        with self._lock:
            return self._open_questions.pop(ask_id, None)

    def find_schema(self, message: Message) -> object:
        """Return the schema of the tool that a message calls."""
        pin = self._pins.book.find(str(message.params.get("name", ""))) if message.method == "tools/call" else None
        return pin.seen.get("inputSchema") if pin is not None else None
