"""Shell patterns matched against constant text, in time bounded by the product of their lengths."""

import re
from functools import lru_cache

from verdikt.model.lazy_regex import compile_lazily

_PIECE = compile_lazily(r"\\.|\*+|\?|\[[!^]?\]?[^\]]*\]|.", re.DOTALL)
_MAX_TEXT_LENGTH = 4096


@lru_cache(maxsize=256)
def _compile_pieces(pattern: str) -> tuple[str | re.Pattern[str], ...]:
    """Return the pieces of a pattern; each matches one character, except `*`."""
    pieces: list[str | re.Pattern[str]] = []
    for piece in _PIECE.findall(pattern):
        if piece[0] == "*":
            pieces.append("*")
        elif piece == "?":
            pieces.append(re.compile(".", re.DOTALL))
        elif piece[0] == "[" and len(piece) > 2:
            inside = piece[1:-1]
            negated = inside[0] in "!^"
            inside = inside[1:] if negated else inside
            named = re.sub(r"\[:(\w+):\]?", lambda name: _CHARACTER_CLASSES.get(name[1], ""), inside + "]")[:-1]
            body = named.replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]").replace("^", r"\^")
            try:
                pieces.append(re.compile(f"[{'^' if negated else ''}{body}]", re.DOTALL))
            except re.error:
                pieces.append(re.compile(re.escape(piece[0])))
        else:
            pieces.append(re.compile(re.escape(piece[-1])))
    return tuple(pieces)


_CHARACTER_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r" \t\n",
    "blank": r" \t",
    "punct": "!-/:-@",
    "xdigit": "0-9a-fA-F",
}


def is_match(pattern: str, text: str) -> bool:
    """Whether the pattern matches all of the text."""
    return len(text) in _find_match_ends(pattern, text)


def _find_match_ends(pattern: str, text: str) -> set[int]:
    """Return every index at which the pattern can end, when it starts at the beginning of the text."""
    # All positions at once, as an automaton does: `re` would backtrack for minutes on `*a*a*a*a*b`.
    reached = {0}
    size = len(text)
    for piece in _compile_pieces(pattern):
        if piece == "*":
            reached = set(range(min(reached), size + 1))
        elif isinstance(piece, re.Pattern):
            reached = {at + 1 for at in reached if at < size and piece.match(text, at)}
        if not reached:
            break
    return reached


def strip_prefix(pattern: str, text: str, *, longest: bool) -> str | None:
    """Return `${x#pattern}` or `${x##pattern}`; None when the text is too long to try."""
    if len(text) > _MAX_TEXT_LENGTH:
        return None
    ends = _find_match_ends(pattern, text)
    return text[(max if longest else min)(ends) :] if ends else text


def strip_suffix(pattern: str, text: str, *, longest: bool) -> str | None:
    """Return `${x%pattern}` or `${x%%pattern}`; None when the text is too long to try."""
    # Each suffix is matched by itself, so a long text would take quadratic time.
    if len(text) > 512 and "*" in pattern:
        return None
    starts = range(len(text) + 1) if longest else range(len(text), -1, -1)
    return next((text[:start] for start in starts if is_match(pattern, text[start:])), text)


def replace_matches(pattern: str, text: str, replacement: str, *, everywhere: bool, anchor: str) -> str | None:
    """Return `${x/pattern/new}` or one of its variants; None when the text is too long to try."""
    if len(text) > 512:
        return (
            None
            if any(mark in pattern for mark in "*?[\\")
            else text.replace(pattern, replacement, -1 if everywhere else 1)
        )
    replaced: list[str] = []
    at = 0
    while at <= len(text):
        ends = {end for end in _find_match_ends(pattern, text[at:]) if end}
        if anchor == "%":
            ends = {end for end in ends if at + end == len(text)}
        if ends:
            replaced.append(replacement)
            at += max(ends)
            if not everywhere:
                break
        else:
            if anchor == "#" or at == len(text):
                break
            replaced.append(text[at])
            at += 1
    size = sum(map(len, replaced))
    return "".join(replaced) + text[at:] if size < _MAX_TEXT_LENGTH * 16 else None
