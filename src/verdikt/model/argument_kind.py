"""What the schema of a tool says about its arguments: which are commands, queries, code, paths or addresses."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from verdikt.model.lazy_regex import compile_lazily


class ArgumentKind(enum.StrEnum):
    """What an argument means to the machine."""

    SHELL = "shell"
    SQL = "sql"
    CODE = "code"
    PATH = "path"
    URL = "url"


_KIND_BY_FORMAT = {
    "uri": ArgumentKind.URL,
    "url": ArgumentKind.URL,
    "uri-reference": ArgumentKind.URL,
    "path": ArgumentKind.PATH,
    "file-path": ArgumentKind.PATH,
    "sql": ArgumentKind.SQL,
    "application/sql": ArgumentKind.SQL,
    "text/x-python": ArgumentKind.CODE,
    "application/javascript": ArgumentKind.CODE,
}
"""`format` or `contentMediaType` of a schema → kind."""

_WORDINGS = (
    (
        ArgumentKind.SHELL,
        compile_lazily(r"(?i)\b(?:shell|bash|terminal|command[- ]line)\b|\bcommand to (?:run|execute)"),
    ),
    (ArgumentKind.SQL, compile_lazily(r"(?i)\bsql\b")),
    (
        ArgumentKind.CODE,
        compile_lazily(
            r"(?i)\b(?:python|javascript|typescript|node)\b.{0,30}\b(?:code|script|expression|function)\b"
            r"|\bsource code\b|\bcode to (?:run|execute|eval)"
        ),
    ),
    (
        ArgumentKind.PATH,
        compile_lazily(
            r"(?i)\b(?:file|directory|folder)\b.{0,20}\bpath\b|\b(?:file|directory|folder) ?(?:path|name)\b"
            r"|\bpath (?:to|of|for)\b"
        ),
    ),
    (ArgumentKind.URL, compile_lazily(r"(?i)\b(?:url|uri|web address)\b")),
)
"""The more dangerous reading of a description comes first."""


def find_schema_kinds(schema: Any) -> tuple[ArgumentKind, ...]:
    """Return every kind that the schema of one argument names, the most dangerous first; empty without any."""
    if not isinstance(schema, Mapping):
        return ()
    by_format = [_KIND_BY_FORMAT.get(str(schema.get(key, ""))) for key in ("format", "contentMediaType")]
    about = " ".join(str(schema[key]) for key in ("title", "description", "contentMediaType") if key in schema)
    by_wording = [kind for kind, wording in _WORDINGS if wording.search(about)]
    return tuple(dict.fromkeys(kind for kind in (*by_format, *by_wording) if kind is not None))


def infer_argument_kinds(schema: Any, limit: int = 64) -> dict[str, str]:
    """Return argument → kind, where the schema of a tool names one; the first of several."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    arguments = list(properties.items())[:limit] if isinstance(properties, Mapping) else []
    return {str(name): str(kinds[0]) for name, inner in arguments if (kinds := find_schema_kinds(inner))}
