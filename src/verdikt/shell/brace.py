"""Brace expansion: `{a,b}`, `{1..9..2}`, nested, within quotes left alone."""

import re
from itertools import pairwise

from verdikt.model.regex import regex
from verdikt.shell import span
from verdikt.shell.command import UNKNOWN

_MOST = 256
_MOST_RUNS = 16
_LARGEST = 1 << 17
_LONGEST = 4096
_DEEPEST = 12
_RANGE = regex(r"(?:(-?\d{1,9})\.\.(-?\d{1,9})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.(-?\d{1,9}))?")
_STEP = regex(r"""[^\\'"$`{},]+|\\.|'[^']*'|\$'(?:[^'\\]|\\.)*+'|(?P<open>"|\$\(|\$\{|`|[<>]\()|.""", re.DOTALL)


def expand(raw: str) -> list[str]:
    """The words that a word with braces stands for, in order; one that is unknown at the end when there are too many."""
    if len(raw) > _LONGEST:
        return [raw] if _first(raw, 0) is None else [UNKNOWN]
    # A word that is long or holds commands is not multiplied as often: each of its copies is read, and runs them.
    most = min(_MOST_RUNS if "(" in raw or "`" in raw else _MOST, _LARGEST // (len(raw) + 1))
    words = _expand(raw, most, 0)
    return words if len(words) <= most else [*words[:most], UNKNOWN]


def _expand(raw: str, most: int, depth: int) -> list[str]:
    """At most one word more than `most`."""
    done = [""]
    at = 0
    while len(done) <= most and depth < _DEEPEST and (found := _first(raw, at)) is not None:
        start, stop, pieces = found
        inner: list[str] = []
        for piece in pieces:
            if len(inner) <= most:
                inner += _expand(piece, most, depth + 1)
        done = [f"{before}{raw[at:start]}{one}" for before in done for one in inner][: most + 1]
        at = stop
    return [before + raw[at:] for before in done]


def _first(raw: str, start: int) -> tuple[int, int, list[str]] | None:
    """The first brace that expands: where it starts, where it ends, its alternatives."""
    opened: list[tuple[int, list[int]]] = []
    closed: list[tuple[int, int, list[str]]] = []
    at, size = start, len(raw)
    while at < size:
        step = _STEP.match(raw, at)
        if step is None:
            break
        token, begin, at = step[0], at, step.end()
        if opener := step["open"]:
            stop = span.end(raw, begin, opener)
            at = stop if stop > 0 else size
        elif token == "{":
            opened.append((begin, []))
        elif token == "," and opened:
            opened[-1][1].append(begin)
        elif token == "}" and opened:
            place, commas = opened.pop()
            pieces = _pieces(raw, place, begin, commas)
            if pieces is not None:
                closed.append((place, at, pieces))
                if not opened:
                    break
    return min(closed) if closed else None


def _pieces(raw: str, start: int, stop: int, commas: list[int]) -> list[str] | None:
    if commas:
        edges = [start, *commas, stop]
        return [raw[left + 1 : right] for left, right in pairwise(edges)]
    found = _RANGE.fullmatch(raw, start + 1, stop)
    if found is None:
        return None
    if found[1] is not None:
        first, last = int(found[1]), int(found[2])
        width = max(len(found[1]), len(found[2])) if re.match(r"-?0\d", found[1]) or re.match(r"-?0\d", found[2]) else 0
        return [str(number).zfill(width) for number in _numbers(first, last, found[5])]
    return [chr(number) for number in _numbers(ord(found[3]), ord(found[4]), found[5])]


def _numbers(first: int, last: int, step: str | None) -> list[int]:
    size = abs(int(step or 1)) or 1
    numbers = range(first, last + 1, size) if first <= last else range(first, last - 1, -size)
    return list(numbers[: _MOST + 1])
