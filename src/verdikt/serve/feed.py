"""The live feed: server-sent events, each a list of what arrived, at most two a second for each viewer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync

from verdikt.errors import ServiceError
from verdikt.serve.entry_search import parse_cursor
from verdikt.serve.json_response import encode_json

if TYPE_CHECKING:
    from verdikt.serve.store_reader import StoreReader

POLL_SECONDS = 0.6
KEEP_ALIVE_SECONDS = 15
MAX_MESSAGE_ENTRIES = 200
MAX_STREAM_SECONDS = 3600
"""After this time the browser connects again."""
CHECK_SECONDS = 6
"""How often the login is looked at: a stolen cookie shows nothing for longer than this after it was ended."""


async def stream_feed(open_reader: Callable[[], StoreReader | None], position: str) -> AsyncIterator[bytes]:
    """Yield events from a position on, or from now when it is empty. Each event's id is the position after it.

    `open_reader` gives what the person sees, None when their login has ended; it is asked again every few seconds.
    """
    reader = await run_sync(open_reader)
    if reader is None:
        return
    if not position or not _is_position(position):
        position = await run_sync(reader.read_feed_position)
    yield _format_event(position, [])
    silent, total, checked_at = 0.0, 0.0, 0.0
    while total < MAX_STREAM_SECONDS:
        try:
            if total - checked_at >= CHECK_SECONDS:
                reader, checked_at = await run_sync(open_reader), total
            if reader is None:
                return
            following, entries = await run_sync(reader.read_feed, position, MAX_MESSAGE_ENTRIES)
        except ServiceError:
            # The database may be restarting: the browser connects again and continues from its position.
            return
        if entries:
            position, silent = following, 0.0
            yield _format_event(position, entries)
        elif silent >= KEEP_ALIVE_SECONDS:
            silent = 0.0
            yield b": nothing new\n\n"
        await asyncio.sleep(POLL_SECONDS)
        silent += POLL_SECONDS
        total += POLL_SECONDS


def _is_position(text: str) -> bool:
    try:
        parse_cursor(text, parts=text.count(".") + 1)
    except ServiceError:
        return False
    return text.count(".") <= 1


def _format_event(position: str, entries: list[dict[str, Any]]) -> bytes:
    # JSON has no bare newlines, so one `data:` line holds it.
    return b"id: " + position.encode() + b"\ndata: " + encode_json(entries) + b"\n\n"
