"""Sample texts for patterns and globs, generated from the pattern itself."""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from verdikt.errors import PolicyError
from verdikt.graph.glob import tokenize_glob
from verdikt.graph.re2_pattern import has_match

MAX_VARIANTS = 24
"""Number of ways of choosing among alternatives, characters and repetitions that are tried."""

_POSIX_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "word": r"\w",
    "punct": "!-/",
    "xdigit": "0-9a-f",
    "blank": " ",
}
# Ordinary characters first, then those that command lines have around words.
_SAMPLE_LETTERS = "ax0 -_/.A1\n:,=\"'"


def sample_pattern(pattern: str) -> Iterator[str]:
    """Yield different texts in which a re2 pattern occurs; none when no such text is found."""
    try:
        tree = _parse_pattern(pattern)
    except (re.error, RecursionError, OverflowError):
        tree = None
    seen: set[str] = set()
    for variant in range(MAX_VARIANTS):
        text = pattern if tree is None else _SampleWriter(variant).write_sequence(tree)
        if text not in seen:
            seen.add(text)
            try:
                if has_match(pattern, text):
                    yield text
            except PolicyError:
                return


def find_required_texts(pattern: str) -> list[str]:
    """Return literal texts that every match contains; an empty list when none is certain."""
    try:
        tree = _parse_pattern(pattern)
    except (re.error, RecursionError, OverflowError):
        return []
    # The texts are compared exactly, and a match may be in any case.
    if tree.state.flags & re.IGNORECASE:
        return []
    runs: list[str] = [""]
    for name, argument in ((str(op), value) for op, value in tree):
        if name == "LITERAL":
            runs[-1] += chr(argument)
        else:
            runs.append("")
    return [run for run in runs if run]


def is_unanchored(pattern: str) -> bool:
    """Return whether a pattern that occurs in a text also occurs in every longer text around it."""
    try:
        tree = _parse_pattern(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return "AT" not in _list_operations(tree)


def sample_glob(glob: str) -> str:
    """Return a text that a glob fits."""
    return "/".join("x" if part == "**" else _sample_name(part) for part in glob.split("/"))


def _sample_name(pattern: str) -> str:
    return "".join(token[1] if len(token) == 2 else "x" for token in tokenize_glob(pattern))


def _parse_pattern(pattern: str) -> Any:
    """Return the standard library's syntax tree of a pattern; re2's own syntax is translated."""
    pattern = re.sub(r"\\Q(.*?)(?:\\E|$)", lambda match: re.escape(match[1]), pattern, flags=re.DOTALL)
    pattern = re.sub(r"\[:(\^?)(\w+):\]", lambda match: _POSIX_CLASSES.get(match[2], "a"), pattern)
    pattern = re.sub(r"\\[pP](?:\{\^?\w+\}|\w)", r"\\w", pattern).replace(r"\z", r"\Z").replace(r"\C", ".")
    # The parser of `re` has no public name; its tree is the only way to enumerate what a pattern matches.
    return import_module("re._parser").parse(pattern)


def _list_operations(tree: Any) -> set[str]:
    """Return the names of all operations in a tree."""
    operations: set[str] = set()
    pending: list[Any] = [tree]
    while pending:
        item = pending.pop()
        if type(item).__name__ == "SubPattern":
            pending += list(item)
        elif isinstance(item, list | tuple):
            pending += item
        elif type(item).__name__ == "_NamedIntConstant":
            operations.add(str(item))
    return operations


class _SampleWriter:
    """Writes one text; `variant` makes every choice."""

    def __init__(self, variant: int) -> None:
        self.variant = variant

    def write_sequence(self, tree: Any) -> str:
        return "".join(self.write_operation(str(operation), argument) for operation, argument in tree)

    def write_operation(self, operation: str, argument: Any) -> str:
        match operation:
            case "LITERAL":
                return chr(argument)
            case "NOT_LITERAL":
                return next(char for char in self._rotate_letters() if ord(char) != argument)
            case "ANY":
                return self._rotate_letters()[0].replace("\n", "a")
            case "IN":
                return self._pick_member(argument)
            case "BRANCH":
                branches = argument[1]
                return self.write_sequence(branches[self.variant % len(branches)])
            case "SUBPATTERN":
                return self.write_sequence(argument[-1])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                minimum, maximum, inner = argument
                count = max(int(minimum), min(int(maximum), int(minimum) + (self.variant + 1) % 3, 1_000))
                return "".join(self.write_sequence(inner) for _ in range(count))
            case "ATOMIC_GROUP":
                return self.write_sequence(argument)
        return ""

    def _rotate_letters(self) -> str:
        shift = self.variant % len(_SAMPLE_LETTERS)
        return _SAMPLE_LETTERS[shift:] + _SAMPLE_LETTERS[:shift]

    def _pick_member(self, members: list[Any]) -> str:
        source = _format_class(members)
        test = re.compile(source)
        # The last two are for classes that exclude all of ASCII.
        candidates = self._rotate_letters() + "".join(chr(code) for code in range(33, 127)) + "é☃"
        for operation, argument in members:
            if str(operation) == "LITERAL":
                candidates += chr(argument)
            elif str(operation) == "RANGE":
                candidates += chr(argument[0]) + chr(argument[1])
        return next((char for char in candidates if test.fullmatch(char)), "")


def _format_class(members: list[Any]) -> str:
    """Return a character class as a pattern of the standard library."""
    categories = {
        "DIGIT": r"\d",
        "NOT_DIGIT": r"\D",
        "SPACE": r"\s",
        "NOT_SPACE": r"\S",
        "WORD": r"\w",
        "NOT_WORD": r"\W",
    }
    out = "["
    for operation, argument in members:
        match str(operation):
            case "NEGATE":
                out += "^"
            case "LITERAL":
                out += re.escape(chr(argument))
            case "RANGE":
                out += f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
            case "CATEGORY":
                out += categories[str(argument).removeprefix("CATEGORY_")]
    return out + "]"
