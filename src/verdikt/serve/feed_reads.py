"""Reads of the live feed that viewers share: a thousand people who look at a page would else read the same each."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from anyio.to_thread import run_sync

from verdikt.errors import ServiceError
from verdikt.serve.json_response import encode_json

if TYPE_CHECKING:
    from verdikt.serve.store_reader import StoreReader

POLL_SECONDS = 0.6
MAX_MESSAGE_ENTRIES = 200


class Arrivals(NamedTuple):
    """The position after what arrived, and the event that tells it; empty when nothing arrived."""

    position: str
    event: bytes


class FeedReads:
    """Reads of one event loop: one for all who see the same, from the same position on, in the same moment."""

    def __init__(self, poll_seconds: float = POLL_SECONDS) -> None:
        self._poll_seconds = poll_seconds
        self._moment = 0
        self._reads: dict[object, asyncio.Task[Arrivals | None]] = {}

    async def read(self, reader: StoreReader, position: str) -> Arrivals | None:
        """Return what arrived after a position; None when the database does not answer."""
        moment = int(asyncio.get_running_loop().time() / self._poll_seconds)
        if moment != self._moment:
            # What is under way is kept by those who wait for it.
            self._moment, self._reads = moment, {}
        key = reader.visibility, position
        if key not in self._reads:
            self._reads[key] = asyncio.create_task(_read_arrivals(reader, position))
        # One viewer who leaves must not end the read of the others.
        return await asyncio.shield(self._reads[key])

    async def wait(self) -> None:
        """Wait until the next moment, in which all wake who wait: they then share what they read."""
        await asyncio.sleep(self._poll_seconds - asyncio.get_running_loop().time() % self._poll_seconds)


async def _read_arrivals(reader: StoreReader, position: str) -> Arrivals | None:
    try:
        following, entries = await run_sync(reader.read_feed, position, MAX_MESSAGE_ENTRIES)
    except ServiceError:
        return None
    return Arrivals(following, format_event(following, entries) if entries else b"")


def format_event(position: str, entries: list[dict[str, Any]]) -> bytes:
    """Return a server-sent event whose id is the position after it."""
    # JSON has no bare newlines, so one `data:` line holds it.
    return b"id: " + position.encode() + b"\ndata: " + encode_json(entries) + b"\n\n"
