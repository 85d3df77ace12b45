"""Put the words that a program is started with into its text: `sys.argv[1]` of `python clean.py ../x`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    import re

    from verdikt.effects.invocation import Invocation

_ARGUMENT = compile_lazily(
    r"\b(?:sys\.argv|os\.Args|\$?argv)\[\s*(?P<one>\d)\s*\]|\b(?:ARGV|\$ARGV|Deno\.args|args)\[\s*(?P<zero>\d)\s*\]"
    r"|\bprocess\.argv(?:\[\s*(?P<two>\d)\s*\]|\.at\(\s*(?P<at>\d)\s*\))|\bargs\(\)\.nth\(\s*(?P<nth>\d)\s*\)(?:\.unwrap\(\))?"
    r"|\b(?P<first>ARGV\.(?:first|shift))\b|(?<![\w.])arg\[\s*(?P<lua>\d)\s*\]"
)
"""How languages read the arguments of a program."""
_CHANGERS = "pop push insert append remove reverse sort splice unshift replace clear extend".replace(" ", "|")
_OWN_WORDS = r"(?!\s*(?:sys\.argv\[1:\]|os\.Args\[1:\]|process\.argv\.slice\(2\)|Deno\.args\b))"
_CHANGES = (
    rf"\b(?:argv|args|ARGV|arg)\b\s*(?:\[[^\]\n]*\]\s*)?(?::=|=(?![=>~])|\.(?:{_CHANGERS})\b){_OWN_WORDS}",
    r"(?:\*|\.\.\.)\s*\$?arg[sv]\b",
    r"\bARGV\.shift\b[\s\S]*\bARGV\b",
)
_CHANGED = compile_lazily("|".join(_CHANGES))
"""The words are changed, or their name is used for others."""
_FIRST_NUMBERS = {"one": 1, "zero": 0, "two": 2, "at": 2, "nth": 1, "lua": 1}
"""Group of that pattern → the index that its language gives to the first argument."""


def fill_arguments(text: str, call: Invocation, path: str) -> str:
    """Return the text of a program, which lies at a path, with the words of the command that runs it."""
    if not path or _ARGUMENT.search(text) is None or _CHANGED.search(text) is not None:
        return text
    words = _list_own_words(call, path)
    if not words:
        return text

    def fill(match: re.Match[str]) -> str:
        group = match.lastgroup or ""
        index = 0 if group == "first" else int(match[group]) - _FIRST_NUMBERS[group]
        return json.dumps(words[index], ensure_ascii=False) if 0 <= index < len(words) else match[0]

    return _ARGUMENT.sub(fill, text)


def _list_own_words(call: Invocation, path: str) -> list[str]:
    """Return the words after the one that names the program."""
    argv = call.command.argv
    for index, word in enumerate(argv[1:6], 1):
        place = call.resolver.to_absolute(word.text, call.command.cwd) if word.text[:1] != "-" else ""
        if place and (path == place or path.startswith(place.rstrip("/") + "/")):
            return [other.text if other.is_known else "" for other in argv[index + 1 :]]
    return []
