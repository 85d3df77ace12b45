"""Reasons and fixes with `{placeholders}` that are filled from what a rule matched."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass

from verdikt.errors import PolicyError

PLACEHOLDERS: dict[str, str] = {
    "target": "the matching target as written, shortened",
    "path": "its resolved path",
    "zone": "where it lies",
    "by": "the command that does it",
    "what": "the effect's dotted name",
    "note": "what the classifier noted about the effect",
    "tool": "the tool's name",
}
"""Placeholder → what it stands for."""

_MAX_LENGTH = 120


@dataclass(frozen=True, slots=True)
class MessageTemplate:
    """A text with placeholders; an unknown one cannot be built."""

    text: str
    parts: tuple[tuple[str, str], ...]  # literal text, then the placeholder that follows it

    @classmethod
    def parse(cls, text: str) -> MessageTemplate:
        """Parses a text; `{{` and `}}` stand for braces."""
        if (simple := _parse_simple(text)) is not None:
            return cls(text, simple)

        try:
            found = list(string.Formatter().parse(text))
        except ValueError as error:
            raise PolicyError(
                f"expected balanced braces in `{text}`, found: {error} (write `{{{{` for a brace)"
            ) from error
        parts = []
        for literal, name, spec, conversion in found:
            if name is not None and (name not in PLACEHOLDERS or spec or conversion):
                known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
                raise PolicyError(
                    f"expected a placeholder among {known}, found `{{{name}}}` (write `{{{{` for a brace)"
                )
            parts.append((literal, name or ""))
        return cls(text, tuple(parts))

    @property
    def placeholders(self) -> frozenset[str]:
        """The placeholders that occur."""
        return frozenset(name for _, name in self.parts if name)

    def render(self, values: Mapping[str, str]) -> str:
        """The text with each placeholder replaced."""
        return "".join(literal + (shorten_text(values[name]) if name else "") for literal, name in self.parts)


def _parse_simple(text: str) -> tuple[tuple[str, str], ...] | None:
    """The parts of a text in which braces are those of known placeholders; None when it holds any other."""
    literal, *rest = text.split("{")
    parts = []
    for piece in rest:
        name, brace, after = piece.partition("}")
        if not brace or name not in PLACEHOLDERS or "}" in literal:
            return None
        parts.append((literal, name))
        literal = after
    if "}" in literal:
        return None
    return (*parts, (literal, "")) if literal else tuple(parts)


def shorten_text(text: str) -> str:
    """One line of bounded length, for messages."""
    text = " ".join(text[: 4 * _MAX_LENGTH].split())
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"
