"""Reading the body of a request, with limits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_BODY_BYTES = 1 << 20
MAX_BODY_SECONDS = 30.0
"""How long a body may take: a client that sends byte by byte would hold a connection for days."""


async def read_body(request: Request) -> bytes | None:
    """Return the body, or None when it is too large: it is not read to its end then. Answer 408 when it is slow."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(MAX_BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > MAX_BODY_BYTES:
                    return None
                parts.append(part)
    except TimeoutError:
        raise HTTPException(408, headers={"Connection": "close"}) from None
    return b"".join(parts)
