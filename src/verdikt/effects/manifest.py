"""The tool manifest: which effects a tool declares, in which postures it may run, whether a person confirms."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager

from verdikt.errors import CanonicalError, ManifestError
from verdikt.model.canonical import canonical, parse
from verdikt.model.effect import PRECEDENCE, EffectClass
from verdikt.model.frozen import freeze, thaw
from verdikt.model.posture import Posture
from verdikt.model.value import Value, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_FIELDS = frozenset({"name", "description", "effects", "permitted_postures", "require_confirmation", "metadata"})


class ToolDeclaration(Value, kw_only=True):
    """One tool: effects by precedence, postures in declaration order, each once. `permitted_postures` None means all."""

    name: str
    effects: tuple[EffectClass, ...]
    description: str | None = None
    permitted_postures: tuple[Posture, ...] | None = None
    require_confirmation: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with _as_manifest_error(f"tool '{self.name}'"):
            _set(self, "name", _text(self.name, "`name`"))
            if self.description is not None:
                _set(self, "description", _text(self.description, "`description`", empty=True))
            _set(self, "effects", _members(self.effects, EffectClass, PRECEDENCE, "`effects`"))
            if self.permitted_postures is not None:
                order = tuple(Posture)
                _set(
                    self,
                    "permitted_postures",
                    _members(self.permitted_postures, Posture, order, "`permitted_postures`"),
                )
            if not isinstance(self.require_confirmation, bool):
                raise ValueError(
                    f"expected true or false as `require_confirmation`, found {_found(self.require_confirmation)}"
                )
            if not isinstance(self.metadata, Mapping):
                raise ValueError(f"expected an object as `metadata`, found {_found(self.metadata)}")
            canonical(self.metadata)
            _set(self, "metadata", freeze(self.metadata))

    def dump(self) -> dict[str, Any]:
        """The declaration as plain data, every field present."""
        postures = self.permitted_postures
        return {
            "name": self.name,
            "description": self.description,
            "effects": [effect.value for effect in self.effects],
            "permitted_postures": None if postures is None else [posture.value for posture in postures],
            "require_confirmation": self.require_confirmation,
            "metadata": thaw(self.metadata),
        }


class Manifest(Value):
    """The tools that are declared, by name; it may be empty."""

    tools: Mapping[str, ToolDeclaration] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, tool in self.tools.items():
            if key != tool.name:
                raise ManifestError(f"tool name mismatch: expected '{key}', found '{tool.name}'")
        _set(self, "tools", freeze(self.tools))

    def get(self, name: str) -> ToolDeclaration:
        """The declaration of a tool; one that is not declared is an error, so that it cannot pass."""
        try:
            return self.tools[name]
        except KeyError:
            raise ManifestError(f"tool {name!r} not declared in manifest") from None

    def dump(self) -> dict[str, Any]:
        """The manifest as plain data, in canonical order."""
        return {"tools": {name: self.tools[name].dump() for name in sorted(self.tools)}}

    @property
    def bytes(self) -> bytes:
        """Canonical bytes: parsing them gives the same manifest, and that the same bytes."""
        return canonical(self.dump())


def parse_manifest(source: Mapping[str, Any] | str | bytes) -> Manifest:
    """The manifest in a JSON text or a plain mapping; anything wrong with it is a `ManifestError`."""
    with _as_manifest_error("manifest"):
        document = parse(source) if isinstance(source, (str, bytes)) else source
        if not isinstance(document, Mapping):
            raise ValueError(f"expected an object with `tools`, found {_found(document)}")
        _refuse_unknown(document, {"tools"}, "the manifest")
        if not isinstance(document.get("tools"), Mapping):
            raise ValueError(f"expected an object as `tools`, found {_found(document.get('tools'))}")
        tools: dict[str, ToolDeclaration] = {}
        for key, body in document["tools"].items():
            name = _text(key, "the name of a tool")
            if name in tools:
                raise ValueError(f"expected each tool once, found '{name}' twice")
            tools[name] = _declaration(name, body)
        return Manifest(tools)


def _declaration(key: str, body: Any) -> ToolDeclaration:
    if not isinstance(body, Mapping):
        raise ValueError(f"tool '{key}': expected an object, found {_found(body)}")
    _refuse_unknown(body, _FIELDS, f"tool '{key}'")
    for needed in ("name", "effects"):
        if needed not in body:
            raise ValueError(f"tool '{key}': expected `{needed}`, found none")
    return ToolDeclaration(**body)


def _refuse_unknown(given: Mapping[Any, Any], known: frozenset[str] | set[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise ValueError(f"{where}: expected {', '.join(f'`{name}`' for name in sorted(known))}, found `{key}`")


def _text(value: Any, what: str, *, empty: bool = False) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text as {what}, found {_found(value)}")
    if not value.strip() and not empty:
        raise ValueError(f"expected {what} to be non-empty, found nothing")
    return value.strip()


def _members(value: Any, kind: Any, order: tuple[Any, ...], what: str) -> tuple[Any, ...]:
    """The members named in a list, each once, in the given order."""
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"expected a list as {what}, found {_found(value)}")
    if not value:
        raise ValueError(f"expected {what} to be non-empty, found none")
    known = {member.value for member in kind}
    for item in value:
        if not isinstance(item, str) or item.strip() not in known:
            raise ValueError(f"expected one of {', '.join(member.value for member in kind)} in {what}, found `{item}`")
    named = {item.strip() for item in value}
    return tuple(member for member in order if member.value in named)


def _found(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "nothing"}.get(
        type(value), type(value).__name__
    )


def _set(owner: Any, name: str, value: Any) -> None:
    object.__setattr__(owner, name, value)


@contextmanager
def _as_manifest_error(where: str) -> Iterator[None]:
    """Turns whatever is wrong with the data into our error, once, with its cause."""
    try:
        yield
    except ManifestError:
        raise
    except CanonicalError as error:
        raise ManifestError(f"{where}: {error}") from error
    except ValueError as error:
        raise ManifestError(str(error) if where == "manifest" else f"{where}: {error}") from error
