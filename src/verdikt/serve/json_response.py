"""Answers in JSON."""

from __future__ import annotations

import json
from typing import Any

import orjson
from starlette.responses import Response


def encode_json(data: Any) -> bytes:
    """Return plain data as JSON; text with half a surrogate pair, which a hostile log can have, as an escape."""
    try:
        return orjson.dumps(data)
    except TypeError:
        return json.dumps(data).encode()


def build_json_response(data: Any, status: int = 200) -> Response:
    """Return an answer with this data."""
    return Response(encode_json(data), status_code=status, media_type="application/json")
