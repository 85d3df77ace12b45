"""Parser of command-line options, given which of them take a value."""

from functools import lru_cache

from verdikt.shell.command import Word


@lru_cache(maxsize=512)
def parse_valued_options(spec: str) -> frozenset[str]:
    """Return the options of a row that take a value, with their dashes; `~` marks one that takes it glued only."""
    return frozenset(name if name.startswith("-") else f"-{name}" for name in spec.split())


ParsedOptions = list[tuple[str, Word | None]]
"""Options in order, with their values."""


def parse_options(words: list[Word], start: int, spec: str) -> tuple[ParsedOptions, int]:
    """Return the options from `start` on, and the index of the first word after them."""
    takes = parse_valued_options(spec)
    options: ParsedOptions = []
    at, count = start, len(words)
    while at < count:
        text = words[at].text
        if text == "--":
            return options, at + 1
        # A lone `-` is an operand: standard input.
        if len(text) < 2 or text[0] != "-":
            break
        at += 1
        for name, value in (
            _parse_long_option(text, words[at - 1])
            if text.startswith("--")
            else _parse_short_options(text, words[at - 1], takes)
        ):
            if value is None and name in takes and at < count:
                options.append((name, words[at]))
                at += 1
            else:
                options.append((name, value))
    return options, at


def parse_permuted_options(words: list[Word], start: int, spec: str) -> tuple[ParsedOptions, list[Word]]:
    """Return the options wherever they are, and the other words."""
    options: ParsedOptions = []
    others: list[Word] = []
    at = start
    while at < len(words):
        more_options, at = parse_options(words, at, spec)
        options += more_options
        others += words[at : at + 1]
        at += 1
    return options, others


def _parse_long_option(text: str, word: Word) -> ParsedOptions:
    name, equals, value = text.partition("=")
    return [(name, Word(value, word.raw) if equals else None)]


def _parse_short_options(text: str, word: Word, valued_options: frozenset[str]) -> ParsedOptions:
    """Parse `-xvf file` letter by letter: the text after a letter that takes a value is that value."""
    if text in valued_options:
        return [(text, None)]
    options: ParsedOptions = []
    for index in range(1, len(text)):
        name = f"-{text[index]}"
        glued_value = text[index + 1 :]
        if name in valued_options or f"{name}~" in valued_options:
            options.append((name, Word(glued_value, word.raw) if glued_value else None))
            break
        options.append((name, None))
    return options
