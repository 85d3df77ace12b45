"""Commands and files inside sed scripts: `e cmd`, `s/…/…/e`, `w file`."""

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.option_parser import parse_options
from verdikt.shell.redirection import read_contents

_ADDRESS = compile_lazily(r"[ \t;]*(?:(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/[IM]*|[+~]\d+)[ \t]*,?[ \t]*)*!*[ \t]*")
_MATCH_REFERENCE = compile_lazily(r"(?<!\\)&|\\\d")
# Scripts that the fast path may pass over: they contain no `e`, no `w` and no flag but `g`.
_PRINT_SCRIPT = compile_lazily(r"\d+(?:,(?:\d+|\$))?p(?:;\d+(?:,\d+)?p)*")
_EDIT_SCRIPT = compile_lazily(r"\d+(?:,\d+)?d|s/[^/\\\n]*/[^/\\\n]*/g?")
_MAX_SCRIPT_LENGTH = 50_000


def is_inert_sed_command(words: list[Word]) -> bool:
    """Whether a sed command has a script that only prints, deletes or replaces lines."""
    if len(words) < 3 or words[-1].text[:1] == "-":
        return False
    option, script = words[1].text, words[2].text
    return (option == "-n" and _PRINT_SCRIPT.fullmatch(script) is not None) or (
        option == "-i" and _EDIT_SCRIPT.fullmatch(script) is not None
    )


def trace_sed(call: CommandCall) -> str | None:
    """Walk the commands inside a sed script."""
    options, at = parse_options(call.words, 1, call.valued_options)
    scripts = [value.text for option, value in options if option in ("-e", "--expression") and value is not None]
    for option, value in options:
        if option in ("-f", "--file") and value is not None:
            scripts.append(read_contents(call.walker, value, call.scope) or "")
    if not scripts and at < len(call.words):
        scripts.append(call.words[at].text)
    _trace_script(call, "\n".join(scripts)[:_MAX_SCRIPT_LENGTH])
    return None


def _trace_script(call: CommandCall, script: str) -> None:
    at, size = 0, len(script)
    while at < size:
        address = _ADDRESS.match(script, at)
        at = address.end() if address else at
        if at >= size:
            return
        letter = script[at]
        at += 1
        if letter in "sy":
            at = _trace_substitution(call, script, at, letter)
        elif letter in "ewW":
            stop = _find_line_end(script, at)
            argument = script[at:stop].strip()
            if letter == "e":
                call.walk_shell_text(argument or UNKNOWN, inherit_stdin=False, repeated=True)
            elif argument:
                call.record_write(argument)
            at = stop
        elif letter in "aic#rR:btT":
            at = _find_line_end(script, at)


def _find_line_end(script: str, at: int) -> int:
    """Return the end of the line, past escaped newlines."""
    stop = at
    while True:
        stop = script.find("\n", stop)
        if stop < 0:
            return len(script)
        if script[stop - 1] != "\\":
            return stop
        stop += 1


def _fill_replacement(text: str, mark: str) -> str:
    """Return the replacement of a substitution, with UNKNOWN for what it takes from the line."""
    return _MATCH_REFERENCE.sub(UNKNOWN, text.replace(f"\\{mark}", mark)) or UNKNOWN


def _trace_substitution(call: CommandCall, script: str, at: int, letter: str) -> int:
    """Read `s/a/b/flags`, and walk what its flags run; return the index after it."""
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
            # sed runs the whole line after the substitution, and the rest of that line is not known here.
            call.walk_shell_text(
                _fill_replacement(script[ends[1] + 1 : ends[2]], mark) if len(ends) > 2 else UNKNOWN,
                inherit_stdin=False,
            )
            call.record_code("sh", UNKNOWN)
        elif flag == "w":
            stop = _find_line_end(script, at)
            call.record_write(script[at:stop].strip())
            return stop
    return at
