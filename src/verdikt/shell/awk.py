"""The commands and files inside awk programs: `system(…)`, `print | "cmd"`, `"cmd" | getline`, `print > "file"`."""

import re

from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN
from verdikt.shell.invocation import Invocation
from verdikt.shell.option import options
from verdikt.shell.quoting import unescape
from verdikt.shell.redirect import contents

_OPTIONS = "F v f e i l --field-separator --assign --file --source --include --load"
_STRING = r'"(?:[^"\\\n]|\\.)*+"'
# These look at a program in which what stands between quotes is blank.
_SYSTEM = regex(r"\bsystem[ \t]*\((?P<expression>[^;{}\n]*)")
_PIPED = regex(r'\|&?[ \t]*(?P<expression>"[ ]*"(?:[ \t]*(?:"[ ]*"|[\w$]+))*)')
_GETLINE = regex(r'(?P<expression>"[ ]*"(?:[ \t]*(?:"[ ]*"|[\w$]+))*+)[ \t]*\|&?[ \t]*getline')
_WRITTEN = regex(r'\bprintf?\b[^;{}\n>]*>>?[ \t]*(?P<expression>"[ ]*")')
_SET = regex(r'\b(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?P<string>"[ ]*")[ \t]*[;}\n]')
_QUOTED = regex(rf"{_STRING}|#[^\n]*")
_PART = regex(rf"(?P<string>{_STRING})|(?P<name>[A-Za-z_]\w*)|(?P<other>\$?[\w.]+)|(?P<close>\))|.", re.DOTALL)
_LONGEST = 100_000


def awk(call: Invocation) -> str | None:
    """Goes inside an awk program."""
    given, at = options(call.words, 1, _OPTIONS)
    programs: list[str] = []
    known: dict[str, str] = {}
    for option, value in given:
        if value is None:
            continue
        if option in ("-f", "--file"):
            programs.append(contents(call.walker, value, call.scope) or "")
        elif option in ("-e", "--source"):
            programs.append(value.text)
        elif option in ("-v", "--assign"):
            name, _, text = value.text.partition("=")
            known[name] = text
    if not any(option in ("-f", "--file", "-e", "--source") for option, _ in given) and at < len(call.words):
        programs.append(call.words[at].text)
    for program in programs:
        _look(call, program[:_LONGEST], known)
    return None


def _look(call: Invocation, program: str, known: dict[str, str]) -> None:
    if '"' not in program and "system" not in program:
        return
    blank = _QUOTED.sub(
        lambda found: f'"{" " * (len(found[0]) - 2)}"' if found[0][0] == '"' else " " * len(found[0]), program
    )
    for found in _SET.finditer(blank):
        known.setdefault(found["name"], unescape(program[slice(*found.span("string"))][1:-1]))
    for pattern in (_SYSTEM, _PIPED, _GETLINE):
        for found in pattern.finditer(blank):
            call.shell(_constant(program[slice(*found.span("expression"))], known), stdin=False, repeated=True)
    for found in _WRITTEN.finditer(blank):
        call.writes(_constant(program[slice(*found.span("expression"))], known))


def _constant(expression: str, known: dict[str, str]) -> str:
    """A concatenation, with what is not constant unknown."""
    done: list[str] = []
    depth = 0
    for part in _PART.finditer(expression):
        if part["string"]:
            done.append(unescape(part["string"][1:-1]))
        elif part["name"]:
            done.append(known.get(part["name"], UNKNOWN))
        elif part["other"]:
            done.append(UNKNOWN)
        elif part["close"]:
            if not depth:
                break
            depth -= 1
        elif part[0] == "(":
            depth += 1
    return "".join(done)
