"""Reasons and fixes with `{placeholders}` that are filled from the effect that a rule matched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from verdikt.errors import PolicyError
from verdikt.model.lazy_regex import compile_lazily

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

_BRACES = compile_lazily(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_MAX_LENGTH = 120


class MessageTemplate(NamedTuple):
    """A text with known placeholders."""

    text: str
    parts: tuple[tuple[str, str], ...]  # literal text, then the placeholder that follows it

    @classmethod
    def parse(cls, text: str) -> MessageTemplate:
        """Parse a text; `{{` and `}}` stand for braces. Raise `PolicyError` for an unknown placeholder."""
        parts, literal, position = [], "", 0
        for match in _BRACES.finditer(text):
            literal += text[position : match.start()]
            position = match.end()
            name = match[1]
            if name is None and len(match[0]) == 1:
                raise PolicyError(
                    f"expected balanced braces in `{text}`, found a single `{match[0]}` (write `{{{{` for a brace)"
                )
            # A format spec or a conversion would have no effect, so it is refused like an unknown name.
            if name is not None and name not in PLACEHOLDERS:
                known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
                raise PolicyError(
                    f"expected a placeholder among {known}, found `{{{name}}}` (write `{{{{` for a brace)"
                )
            if name is None:
                literal += match[0][0]
            else:
                parts.append((literal, name))
                literal = ""
        if literal := literal + text[position:]:
            parts.append((literal, ""))
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
