"""The commands and files inside sed scripts: `e cmd`, `s/…/…/e`, `w file`."""

from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN
from verdikt.shell.invocation import Invocation
from verdikt.shell.option import options
from verdikt.shell.redirect import contents

_OPTIONS = "e f l --expression --file --line-length"
_ADDRESS = regex(r"[ \t;]*(?:(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/[IM]*|[+~]\d+)[ \t]*,?[ \t]*)*!*[ \t]*")
_TAKEN = regex(r"(?<!\\)&|\\\d")
_LONGEST = 50_000


def sed(call: Invocation) -> str | None:
    """Goes inside a sed script."""
    given, at = options(call.words, 1, _OPTIONS)
    scripts = [value.text for option, value in given if option in ("-e", "--expression") and value is not None]
    for option, value in given:
        if option in ("-f", "--file") and value is not None:
            scripts.append(contents(call.walker, value, call.scope) or "")
    if not scripts and at < len(call.words):
        scripts.append(call.words[at].text)
    _look(call, "\n".join(scripts)[:_LONGEST])
    return None


def _look(call: Invocation, script: str) -> None:
    at, size = 0, len(script)
    while at < size:
        address = _ADDRESS.match(script, at)
        at = address.end() if address else at
        if at >= size:
            return
        letter = script[at]
        at += 1
        if letter in "sy":
            at = _substitution(call, script, at, letter)
        elif letter in "ewW":
            stop = _line(script, at)
            argument = script[at:stop].strip()
            if letter == "e":
                call.shell(argument or UNKNOWN, stdin=False, repeated=True)
            elif argument:
                call.writes(argument)
            at = stop
        elif letter in "aic#rR:btT":
            at = _line(script, at)


def _line(script: str, at: int) -> int:
    """The end of the line, past escaped newlines."""
    stop = at
    while True:
        stop = script.find("\n", stop)
        if stop < 0:
            return len(script)
        if script[stop - 1] != "\\":
            return stop
        stop += 1


def _put_in(text: str, mark: str) -> str:
    """The replacement of a substitution, with what it takes from the line as something unknown."""
    return _TAKEN.sub(UNKNOWN, text.replace(f"\\{mark}", mark)) or UNKNOWN


def _substitution(call: Invocation, script: str, at: int, letter: str) -> int:
    """Reads `s/a/b/flags`, and goes inside its flags."""
    if at >= len(script):
        return at
    mark, ends = script[at], [at]
    at += 1
    while at < len(script) and len(ends) < 3:
        if script[at] == "\\":
            at += 1
        elif script[at] == mark:
            ends.append(at)
        at += 1
    while letter == "s" and at < len(script) and script[at] not in ";\n}":
        flag = script[at]
        at += 1
        if flag == "e":
            # What is put in is run with what stood around it, which nobody sees here.
            call.shell(_put_in(script[ends[1] + 1 : ends[2]], mark) if len(ends) > 2 else UNKNOWN, stdin=False)
            call.code("sh", UNKNOWN)
        elif flag == "w":
            stop = _line(script, at)
            call.writes(script[at:stop].strip())
            return stop
    return at
