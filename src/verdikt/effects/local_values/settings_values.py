"""Read the values of a file of settings by their keys: JSON, TOML, YAML, INI, properties, makefiles, variables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from verdikt.effects.any_language.masking import find_ending
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    import re

Value = str | list[str]
"""One text, or the items of a list."""
MAX_VALUES = 400
MAX_VALUE_LENGTH = 400
DATA_ENDINGS = frozenset("toml json json5 jsonc yaml yml ini cfg conf properties tfvars hcl env mk".split())
_ENTRY = compile_lazily(
    r"^(\s*)(?:export\s+)?(?:-\s+)?[\"']?([A-Za-z_][\w.-]*)[\"']?\s*(?::=|\?=|\+=|=|:(?=\s|$))\s*(.*?)\s*,?\s*$"
)
_ITEM = compile_lazily(r"^\s*-\s+(.+?)\s*$")
_COMMENT = compile_lazily(r"\s+#.*$")
_LIST_ITEM = compile_lazily(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s,\[\]]+)")
_REFERENCE = compile_lazily(r"\$[({]([\w.-]+)[)}]")
_MAX_ROUNDS = 3


def read_settings_values(path: str, text: str) -> dict[str, Value]:
    """Return the values of a file by key; a key with several values that differ is left out.

    A document that is a list has the empty key.
    """
    ending = find_ending(path)
    document: Any = None
    try:
        if ending in ("json", "jsonc", "json5"):
            document = json.loads(text)
        elif ending == "toml":
            document = import_module("tomllib").loads(text)  # the hook does without it
    except (ValueError, RecursionError):
        document = None
    pairs = _walk_document(document) if document is not None else _read_lines(text)
    values: dict[str, Value] = {}
    ambiguous: set[str] = set()
    for key, value in pairs:
        if key in values and values[key] != value:
            ambiguous.add(key)
        elif len(values) < MAX_VALUES:
            values[key] = value
    return _resolve_references({key: value for key, value in values.items() if key not in ambiguous})


def _walk_document(document: Any) -> Iterator[tuple[str, Value]]:
    """Yield the texts and lists of texts of a document, each by the last key above it."""
    pending: list[tuple[str, Any]] = [("", document)]
    while pending:
        key, value = pending.pop()
        if isinstance(value, dict):
            pending += [(str(inner), item) for inner, item in value.items()]
        elif isinstance(value, list):
            if texts := [item for item in value if isinstance(item, str) and len(item) < MAX_VALUE_LENGTH]:
                yield key, texts[:MAX_VALUES]
            pending += [(key, item) for item in value if isinstance(item, dict)]
        elif isinstance(value, str) and len(value) < MAX_VALUE_LENGTH:
            yield key, value


def _read_lines(text: str) -> Iterator[tuple[str, Value]]:
    """Yield what the lines of a file set, in the ways in which such formats write that."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        entry = _ENTRY.match(line) if line.lstrip()[:1] not in ("#", ";", "/") else None
        if entry is None or len(line) > MAX_VALUE_LENGTH:
            continue
        value = entry[3] if entry[3][:1] in ("'", '"') else _COMMENT.sub("", entry[3])
        if value[:1] == "[":
            yield entry[2], [first or second or third for first, second, third in _LIST_ITEM.findall(value)]
        elif value:
            yield entry[2], _strip_quotes(value)
        elif items := _read_items(lines, number + 1):
            yield entry[2], items


def _read_items(lines: list[str], start: int) -> list[str]:
    """Return the items of a list of YAML that begins at a line."""
    items = []
    for line in lines[start : start + MAX_VALUES]:
        item = _ITEM.match(line)
        if item is None:
            break
        items.append(_strip_quotes(item[1]))
    return items


def _strip_quotes(value: str) -> str:
    if value[:1] in ("'", '"') and (end := value.find(value[0], 1)) > 0:
        return value[1:end]
    return value


def _resolve_references(values: dict[str, Value]) -> dict[str, Value]:
    """Return the values with references to each other replaced: `$(PREFIX)/x`, `${base}/x`."""

    def fill(match: re.Match[str]) -> str:
        value = values.get(match[1])
        return value if isinstance(value, str) else match[0]

    for _ in range(_MAX_ROUNDS):
        changed = {
            key: _REFERENCE.sub(fill, value)
            for key, value in values.items()
            if isinstance(value, str) and "$" in value and len(value) < MAX_VALUE_LENGTH
        }
        if all(values[key] == value for key, value in changed.items()):
            break
        values = {**values, **changed}
    return values
