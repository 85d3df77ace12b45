"""The eight-field receipt: what a manifest and a posture make of a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verdikt.model.canonical_json import encode_canonical, fields_of, freeze, sha256_hex, thaw

if TYPE_CHECKING:
    from verdikt.model.effect import EffectClass
    from verdikt.model.posture import Disposition, Posture


@dataclass(frozen=True, slots=True, kw_only=True)
class SpineReceipt:
    """What was called, what it does, and what was decided: no clock, no randomness, the same bytes every time."""

    tool: str
    arguments: Mapping[str, Any]
    effects: tuple[EffectClass, ...]
    most_restrictive: EffectClass
    rationale: str
    posture: Posture
    disposition: Disposition
    require_confirmation: bool

    def __post_init__(self) -> None:
        for name, value in fields_of(self).items():
            object.__setattr__(self, name, freeze(value))

    def dump(self) -> dict[str, Any]:
        """The receipt as plain data; changing it changes nothing here."""
        return {name: thaw(value) for name, value in fields_of(self).items()}

    @property
    def bytes(self) -> bytes:
        """The canonical bytes."""
        return encode_canonical(self.dump())

    @property
    def sha256(self) -> str:
        """Lower-case hex SHA-256 of the canonical bytes."""
        return sha256_hex(self.bytes)


def render_rationale(tool: str, effects: tuple[EffectClass, ...], dominant: EffectClass) -> str:
    """Why this effect dominates, in the words that receipts have always used."""
    names = ", ".join(sorted(effect.value for effect in effects))
    return f"tool {tool!r} declares effects [{names}]; dominant under PRECEDENCE is {dominant.value!r}"
