"""What a `gap` entry says in words: something was not recorded, refused, or not as it was set up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def describe_gap(body: object) -> str:
    """Return one sentence about the body of a gap entry."""
    fields: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    moment = str(fields.get("moment") or "")
    if reason := fields.get("reason"):
        return f"something was not recorded: {reason}"
    if integrity := fields.get("integrity"):
        return f"verdikt was not as it was set up: {_join_texts(integrity)}"
    if failures := fields.get("failures"):
        return f"a part failed at the moment `{moment}`: {_join_texts(failures)}"
    if error := fields.get("error"):
        return f"something was not recorded: {f'`{moment}` failed with ' if moment else ''}{error}"
    if fields.get("refused"):
        return f"a change of the host's settings ({fields.get('source') or 'source unknown'}) was refused"
    return f"something was not recorded at the moment `{moment}`" if moment else "something was not recorded"


def _join_texts(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {text}" for name, text in value.items())
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
