"""Brace expansion: `{a,b}`, `{1..9..2}`, nested, within quotes left alone."""

import re
from itertools import pairwise

from verdikt.shell import span
from verdikt.shell.command import UNKNOWN

_MOST = 256
_LARGEST = 1 << 20
_LONGEST = 4096
_RANGE = re.compile(r"(?:(-?\d{1,9})\.\.(-?\d{1,9})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.(-?\d{1,9}))?")
_STEP = re.compile(r"""[^\\'"$`{},]+|\\.|'[^']*'|\$'(?:[^'\\]|\\.)*+'|(?P<open>"|\$\(|\$\{|`)|.""", re.DOTALL)


def expand(raw: str) -> list[str]:
    """The words that a word with braces stands for, in order; one that is unknown at the end when there are too many."""
    # A long word is not multiplied as often: what it makes is bounded too.
    budget = [min(_MOST, _LARGEST // (len(raw) + 1))]
    if len(raw) > _LONGEST:
        return [raw] if _first(raw) is None else [UNKNOWN]
    words = _expand(raw, 0, budget)
    if len(words) > _MOST:
        return [*words[:_MOST], UNKNOWN]
    return words


def _expand(raw: str, depth: int, budget: list[int]) -> list[str]:
    if depth > 12 or budget[0] <= 0:
        return [raw]
    found = _first(raw)
    if found is None:
        return [raw]
    start, stop, pieces = found
    head = raw[:start]
    inner = [word for piece in pieces for word in _expand(piece, depth + 1, budget)]
    tails = _expand(raw[stop:], depth + 1, budget)
    budget[0] -= len(inner) * len(tails)
    return [head + piece + tail for piece in inner[: _MOST + 1] for tail in tails[: _MOST + 1]][: _MOST + 1]


def _first(raw: str) -> tuple[int, int, list[str]] | None:
    """The first brace that expands: where it starts, where it ends, its alternatives."""
    opened: list[tuple[int, list[int]]] = []
    closed: list[tuple[int, int, list[str]]] = []
    at, size = 0, len(raw)
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
            start, commas = opened.pop()
            pieces = _pieces(raw, start, begin, commas)
            if pieces is not None:
                closed.append((start, at, pieces))
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
