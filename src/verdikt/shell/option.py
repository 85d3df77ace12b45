"""A command's options, told from its other words by which of them take a value."""

from functools import lru_cache

from verdikt.shell.command import Word


@lru_cache(maxsize=512)
def valued(spec: str) -> frozenset[str]:
    """The options of a row that take a value, with their dashes; one that only takes it glued ends in `~`."""
    return frozenset(name if name.startswith("-") else f"-{name}" for name in spec.split())


Given = list[tuple[str, Word | None]]
"""Options with their values, as given."""


def options(words: list[Word], start: int, spec: str) -> tuple[Given, int]:
    """The options from `start` on, and the index of the first word that is none."""
    takes = valued(spec)
    found: Given = []
    at, count = start, len(words)
    while at < count:
        text = words[at].text
        if text == "--":
            return found, at + 1
        if len(text) < 2 or text[0] != "-":
            break
        at += 1
        for name, value in (
            _long(text, words[at - 1]) if text.startswith("--") else _letters(text, words[at - 1], takes)
        ):
            if value is None and name in takes and at < count:
                found.append((name, words[at]))
                at += 1
            else:
                found.append((name, value))
    return found, at


def permuted(words: list[Word], start: int, spec: str) -> tuple[Given, list[Word]]:
    """Options wherever they stand, and the other words."""
    found: Given = []
    others: list[Word] = []
    at = start
    while at < len(words):
        more, at = options(words, at, spec)
        found += more
        others += words[at : at + 1]
        at += 1
    return found, others


def _long(text: str, word: Word) -> Given:
    name, equals, value = text.partition("=")
    return [(name, Word(value, word.raw) if equals else None)]


def _letters(text: str, word: Word, takes: frozenset[str]) -> Given:
    """`-xvf file` letter by letter: what follows a letter that takes a value is that value."""
    if text in takes:
        return [(text, None)]
    found: Given = []
    for place in range(1, len(text)):
        name = f"-{text[place]}"
        rest = text[place + 1 :]
        if name in takes or f"{name}~" in takes:
            found.append((name, Word(rest, word.raw) if rest else None))
            break
        found.append((name, None))
    return found
