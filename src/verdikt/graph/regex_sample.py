"""Texts that a pattern or a glob fits, made from the pattern itself."""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from verdikt.errors import PolicyError
from verdikt.graph.glob import tokenize_glob
from verdikt.graph.re2_pattern import has_match

MAX_VARIANTS = 24
"""How many ways of choosing among alternatives, characters and repetitions are tried."""

_POSIX_CLASSES = {"alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s", "word": r"\w", "punct": "!-/", "xdigit": "0-9a-f", "blank": " "}  # fmt: skip
_SAMPLE_LETTERS = "ax0 -_/.A1\n:,=\"'"


def sample_pattern(pattern: str) -> Iterator[str]:
    """Different texts in which a re2 pattern is found; none when there is no such text, or none is found."""
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
    """Literal texts that are part of whatever the pattern matches; an empty list when none can be told."""
    try:
        tree = _parse_pattern(pattern)
    except (re.error, RecursionError, OverflowError):
        return []
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
    """Whether the pattern is found in a longer text wherever it is found in a part of it."""
    try:
        tree = _parse_pattern(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return "AT" not in _list_operations(tree)


def sample_glob(glob: str) -> str:
    """A text that a glob fits."""
    return "/".join("x" if part == "**" else _sample_name(part) for part in glob.split("/"))


def _sample_name(pattern: str) -> str:
    return "".join(token[1] if len(token) == 2 else "x" for token in tokenize_glob(pattern))


def _parse_pattern(pattern: str) -> Any:
    """The syntax tree of a pattern, as the standard library knows it; what only re2 writes is translated."""
    pattern = re.sub(r"\\Q(.*?)(?:\\E|$)", lambda found: re.escape(found[1]), pattern, flags=re.DOTALL)
    pattern = re.sub(r"\[:(\^?)(\w+):\]", lambda found: _POSIX_CLASSES.get(found[2], "a"), pattern)
    pattern = re.sub(r"\\[pP](?:\{\^?\w+\}|\w)", r"\\w", pattern).replace(r"\z", r"\Z").replace(r"\C", ".")
    return import_module("re._parser").parse(pattern)


def _list_operations(tree: Any) -> set[str]:
    """The names of all operations in a tree."""
    found: set[str] = set()
    pending: list[Any] = [tree]
    while pending:
        item = pending.pop()
        if type(item).__name__ == "SubPattern":
            pending += list(item)
        elif isinstance(item, list | tuple):
            pending += item
        elif type(item).__name__ == "_NamedIntConstant":
            found.add(str(item))
    return found


class _SampleWriter:
    """Writes one text; `variant` decides wherever there is a choice."""

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
                least, most, inner = argument
                wanted = max(int(least), min(int(most), int(least) + (self.variant + 1) % 3, 1_000))
                return "".join(self.write_sequence(inner) for _ in range(wanted))
            case "ATOMIC_GROUP":
                return self.write_sequence(argument)
        return ""

    def _rotate_letters(self) -> str:
        shift = self.variant % len(_SAMPLE_LETTERS)
        return _SAMPLE_LETTERS[shift:] + _SAMPLE_LETTERS[:shift]

    def _pick_member(self, members: list[Any]) -> str:
        source = _format_class(members)
        test = re.compile(source)
        candidates = self._rotate_letters() + "".join(chr(code) for code in range(33, 127)) + "é☃"
        for operation, argument in members:
            if str(operation) == "LITERAL":
                candidates += chr(argument)
            elif str(operation) == "RANGE":
                candidates += chr(argument[0]) + chr(argument[1])
        return next((char for char in candidates if test.fullmatch(char)), "")


def _format_class(members: list[Any]) -> str:
    """A character class as a pattern of the standard library."""
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
