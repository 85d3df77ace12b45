"""What a hook prints, and the status with which it ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class HookResponse(NamedTuple):
    """One JSON document for stdout, a line for stderr, and the exit status."""

    stdout: str = "{}"
    stderr: str = ""
    exit_code: int = 0


NO_OPINION = HookResponse()
"""Leaves the decision to the host; valid on every client that was measured."""


def render_json(value: Mapping[str, Any]) -> str:
    """Return the value as one line of ASCII JSON, without empty and null members."""
    # `"reason": null` turns a deny into an allow in Claude Code and Codex.
    return json.dumps(_drop_empty(value), separators=(",", ":"))


def build_response(value: Mapping[str, Any]) -> HookResponse:
    """Return a document with status 0."""
    if not value:
        return NO_OPINION
    return HookResponse(stdout=render_json(value))


def build_block_response(reason: str, **fields: str) -> HookResponse:
    """Return the block that holds on every client that was measured, even if the wrong host was named.

    `fields` are further members of the document that the host knows.
    """
    # Codex and Gemini CLI run the tool after status 2 with an empty stderr; Gemini CLI also believes stdout only.
    document = {"decision": "block", "reason": reason, **fields}
    return HookResponse(stdout=render_json(document), stderr=reason, exit_code=2)


def _drop_empty(value: Mapping[str, Any]) -> dict[str, Any]:
    dense = {}
    for key, member in value.items():
        content = _drop_empty(member) if isinstance(member, Mapping) else member
        if content is not None and content not in ("", {}):
            dense[key] = content
    return dense
