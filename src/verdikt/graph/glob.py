"""Shell-style patterns over paths and names, in time that cannot explode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache


def match_glob(pattern: str, target: str) -> bool:
    """Whether `target` fits: `*` and `?` stay within a path segment, `**` is any number of segments.

    `a/**` fits `a` itself, because whoever removes a directory removes what is in it.
    """
    return _match_sequence(_split_segments(pattern), target.split("/"), "**", match_segment)


def escape_glob(text: str) -> str:
    """A pattern that fits this text and no other."""
    return "".join("\\" + char if char in "*?\\" else char for char in text)


@lru_cache(maxsize=4096)
def _split_segments(pattern: str) -> tuple[str, ...]:
    """The segments of a pattern, with runs of `**` made one."""
    parts: list[str] = []
    for part in pattern.split("/"):
        if part != "**" or not parts or parts[-1] != "**":
            parts.append(part)
    return tuple(parts)


def match_segment(pattern: str, name: str) -> bool:
    """Whether one segment fits a pattern of `*`, `?` and literal characters; a backslash makes the next one literal."""
    if "*" not in pattern and "?" not in pattern and "\\" not in pattern:
        return pattern == name
    return _match_sequence(tokenize_glob(pattern), name, "*", _matches_letter)


def _matches_letter(token: str, letter: str) -> bool:
    return token in ("?", "\\" + letter)


def _match_sequence(
    pattern: Sequence[str], target: Sequence[str], wildcard: str, matches_one: Callable[[str, str], bool]
) -> bool:
    """Greedy with one point of return (the last part that stands for any number), so the work is at most pattern × target."""
    p = t = 0
    star, mark = -1, 0
    while t < len(target):
        part = pattern[p] if p < len(pattern) else None
        if part == wildcard:
            star, mark = p, t
            p += 1
        elif part is not None and matches_one(part, target[t]):
            p += 1
            t += 1
        elif star >= 0:
            mark += 1
            p, t = star + 1, mark
        else:
            return False
    return all(part == wildcard for part in pattern[p:])


@lru_cache(maxsize=4096)
def tokenize_glob(pattern: str) -> tuple[str, ...]:
    """`*`, `?`, or a backslash with the character it stands for."""
    tokens: list[str] = []
    escaped = False
    for char in pattern:
        if escaped or char not in "*?\\":
            tokens.append("\\" + char)
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            tokens.append(char)
    if escaped:
        tokens.append("\\\\")
    return tuple(tokens)
