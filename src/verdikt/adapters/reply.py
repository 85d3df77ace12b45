"""What a hook prints, where, and with which status."""

from __future__ import annotations

from collections.abc import Mapping

from verdikt.model.notation import dump
from verdikt.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Reply(Value, kw_only=True):
    """One JSON document for stdout, a line for stderr, and the exit status."""

    stdout: str = "{}"
    stderr: str = ""
    code: int = 0


NEUTRAL = Reply()
"""No opinion: valid on every client that was measured."""


def document(value: Mapping[str, Any]) -> str:
    """The value as one line of ASCII JSON, without empty and null members."""
    return dump(_dense(value))


def say(value: Mapping[str, Any]) -> Reply:
    """A document with status 0."""
    if not value:
        return NEUTRAL
    return Reply(stdout=document(value))


def refuse(reason: str) -> Reply:
    """The deny that blocks on every client that was measured, whichever of them it is."""
    return Reply(stdout=document({"decision": "block", "reason": reason}), stderr=reason, code=2)


def _dense(value: Mapping[str, Any]) -> dict[str, Any]:
    dense = {}
    for key, member in value.items():
        kept = _dense(member) if isinstance(member, Mapping) else member
        if kept is not None and kept not in ("", {}):
            dense[key] = kept
    return dense
