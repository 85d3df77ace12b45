"""Plain data that cannot change: mappings become read-only and sequences tuples, all the way down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from verdikt.errors import CanonicalError
from verdikt.model.canonical_json import MAX_DEPTH


def freeze(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A copy that nobody can change, whatever they hold of the original."""
    if isinstance(value, (Mapping, list, tuple)):
        if not depth:
            raise CanonicalError(f"expected at most {MAX_DEPTH} levels, found more")
        if isinstance(value, Mapping):
            return MappingProxyType({key: freeze(inner, depth - 1) for key, inner in value.items()})
        return tuple(freeze(inner, depth - 1) for inner in value)
    return value


def thaw(value: Any) -> Any:
    """A fresh copy made of dict and list."""
    if isinstance(value, Mapping):
        return {key: thaw(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(inner) for inner in value]
    return value


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, in order, without copying their values."""
    return {field.name: getattr(value, field.name) for field in fields(value)}
