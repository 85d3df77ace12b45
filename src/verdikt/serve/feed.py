"""The live feed: server-sent events, each a list of what arrived, at most two a second for each viewer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from starlette.responses import StreamingResponse

from verdikt.errors import ServiceError
from verdikt.serve.entry_search import parse_cursor
from verdikt.serve.feed_reads import FeedReads, format_event
from verdikt.serve.routes import READERS, ApiCall, ApiRoute

if TYPE_CHECKING:
    from verdikt.serve.store_reader import StoreReader

KEEP_ALIVE_SECONDS = 15
MAX_STREAM_SECONDS = 3600
"""After this time the browser connects again."""
CHECK_SECONDS = 10
"""How often the login is looked at: a stolen cookie shows nothing for longer than this after it was ended."""


async def stream_feed(
    open_reader: Callable[[], StoreReader | None], position: str, reads: FeedReads
) -> AsyncIterator[bytes]:
    """Yield events from a position on, or from now when it is empty. Each event's id is the position after it.

    `open_reader` gives what the person sees, None when their login has ended; it is asked again every few seconds.
    """
    reader = await run_sync(open_reader)
    if reader is None:
        return
    if not position or not _is_position(position):
        position = await run_sync(reader.read_feed_position)
    yield format_event(position, [])
    loop = asyncio.get_running_loop()
    started_at = checked_at = spoke_at = loop.time()
    while (now := loop.time()) - started_at < MAX_STREAM_SECONDS:
        if now - checked_at >= CHECK_SECONDS:
            try:
                reader, checked_at = await run_sync(open_reader), now
            except ServiceError:
                return
            if reader is None:
                return
        arrivals = await reads.read(reader, position)
        if arrivals is None:
            # The database may be restarting: the browser connects again and continues from its position.
            return
        position = arrivals.position
        if arrivals.event:
            spoke_at = now
            yield arrivals.event
        elif now - spoke_at >= KEEP_ALIVE_SECONDS:
            spoke_at = now
            yield b": nothing new\n\n"
        await reads.wait()


def _is_position(text: str) -> bool:
    try:
        parse_cursor(text, parts=text.count(".") + 1)
    except ServiceError:
        return False
    return text.count(".") <= 1


def open_feed(call: ApiCall) -> StreamingResponse:
    """Stream what arrives, until the login ends."""

    def open_reader() -> StoreReader | None:
        person = call.service.people.find_person(call.cookie, call.now)
        return replace(call, person=person).open_reader() if person is not None else None

    position = call.last_event or call.query.get("position", "")
    return StreamingResponse(
        stream_feed(open_reader, position, call.service.feed_reads),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


FEED_ROUTE = ApiRoute(
    "GET",
    "/v1/feed",
    open_feed,
    READERS,
    "what arrives, as server-sent events",
    {"position": "the id of the last event; `Last-Event-ID` comes before it"},
    scope="",
)
"""Not one of those that answer at once."""
