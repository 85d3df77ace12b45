"""What a hook prints, where, and with which status."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class HookResponse:
    """One JSON document for stdout, a line for stderr, and the exit status."""

    stdout: str = "{}"
    stderr: str = ""
    exit_code: int = 0


NO_OPINION = HookResponse()
"""No opinion: valid on every client that was measured."""


def render_json(value: Mapping[str, Any]) -> str:
    """The value as one line of ASCII JSON, without empty and null members."""
    return json.dumps(_drop_empty(value), separators=(",", ":"))


def build_response(value: Mapping[str, Any]) -> HookResponse:
    """A document with status 0."""
    if not value:
        return NO_OPINION
    return HookResponse(stdout=render_json(value))


def build_block_response(reason: str) -> HookResponse:
    """The deny that blocks on every client that was measured, whichever of them it is."""
    return HookResponse(stdout=render_json({"decision": "block", "reason": reason}), stderr=reason, exit_code=2)


def _drop_empty(value: Mapping[str, Any]) -> dict[str, Any]:
    dense = {}
    for key, member in value.items():
        kept = _drop_empty(member) if isinstance(member, Mapping) else member
        if kept is not None and kept not in ("", {}):
            dense[key] = kept
    return dense
