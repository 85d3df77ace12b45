"""The live feed: server-sent events, each a list of what arrived, at most two a second for each viewer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

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


class FeedReads:
    """Reads of the feed that viewers share: of all who see the same, from the same position on, in the same moment.

    A thousand people who look at a page would else read the same a thousand times.
    """

    def __init__(self) -> None:
        self._moment = 0
        self._reads: dict[object, asyncio.Task[_Arrivals | None]] = {}

    async def read(self, reader: StoreReader, position: str) -> _Arrivals | None:
        """Return what arrived after a position; None when the database does not answer."""
        moment = int(asyncio.get_running_loop().time() / POLL_SECONDS)
        if moment != self._moment:
            # What is under way is kept by those who wait for it.
            self._moment, self._reads = moment, {}
        key = reader.visibility, position
        if key not in self._reads:
            self._reads[key] = asyncio.create_task(_read_arrivals(reader, position))
        # One viewer who leaves must not end the read of the others.
        return await asyncio.shield(self._reads[key])


class _Arrivals(NamedTuple):
    """The position after what arrived, and the event that tells it; empty when nothing arrived."""

    position: str
    event: bytes


async def _read_arrivals(reader: StoreReader, position: str) -> _Arrivals | None:
    try:
        following, entries = await run_sync(reader.read_feed, position, MAX_MESSAGE_ENTRIES)
    except ServiceError:
        return None
    return _Arrivals(following, _format_event(following, entries) if entries else b"")


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
    yield _format_event(position, [])
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
        # All wake in the same moment, and so share what they read.
        await asyncio.sleep(POLL_SECONDS - loop.time() % POLL_SECONDS)


def _is_position(text: str) -> bool:
    try:
        parse_cursor(text, parts=text.count(".") + 1)
    except ServiceError:
        return False
    return text.count(".") <= 1


def _format_event(position: str, entries: list[dict[str, Any]]) -> bytes:
    # JSON has no bare newlines, so one `data:` line holds it.
    return b"id: " + position.encode() + b"\ndata: " + encode_json(entries) + b"\n\n"
