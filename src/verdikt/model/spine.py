"""The eight-field receipt of a declared tool's call: manifest and posture in, disposition out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verdikt.model.canonical_json import encode_canonical, fields_of, freeze, sha256_hex, thaw

if TYPE_CHECKING:
    from verdikt.model.effect import EffectClass
    from verdikt.model.posture import Disposition, Posture


@dataclass(frozen=True, slots=True, kw_only=True)
class SpineReceipt:
    """A tool's call, its effects, and the decision: no clock, no randomness, the same bytes every time."""

    tool: str
    arguments: Mapping[str, Any]
    effects: tuple[EffectClass, ...]
    most_restrictive: EffectClass
    rationale: str
    posture: Posture
    disposition: Disposition
    require_confirmation: bool
    manifest_sha256: str = field(default="", compare=False)
    """The digest of the manifest that decided; not one of the eight fields, see `bytes_with_manifest`."""

    def __post_init__(self) -> None:
        # Frozen all the way down: a caller that keeps the arguments it passed must not be able to change the receipt.
        for name, value in fields_of(self).items():
            object.__setattr__(self, name, freeze(value))

    def dump(self) -> dict[str, Any]:
        """Return the eight fields as fresh plain data."""
        return {name: thaw(value) for name, value in fields_of(self).items() if name != "manifest_sha256"}

    @property
    def bytes_with_manifest(self) -> bytes:
        """The canonical bytes with the digest of the manifest: they show by which declarations it was decided."""
        return encode_canonical({**self.dump(), "manifest_sha256": self.manifest_sha256})

    @property
    def bytes(self) -> bytes:
        """The canonical bytes."""
        return encode_canonical(self.dump())

    @property
    def sha256(self) -> str:
        """Lower-case hex SHA-256 of the canonical bytes."""
        return sha256_hex(self.bytes)


def render_rationale(tool: str, effects: tuple[EffectClass, ...], dominant: EffectClass) -> str:
    """Return why this effect dominates. The text is part of receipts' bytes, so it must never change."""
    names = ", ".join(sorted(effect.value for effect in effects))
    return f"tool {tool!r} declares effects [{names}]; dominant under PRECEDENCE is {dominant.value!r}"
