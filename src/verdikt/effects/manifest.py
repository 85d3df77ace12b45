"""The tool manifest: which effects a tool declares, in which postures it may run, whether a person confirms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from verdikt.errors import CanonicalError, ManifestError
from verdikt.model.canonical_json import encode_canonical, freeze, parse_json, thaw
from verdikt.model.effect import PRECEDENCE, EffectClass
from verdikt.model.posture import Posture

_TOOL_FIELDS = frozenset({"name", "description", "effects", "permitted_postures", "require_confirmation", "metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDeclaration:
    """One declared tool: effects by precedence, postures in their own order, each once; no postures means all."""

    name: str
    effects: tuple[EffectClass, ...]
    description: str | None = None
    permitted_postures: tuple[Posture, ...] | None = None
    require_confirmation: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with _translate_errors(f"tool '{self.name}'"):
            _set_field(self, "name", _require_text(self.name, "`name`"))
            if self.description is not None:
                _set_field(self, "description", _require_text(self.description, "`description`", allow_empty=True))
            _set_field(self, "effects", _parse_members(self.effects, EffectClass, PRECEDENCE, "`effects`"))
            if self.permitted_postures is not None:
                order = tuple(Posture)
                _set_field(
                    self,
                    "permitted_postures",
                    _parse_members(self.permitted_postures, Posture, order, "`permitted_postures`"),
                )
            if not isinstance(self.require_confirmation, bool):
                found = _describe_type(self.require_confirmation)
                raise ValueError(f"expected true or false as `require_confirmation`, found {found}")
            if not isinstance(self.metadata, Mapping):
                raise ValueError(f"expected an object as `metadata`, found {_describe_type(self.metadata)}")
            encode_canonical(self.metadata)  # raises for what no receipt could hold
            _set_field(self, "metadata", freeze(self.metadata))

    def dump(self) -> dict[str, Any]:
        """Return the declaration as plain data, every field present."""
        postures = self.permitted_postures
        return {
            "name": self.name,
            "description": self.description,
            "effects": [effect.value for effect in self.effects],
            "permitted_postures": None if postures is None else [posture.value for posture in postures],
            "require_confirmation": self.require_confirmation,
            "metadata": thaw(self.metadata),
        }


@dataclass(frozen=True, slots=True)
class Manifest:
    """The declared tools by name; may be empty."""

    tools: Mapping[str, ToolDeclaration] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, tool in self.tools.items():
            if key != tool.name:
                raise ManifestError(f"tool name mismatch: expected '{key}', found '{tool.name}'")
        _set_field(self, "tools", freeze(self.tools))

    def get(self, name: str) -> ToolDeclaration:
        """Return the declaration of a tool; raise `ManifestError` if there is none, so that it cannot pass."""
        try:
            return self.tools[name]
        except KeyError:
            raise ManifestError(f"tool {name!r} not declared in manifest") from None

    def dump(self) -> dict[str, Any]:
        """Return the manifest as plain data, in canonical order."""
        return {"tools": {name: self.tools[name].dump() for name in sorted(self.tools)}}

    @property
    def bytes(self) -> bytes:
        """The canonical bytes; parsing them gives the same manifest, and that the same bytes."""
        return encode_canonical(self.dump())


def parse_manifest(source: Mapping[str, Any] | str | bytes) -> Manifest:
    """Parse a manifest from JSON text or a plain mapping; raise `ManifestError` for anything wrong with it."""
    with _translate_errors("manifest"):
        document = parse_json(source) if isinstance(source, (str, bytes)) else source
        if not isinstance(document, Mapping):
            raise ValueError(f"expected an object with `tools`, found {_describe_type(document)}")
        _refuse_unknown(document, {"tools"}, "the manifest")
        if not isinstance(document.get("tools"), Mapping):
            raise ValueError(f"expected an object as `tools`, found {_describe_type(document.get('tools'))}")
        tools: dict[str, ToolDeclaration] = {}
        for key, body in document["tools"].items():
            name = _require_text(key, "the name of a tool")
            if name in tools:
                raise ValueError(f"expected each tool once, found '{name}' twice")
            tools[name] = _parse_declaration(name, body)
        return Manifest(tools)


def _parse_declaration(key: str, body: Any) -> ToolDeclaration:
    if not isinstance(body, Mapping):
        raise ValueError(f"tool '{key}': expected an object, found {_describe_type(body)}")
    _refuse_unknown(body, _TOOL_FIELDS, f"tool '{key}'")
    for required in ("name", "effects"):
        if required not in body:
            raise ValueError(f"tool '{key}': expected `{required}`, found none")
    return ToolDeclaration(**body)


def _refuse_unknown(fields: Mapping[Any, Any], known: frozenset[str] | set[str], where: str) -> None:
    for key in fields:
        if key not in known:
            raise ValueError(f"{where}: expected {', '.join(f'`{name}`' for name in sorted(known))}, found `{key}`")


def _require_text(value: Any, label: str, *, allow_empty: bool = False) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text as {label}, found {_describe_type(value)}")
    if not value.strip() and not allow_empty:
        raise ValueError(f"expected {label} to be non-empty, found nothing")
    return value.strip()


def _parse_members(value: Any, kind: Any, order: tuple[Any, ...], label: str) -> tuple[Any, ...]:
    """Return the members that a list names, each once, in the order of `order`."""
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"expected a list as {label}, found {_describe_type(value)}")
    if not value:
        raise ValueError(f"expected {label} to be non-empty, found none")
    known = {member.value for member in kind}
    for item in value:
        if not isinstance(item, str) or item.strip() not in known:
            raise ValueError(f"expected one of {', '.join(member.value for member in kind)} in {label}, found `{item}`")
    named = {item.strip() for item in value}
    return tuple(member for member in order if member.value in named)


def _describe_type(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "nothing"}.get(
        type(value), type(value).__name__
    )


def _set_field(owner: Any, name: str, value: Any) -> None:
    object.__setattr__(owner, name, value)


@contextmanager
def _translate_errors(where: str) -> Iterator[None]:
    """Turn errors about the data into `ManifestError`, with the original as its cause."""
    try:
        yield
    except ManifestError:
        raise
    except CanonicalError as error:
        raise ManifestError(f"{where}: {error}") from error
    except ValueError as error:
        raise ManifestError(str(error) if where == "manifest" else f"{where}: {error}") from error
