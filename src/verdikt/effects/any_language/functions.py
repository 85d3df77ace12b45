"""Which functions of a text delete what they are given: a call of one, or what calls it back, counts as a deletion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from verdikt.effects.any_language.word_families import CONTROL_WORDS, DEFINING, Family, find_families

if TYPE_CHECKING:
    from verdikt.effects.any_language.units import Token, Unit

_MAX_BODY = 40
"""How many units of a function are looked at."""
_MIN_NAME = 3


def find_deleting_functions(units: Sequence[Unit]) -> frozenset[str]:
    """Return the names of functions that delete one of their parameters; those whose own name says so need no entry."""
    names = set()
    deleting = {id(unit) for unit in units if any(map(_deletes, unit.tokens))}
    for position, unit in enumerate(units) if deleting else ():
        name, parameters = _read_definition(unit)
        if not parameters or len(name) < _MIN_NAME or Family.DELETE in find_families(name):
            continue
        for inner in (unit, *_iter_body(units, position)):
            if id(inner) in deleting and _deletes_one_of(inner.tokens, parameters):
                names.add(name)
    return frozenset(names)


def _deletes(token: Token) -> bool:
    return token.kind == "name" and Family.DELETE in find_families(token.text)


def _read_definition(unit: Unit) -> tuple[str, frozenset[str]]:
    """Return name and parameters of a function that a unit begins; empty where it begins none."""
    tokens = unit.tokens
    is_told = any(token.text in DEFINING for token in tokens[:4])
    for index, token in enumerate(tokens[:12]):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if token.kind != "name" or token.depth or following is None or following.text != "(":
            continue
        end = next((i for i in range(index + 2, len(tokens)) if tokens[i].text == ")" and not tokens[i].depth), 0)
        # `int each(const char *path) {`: a call ends its unit otherwise, and has a value before it or none.
        is_typed = index > 0 and tokens[index - 1].kind == "name" and end == len(tokens) - 1
        if not end or token.text in CONTROL_WORDS or not (is_told or is_typed):
            return "", frozenset()
        return token.text, frozenset(each.text for each in tokens[index + 2 : end] if each.kind == "name")
    return "", frozenset()


def _iter_body(units: Sequence[Unit], position: int) -> Iterator[Unit]:
    """Yield the units of the function that begins at a position: those of its block, or those that are indented."""
    head = units[position]
    for unit in units[position + 1 : position + 1 + _MAX_BODY]:
        opener = unit.opener
        while opener is not None and opener is not head:
            opener = opener.opener
        if opener is not head and unit.indent <= head.indent:
            return
        yield unit


def _deletes_one_of(tokens: Sequence[Token], parameters: frozenset[str]) -> bool:
    """Return whether a deleting word is given a parameter, or is a method of one that takes nothing."""
    for index, token in enumerate(tokens):
        if not _deletes(token):
            continue
        after = [each.text for each in tokens[index + 1 : index + 8]]
        is_definition = index > 0 and tokens[index - 1].text in DEFINING
        if not is_definition and not parameters.isdisjoint(after):
            return True
        owner = tokens[index - 2].text if index > 1 and tokens[index - 1].text in (".", "->", "::", ":") else ""
        if owner in parameters and after[:2] in (["(", ")"], []):
            return True
    return False
