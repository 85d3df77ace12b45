"""Shell-style patterns over paths and names, in time bounded by pattern × target."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache


def match_glob(pattern: str, target: str) -> bool:
    """Return whether `target` fits: `*` and `?` stay within a path segment, `**` is any number of segments.

    `a/**` also fits `a`, because removing a directory removes everything in it.
    """
    # Most targets fit no pattern of a policy, and its longest literal part tells.
    if _find_literal(pattern) not in target:
        return False
    return _match_sequence(_split_segments(pattern), target.split("/"), "**", match_segment)


def escape_glob(text: str) -> str:
    """Return a pattern that fits this text and no other."""
    return "".join("\\" + char if char in "*?\\" else char for char in text)


@lru_cache(maxsize=4096)
def _find_literal(pattern: str) -> str:
    """Return the longest text that everything which fits a pattern contains; empty where escapes are in the way."""
    # A slash beside `**` is not required: `a/**` fits `a`.
    return "" if "\\" in pattern else max(re.split(r"/?\*\*/?|[*?]", pattern), key=len)


# A policy has few patterns, and each is matched against every target.
@lru_cache(maxsize=4096)
def _split_segments(pattern: str) -> tuple[str, ...]:
    """Return the segments of a pattern, with each run of `**` reduced to one."""
    parts: list[str] = []
    for part in pattern.split("/"):
        if part != "**" or not parts or parts[-1] != "**":
            parts.append(part)
    return tuple(parts)


def match_segment(pattern: str, name: str) -> bool:
    """Return whether one segment fits a pattern of `*`, `?` and characters; a backslash escapes the next one."""
    # Most segments are literal.
    if "*" not in pattern and "?" not in pattern and "\\" not in pattern:
        return pattern == name
    if _find_literal(pattern) not in name:
        return False
    return _match_sequence(tokenize_glob(pattern), name, "*", _matches_letter)


def _matches_letter(token: str, letter: str) -> bool:
    return token in ("?", "\\" + letter)


def _match_sequence(
    pattern: Sequence[str], target: Sequence[str], wildcard: str, matches_one: Callable[[str, str], bool]
) -> bool:
    """Match greedily, backtracking to the last wildcard only, so that the work is at most pattern × target."""
    # Going back to an earlier wildcard could never help: the later one can match whatever the earlier one gives up.
    pattern_at = target_at = 0
    wildcard_at, resume_at = -1, 0
    while target_at < len(target):
        part = pattern[pattern_at] if pattern_at < len(pattern) else None
        if part == wildcard:
            wildcard_at, resume_at = pattern_at, target_at
            pattern_at += 1
        elif part is not None and matches_one(part, target[target_at]):
            pattern_at += 1
            target_at += 1
        elif wildcard_at >= 0:
            resume_at += 1
            pattern_at, target_at = wildcard_at + 1, resume_at
        else:
            return False
    return all(part == wildcard for part in pattern[pattern_at:])


@lru_cache(maxsize=4096)
def tokenize_glob(pattern: str) -> tuple[str, ...]:
    """Return the tokens of a pattern: `*`, `?`, or a backslash with the literal character."""
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
    # A backslash at the end stands for itself.
    if escaped:
        tokens.append("\\\\")
    return tuple(tokens)
