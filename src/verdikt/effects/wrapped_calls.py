"""Find the commands that a program runs by a function of its own: `git("clean", "-fd")` after `def git(*args): …`."""

from __future__ import annotations

import re
from itertools import islice

from verdikt.effects.code import quote_shell_word
from verdikt.effects.runner_settings import SHELL, CodeSection, count_line
from verdikt.model.lazy_regex import compile_lazily

_MAX_FUNCTIONS = 12
_MAX_CALLS = 40
_BODY_LENGTH = 240
_VARIADIC_FUNCTION = compile_lazily(
    r"\b(?:def|function|func|fun|fn|const|let|var)\s+(?P<name>\w+)\s*(?:=\s*)?(?:async\s*)?\(\s*"
    r"(?:(?:string\s+)?(?:\.\.\.|\*|vararg\s+)\s*\$?(?P<words>\w+)|(?P<last>\w+)\s+\.\.\.\s*\w+)"
)
"""A function that takes any number of words."""
_STRINGS = r"\s*(?:(?:\"[^\"\n]*\"|'[^'\n]*')\s*(?:,\s*)?)+"
_STRING = compile_lazily(r"\"([^\"\n]*)\"|'([^'\n]*)'")


def read_wrapped_calls(text: str) -> list[CodeSection]:
    """Return a command line for each call of a function that starts a program with the words that it is given."""
    sections: list[CodeSection] = []
    for function in islice(_VARIADIC_FUNCTION.finditer(text), _MAX_FUNCTIONS):
        parameter = function["words"] or function["last"]
        # The program stands just before the words: `exec("git", ...args)`, `run(["git", *args])`.
        program = re.search(
            rf"\b\w*(?:exec|spawn|run|system|Command|popen|call|passthru|output)\w*\s*\([^\n]{{0,20}}?"
            rf"[\"']([\w./-]+) ?[\"']\s*[,.)]{{1,2}}\s*\+?\s*(?:\w+\(\s*[\"'] [\"']\s*,\s*)?"
            rf"[\[(]?(?:\.\.\.|\*)?\$?{parameter}\b",
            text[function.end() : function.end() + _BODY_LENGTH],
        )
        calls = re.finditer(rf"(?<![\w.]){function['name']}\(({_STRINGS})\)", text) if program is not None else ()
        for call in islice(calls, _MAX_CALLS):
            words = [program[1] if program else "", *(first or second for first, second in _STRING.findall(call[1]))]
            sections.append(CodeSection(SHELL, " ".join(map(quote_shell_word, words)), count_line(text, call.start())))
    return sections
