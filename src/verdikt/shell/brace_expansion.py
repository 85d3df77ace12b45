"""Brace expansion: `{a,b}` and `{1..9..2}`, also nested; quoted braces are left alone."""

import re
from itertools import pairwise

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell import delimiters
from verdikt.shell.command import UNKNOWN

# `{a,b}{a,b}{a,b}…` doubles with each brace: forty of them would be a trillion words.
_MAX_WORDS = 256
_MAX_COMMAND_WORDS = 16
_MAX_TOTAL_LENGTH = 1 << 17
_MAX_WORD_LENGTH = 4096
_MAX_DEPTH = 12
_RANGE = compile_lazily(r"(?:(-?\d{1,9})\.\.(-?\d{1,9})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.(-?\d{1,9}))?")
_BRACE_TOKEN = compile_lazily(
    r"""[^\\'"$`{},]+|\\.|'[^']*'|\$'[^'\\]*(?:\\.[^'\\]*)*'|(?P<open>"|\$\(|\$\{|`|[<>]\()|.""", re.DOTALL
)


def expand_braces(raw: str) -> list[str]:
    """Return the words that a word with braces stands for, in order; the last is unknown when there are too many."""
    if len(raw) > _MAX_WORD_LENGTH:
        return [raw] if _find_first_brace(raw, 0) is None else [UNKNOWN]
    # A word that is long or contains commands is not multiplied as often: each copy is parsed, and its commands walked.
    max_words = min(_MAX_COMMAND_WORDS if "(" in raw or "`" in raw else _MAX_WORDS, _MAX_TOTAL_LENGTH // (len(raw) + 1))
    words = _expand_limited(raw, max_words, 0)
    return words if len(words) <= max_words else [*words[:max_words], UNKNOWN]


def _expand_limited(raw: str, max_words: int, depth: int) -> list[str]:
    """Return at most `max_words` + 1 words."""
    words = [""]
    at = 0
    while len(words) <= max_words and depth < _MAX_DEPTH and (brace := _find_first_brace(raw, at)) is not None:
        start, stop, pieces = brace
        inner: list[str] = []
        for piece in pieces:
            if len(inner) <= max_words:
                inner += _expand_limited(piece, max_words, depth + 1)
        words = [f"{prefix}{raw[at:start]}{piece_word}" for prefix in words for piece_word in inner][: max_words + 1]
        at = stop
    return [prefix + raw[at:] for prefix in words]


def _find_first_brace(raw: str, start: int) -> tuple[int, int, list[str]] | None:
    """Return the first brace that expands: its start, its end and its alternatives."""
    opened: list[tuple[int, list[int]]] = []
    closed: list[tuple[int, int, list[str]]] = []
    at, size = start, len(raw)
    while at < size:
        step = _BRACE_TOKEN.match(raw, at)
        if step is None:
            break
        token, begin, at = step[0], at, step.end()
        if opener := step["open"]:
            stop = delimiters.find_closing(raw, begin, opener)
            at = stop if stop > 0 else size
        elif token == "{":
            opened.append((begin, []))
        elif token == "," and opened:
            opened[-1][1].append(begin)
        elif token == "}" and opened:
            place, commas = opened.pop()
            pieces = _split_alternatives(raw, place, begin, commas)
            if pieces is not None:
                closed.append((place, at, pieces))
                if not opened:
                    break
    return min(closed) if closed else None


def _split_alternatives(raw: str, start: int, stop: int, commas: list[int]) -> list[str] | None:
    if commas:
        edges = [start, *commas, stop]
        return [raw[left + 1 : right] for left, right in pairwise(edges)]
    match = _RANGE.fullmatch(raw, start + 1, stop)
    if match is None:
        return None
    if match[1] is not None:
        first, last = int(match[1]), int(match[2])
        width = max(len(match[1]), len(match[2])) if re.match(r"-?0\d", match[1]) or re.match(r"-?0\d", match[2]) else 0
        return [str(number).zfill(width) for number in _list_range(first, last, match[5])]
    return [chr(number) for number in _list_range(ord(match[3]), ord(match[4]), match[5])]


def _list_range(first: int, last: int, step: str | None) -> list[int]:
    size = abs(int(step or 1)) or 1
    numbers = range(first, last + 1, size) if first <= last else range(first, last - 1, -size)
    return list(numbers[: _MAX_WORDS + 1])
