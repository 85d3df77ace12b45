"""Reading the body of a request, with a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_BODY_BYTES = 1 << 20


async def read_body(request: Request) -> bytes | None:
    """Return the body, or None when it is too large: it is not read to its end then."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)
