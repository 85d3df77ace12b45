"""Which names a unit binds, in the ways in which languages write that, and the tokens that stand for their value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from verdikt.effects.any_language.word_families import BUFFER_APPENDERS, BUFFER_FILLERS, LOOP_WORDS, SETTING_WORDS

if TYPE_CHECKING:
    from verdikt.effects.any_language.units import Token

Binding = tuple[str, "Sequence[Token]", bool]
"""A name, the tokens of its value, and whether the value is added to what the name held."""
_ASSIGNMENTS = ("=", ":=", "<-", "+=", "?=")
_LOOPS = frozenset("for foreach each doseq dolist loop map".split())
_FUNCTIONS = frozenset("func function fun fn sub".split())
_DECLARING = frozenset("var val let const auto final mut my our local static readonly def final".split())


BINDING_WORDS = frozenset((*_ASSIGNMENTS, "|", "=>", "->", *LOOP_WORDS, *SETTING_WORDS, *_LOOPS, *_FUNCTIONS))
"""Without one of these a unit binds nothing."""


def find_bindings(tokens: Sequence[Token], *, is_command_list: bool) -> Iterator[Binding]:
    """Yield what a unit binds; `is_command_list` says that names are bound by commands alone, as CMake does."""
    words = [token.text for token in tokens]
    if not BUFFER_FILLERS.isdisjoint(words):
        yield from _find_filled_buffers(tokens)
    if not is_command_list and BINDING_WORDS.isdisjoint(words):
        return
    yield from _find_assignments(tokens)
    first = next((index for index, token in enumerate(tokens) if token.kind == "name"), None)
    if first is None:
        return
    if tokens[first].text in SETTING_WORDS and not is_command_list:
        names = [index for index in range(first + 1, min(first + 4, len(tokens))) if tokens[index].kind == "name"]
        if names and not any(token.text in _ASSIGNMENTS for token in tokens[:8]):
            yield tokens[names[0]].text, tokens[names[0] + 1 :], False
    if is_command_list:
        is_setting = tokens[first].text in SETTING_WORDS
        for index, token in enumerate(tokens):
            # A word in capitals is a keyword, but for the name that is set.
            may_bind = not token.text.isupper() or (is_setting and index == first + 2)
            if token.kind == "name" and token.depth == 1 and may_bind and tokens[index - 1].text != "$":
                yield token.text, [*tokens[:index], *tokens[index + 1 :]], True
    yield from _find_loop_names(tokens, first)
    yield from _find_parameters(tokens)


def _find_filled_buffers(tokens: Sequence[Token]) -> Iterator[Binding]:
    """Yield the names that a function of C fills: `snprintf(path, sizeof path, "%s/x", home)`, `strcat(path, "/x")`."""
    for index, token in enumerate(tokens[:-2]):
        if token.text not in BUFFER_FILLERS or tokens[index + 1].text != "(":
            continue
        name = next((each for each in tokens[index + 2 : index + 4] if each.kind == "name"), None)
        if name is not None:
            after = tokens.index(name, index) + 1
            end = next((i for i in range(after, len(tokens)) if tokens[i].depth < name.depth), len(tokens))
            yield name.text, tokens[after:end], token.text in BUFFER_APPENDERS


def _find_assignments(tokens: Sequence[Token]) -> Iterator[Binding]:
    for index, token in enumerate(tokens):
        if token.text not in _ASSIGNMENTS or index == 0 or token.depth > 1:
            continue
        before = tokens[:index]
        # `val home: File = …`: the type stands between the name and the sign.
        colon = next(
            (i for i in range(len(before) - 1, 0, -1) if before[i].text == ":" and before[i].depth == token.depth), 0
        )
        name_index = colon - 1 if colon and index - colon < 8 else index - 1
        while name_index > 0 and before[name_index].kind != "name":
            name_index -= 1
        name = before[name_index]
        if name.kind != "name" or name.depth != token.depth or name.text in _DECLARING:
            continue  # `let () =` of a program that has no name
        if token.depth == 1 and not (name_index > 0 and _declares(before, name_index)):
            continue  # an argument by name
        yield name.text, tokens[index + 1 :], token.text == "+="
        while name_index > 1 and before[name_index - 1].text == "," and before[name_index - 2].kind == "name":
            # `home, err := os.UserHomeDir()`
            name_index -= 2
            yield before[name_index].text, tokens[index + 1 :], False
        if name_index > 1 and before[name_index - 1].text == "." and before[name_index - 2].kind == "name":
            # What is put into a field is in the whole: `request.body = …`.
            yield before[name_index - 2].text, tokens[index + 1 :], True
        if token.depth == 0 and (index + 1 == len(tokens) or tokens[index + 1].text not in _DECLARING):
            return


def _declares(before: Sequence[Token], name_index: int) -> bool:
    previous = before[name_index - 1]
    return (
        previous.text in _DECLARING or previous.text == ">" or (previous.kind == "name" and previous.text[:1].isupper())
    )


def _find_loop_names(tokens: Sequence[Token], first: int) -> Iterator[Binding]:
    """Yield the name that goes through a list: `for f in …`, `foreach (… as $f)`, `with open(…) as f`, `[f (…)]`."""
    is_loop = tokens[first].text in _LOOPS
    for index, token in enumerate(tokens):
        if token.kind != "name" or token.text not in LOOP_WORDS:
            continue
        if token.text == "as":
            names = [each.text for each in tokens[index + 1 : index + 6] if each.kind == "name"]
            yield from ((name, tokens[:index], False) for name in names[-1:])
        elif is_loop or (index > 0 and tokens[index - 1].kind == "name"):
            name = next((each.text for each in reversed(tokens[:index]) if each.kind == "name"), "")
            if name:
                yield name, tokens[index + 1 :], False
            return
    if is_loop:
        for index in range(first + 1, min(first + 8, len(tokens))):
            # `foreach f [glob …]` of Tcl, `for (Path p : paths)` of Java, `(doseq [f …] …)`.
            if tokens[index].kind == "name" and (
                index + 1 < len(tokens) and tokens[index + 1].text in (":", "(", "[", "$")
            ):
                yield tokens[index].text, tokens[index + 1 :], False
                return


def _find_parameters(tokens: Sequence[Token]) -> Iterator[Binding]:
    """Yield the parameters of functions that a call is given: `.each { |f| … }`, `.forEach(f => …)`, `func(p …)`."""
    for index, token in enumerate(tokens):
        if token.text in _FUNCTIONS and index > 1 and tokens[index - 1].text in (",", "("):
            parameter = next((each for each in tokens[index + 1 : index + 5] if each.kind == "name"), None)
            if parameter is not None:
                yield parameter.text, tokens[:index], True
        if index == 0 or (tokens[index - 1].kind != "name" and tokens[index - 1].text != ")"):
            continue
        name = tokens[index - 1] if tokens[index - 1].kind == "name" else tokens[index - 2]
        if name.kind != "name":
            continue
        is_between_bars = token.text == "|" and index > 1 and tokens[index - 2].text == "|"
        if is_between_bars or token.text in ("=>", "->"):
            yield name.text, tokens[: index - 1], True
