"""Shell-style patterns over paths and names, in time that cannot explode."""

from __future__ import annotations

from functools import lru_cache


def match_glob(pattern: str, target: str) -> bool:
    """Whether `target` fits: `*` and `?` stay within a path segment, `**` is any number of segments.

    `a/**` fits `a` itself, because whoever removes a directory removes what is in it.
    """
    return _segments(_split(pattern), target.split("/"))


def escape(text: str) -> str:
    """A pattern that fits this text and no other."""
    return "".join("\\" + char if char in "*?\\" else char for char in text)


@lru_cache(maxsize=4096)
def _split(pattern: str) -> tuple[str, ...]:
    """The segments of a pattern, with runs of `**` made one."""
    parts: list[str] = []
    for part in pattern.split("/"):
        if part != "**" or not parts or parts[-1] != "**":
            parts.append(part)
    return tuple(parts)


def _segments(pattern: tuple[str, ...], target: list[str]) -> bool:
    """Greedy with one point of return (the last `**`), so the work is at most pattern × target."""
    p = t = 0
    star, mark = -1, 0
    while t < len(target):
        if p < len(pattern) and pattern[p] == "**":
            star, mark = p, t
            p += 1
        elif p < len(pattern) and match_name(pattern[p], target[t]):
            p += 1
            t += 1
        elif star >= 0:
            mark += 1
            p, t = star + 1, mark
        else:
            return False
    return all(part == "**" for part in pattern[p:])


def match_name(pattern: str, name: str) -> bool:
    """Whether one segment fits a pattern of `*`, `?` and literal characters; a backslash makes the next one literal."""
    if "*" not in pattern and "?" not in pattern and "\\" not in pattern:
        return pattern == name
    wanted = tokens(pattern)
    p = n = 0
    star, mark = -1, 0
    while n < len(name):
        token = wanted[p] if p < len(wanted) else None
        if token == "*":
            star, mark = p, n
            p += 1
        elif token is not None and token in ("?", "\\" + name[n]):
            p += 1
            n += 1
        elif star >= 0:
            mark += 1
            p, n = star + 1, mark
        else:
            return False
    return all(token == "*" for token in wanted[p:])


@lru_cache(maxsize=4096)
def tokens(pattern: str) -> tuple[str, ...]:
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
