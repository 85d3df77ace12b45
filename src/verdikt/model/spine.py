"""The eight-field receipt of seed 003."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from verdikt.model.canonical import canonical, sha256
from verdikt.model.effect import EffectClass
from verdikt.model.frozen import freeze, thaw
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
        for field in fields(self):
            object.__setattr__(self, field.name, freeze(getattr(self, field.name)))

    def dump(self) -> dict[str, Any]:
        """The receipt as plain data; changing it changes nothing here."""
        return {field.name: thaw(getattr(self, field.name)) for field in fields(self)}

    @property
    def bytes(self) -> bytes:
        """The canonical bytes."""
        return canonical(self.dump())

    @property
    def sha256(self) -> str:
        """Lower-case hex SHA-256 of the canonical bytes."""
        return sha256(self.bytes)


def rationale(tool: str, effects: tuple[EffectClass, ...], dominant: EffectClass) -> str:
    """Why this effect dominates, in the words that receipts have always used."""
    names = ", ".join(sorted(effect.value for effect in effects))
    return f"tool {tool!r} declares effects [{names}]; dominant under PRECEDENCE is {dominant.value!r}"
