"""Server-sent events: read from a server one by one, and written for a client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from verdikt.errors import McpError
from verdikt.mcp.message import MAX_MESSAGE_BYTES, Message, encode_message


class LineStream(Protocol):
    """What events are read from."""

    def readline(self, limit: int = -1, /) -> bytes:
        """Return the next line; empty at the end."""


class ServerEvent(NamedTuple):
    """One event. A comment is an event without data, which keeps a connection alive."""

    data: bytes = b""
    event_id: str = ""
    retry: str = ""
    is_comment: bool = False
    name: str = ""


def _read_lines(stream: LineStream) -> Iterator[bytes]:
    """Yield each line without its end. A lone CR ends a line too: clients see one there, so we must."""
    while line := stream.readline(MAX_MESSAGE_BYTES + 2):
        if not line.endswith(b"\n") and len(line) > MAX_MESSAGE_BYTES:
            raise McpError(f"expected an event of at most {MAX_MESSAGE_BYTES} bytes, found more")
        yield from line.removesuffix(b"\n").removesuffix(b"\r").split(b"\r")


def read_events(stream: LineStream) -> Iterator[ServerEvent]:
    """Yield each event as soon as it is complete; raise `McpError` for one that is too long."""
    data: list[bytes] = []
    size, event_id, retry, event_name = 0, "", "", ""
    for line in _read_lines(stream):
        if not line:
            if data or event_id or retry:
                yield ServerEvent(b"\n".join(data), event_id, retry, name=event_name)
            data, size, event_id, retry, event_name = [], 0, "", "", ""
        elif line.startswith(b":"):
            yield ServerEvent(is_comment=True)
        else:
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            size += len(line) + 1  # an event of empty lines must not grow without end either
            if size > MAX_MESSAGE_BYTES:
                raise McpError(f"expected an event of at most {MAX_MESSAGE_BYTES} bytes, found more")
            if name == b"data":
                data.append(value)
            elif name == b"id":
                event_id = value.decode("ascii", "replace")[:500]
            elif name == b"event":
                event_name = value.decode("ascii", "replace")[:100]
            elif name == b"retry":
                retry = value.decode("ascii", "replace")[:20]


def format_event(message: Message | None, *, event_id: str = "", retry: str = "") -> bytes:
    """Return an event with a message, or an empty one that only carries an id."""
    lines = [b"event: message"]
    # Whatever a server puts there, it must not become a line of its own.
    if event_id.isprintable() and event_id:
        lines.append(f"id: {event_id}".encode("ascii", "replace"))
    if retry.isdigit():
        lines.append(f"retry: {retry}".encode())
    lines.append(b"data: " + (encode_message(message) if message is not None else b""))
    return b"\n".join(lines) + b"\n\n"


KEEP_ALIVE = b": keep-alive\n\n"
"""A comment, which clients ignore."""
