"""Reasons and fixes with `{placeholders}` that are filled from the effect that a rule matched."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import NamedTuple

from verdikt.errors import PolicyError

PLACEHOLDERS: dict[str, str] = {
    "target": "the matching target as written, shortened",
    "path": "its resolved path",
    "zone": "where it lies",
    "by": "the command that does it",
    "what": "the effect's dotted name",
    "does": "the effect in words, such as `publishes a package`",
    "note": "what the classifier noted about the effect",
    "tool": "the tool's name",
}
"""Placeholder → its meaning."""

_MAX_LENGTH = 120


class MessageTemplate(NamedTuple):
    """A text with known placeholders."""

    text: str
    parts: tuple[tuple[str, str], ...]  # literal text, then the placeholder that follows it

    @classmethod
    def parse(cls, text: str) -> MessageTemplate:
        """Parse a text; `{{` and `}}` stand for braces. Raise `PolicyError` for an unknown placeholder."""
        try:
            fields = list(string.Formatter().parse(text))
        except ValueError as error:
            raise PolicyError(
                f"expected balanced braces in `{text}`, found: {error} (write `{{{{` for a brace)"
            ) from error
        parts = []
        for literal, name, spec, conversion in fields:
            # A format spec or a conversion would have no effect, so it is refused.
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
        """Return the text with each placeholder replaced."""
        return "".join(literal + (shorten_text(values[name]) if name else "") for literal, name in self.parts)


def shorten_text(text: str) -> str:
    """Return the text on one line of bounded length, for messages."""
    # Cut before splitting: the text is the agent's own and may be megabytes long.
    text = " ".join(text[: 4 * _MAX_LENGTH].split())
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"
