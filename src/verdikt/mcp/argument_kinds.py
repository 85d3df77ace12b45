"""What a tool's schema says about its arguments: which are paths, addresses, queries, commands or code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verdikt.model.lazy_regex import compile_lazily

_MAX_ARGUMENTS = 64
_FORMAT_KINDS = {"uri": "url", "url": "url", "uri-reference": "url", "path": "path", "file-path": "path", "sql": "sql"}
_MEDIA_KINDS = {"application/sql": "sql", "text/x-python": "code", "application/javascript": "code"}
# In the order in which they are tried: the more dangerous reading of a description comes first.
_WORDING_KINDS = (
    (
        "shell",
        compile_lazily(
            r"(?i)\b(?:shell|bash|terminal|command[- ]line)\b.{0,40}\b(?:command|script|run|execute)|"
            r"\bcommand to (?:run|execute)\b"
        ),
    ),
    ("sql", compile_lazily(r"(?i)\bSQL\b")),
    (
        "code",
        compile_lazily(r"(?i)\b(?:python|javascript|typescript|node)\b.{0,30}\b(?:code|script|expression|function)\b"),
    ),
    (
        "path",
        compile_lazily(
            r"(?i)\b(?:file|directory|folder)\b.{0,20}\bpath\b|\bpath (?:to|of|for) (?:the |a )?(?:file|dir)"
        ),
    ),
    ("url", compile_lazily(r"(?i)\bURL\b")),
)


def infer_argument_kinds(schema: Any) -> dict[str, str]:
    """Return argument → `path`, `url`, `sql`, `shell` or `code`, for those of which the schema says so."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    kinds: dict[str, str] = {}
    for name, description in list(properties.items())[:_MAX_ARGUMENTS] if isinstance(properties, Mapping) else ():
        if kind := _infer_kind(description):
            kinds[str(name)] = kind
    return kinds


def _infer_kind(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return ""
    by_format = _FORMAT_KINDS.get(str(schema.get("format", ""))) or _MEDIA_KINDS.get(
        str(schema.get("contentMediaType", ""))
    )
    if by_format:
        return by_format
    text = " ".join(part for key in ("title", "description") if isinstance(part := schema.get(key), str))[:2000]
    return next((kind for kind, wording in _WORDING_KINDS if text and wording.search(text)), "")
