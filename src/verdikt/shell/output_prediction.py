"""Prediction of a command's output from constant words and constant input."""

import re
from collections.abc import Callable
from posixpath import basename, dirname, normpath
from typing import TYPE_CHECKING

from verdikt.knowledge import find_role, find_role_words
from verdikt.shell import text_filters
from verdikt.shell.command import UNKNOWN
from verdikt.shell.escape_sequences import decode_escapes
from verdikt.shell.printf_format import predict_printf
from verdikt.shell.redirection import find_written_file, read_contents, read_filtered_file, read_input, resolve_path

if TYPE_CHECKING:
    from verdikt.shell.command_call import CommandCall

_MAX_OUTPUT = 1 << 20
# Their output is empty, so `$(cd x && pwd)` is still constant.
_SILENT_PROGRAMS = find_role("silent")
_CONCATENATORS = find_role("concatenator")
_DIRECTORY_PRINTERS = find_role("directory_printer")
_WAYS = find_role_words("word_filter")
_PATH_RESOLVERS = _WAYS["real-path"] | _WAYS["link"]


def predict_output(call: "CommandCall") -> str | None:
    """Return the output of a command, perhaps with unknown parts; None when nothing is known of it."""
    if call.name not in PREDICTABLE_PROGRAMS:
        return None
    output = _predict_known_program(call)
    return (
        output if output is None or (len(output) < _MAX_OUTPUT and call.walker.spend_text_budget(len(output))) else None
    )


def _predict_known_program(call: "CommandCall") -> str | None:
    name, words, stdin = call.name, call.words, call.frame.stdin
    if name in _SILENT_PROGRAMS:
        return ""
    # `echo *` prints the names of files, which are not part of the text.
    if any(word.glob for word in words[1:]):
        return None
    if name in _CONCATENATORS:
        return _predict_cat(call)
    if name in _DIRECTORY_PRINTERS:
        place = call.scope.cwd if call.scope.cwd is not None else call.walker.start_directory
        return place + "\n" if place else None
    args = [word.text for word in words[1:]]
    if name in _PATH_RESOLVERS:
        args = [arg if arg[:1] in ("-", "/") or UNKNOWN in arg else _resolve_known(call, arg) for arg in args]
    if (plain := _PREDICTORS.get(name)) is not None:
        return plain(args)
    if (filtered := text_filters.FILTERS.get(name)) is None:
        return None
    if stdin is None:
        # `base64 -d file`, of a file that the text itself wrote.
        files = (find_written_file(call.walker, word, call.scope) for word in words[1:])
        stdin = next((text for known, text in files if known), None)
    if stdin is None and call.walker.reads_programs:
        stdin = (
            read_filtered_file(call.walker, words[1:], call.scope)
            if call.frame.lacks_input()
            else read_input(call.walker, call.frame, call.scope)
        )
    return None if stdin is None or UNKNOWN in stdin else filtered(args, stdin)


def _resolve_known(call: "CommandCall", path: str) -> str:
    return resolve_path(call.walker, path, call.scope) if call.walker.start_directory else path


def _predict_cat(call: "CommandCall") -> str | None:
    words = call.words[1:]
    files = [word for word in words if not word.text.startswith("-") or word.text == "-"]
    if any(word.text in ("-n", "-A", "-b", "-E", "-v", "-e", "-T") for word in words):
        return None
    if not files:
        file = call.frame.stdin_file if call.walker.reads_programs and call.frame.stdin is None else None
        return call.frame.stdin if file is None else read_contents(call.walker, file, call.scope)
    pieces: list[str] = []
    for file in files:
        # Only what the text itself wrote: reading other files is left to the programs that would run them.
        known = file.is_known and file.text != "-"
        if known and call.walker.reads_programs:
            contents = read_contents(call.walker, file, call.scope)
        else:
            contents = find_written_file(call.walker, file, call.scope)[1] if known else call.frame.stdin
        if contents is None:
            return None
        pieces.append(contents)
    return "".join(pieces)


def _predict_echo(args: list[str]) -> str | None:
    newline, escapes = "\n", False
    while args and re.fullmatch(r"-[neE]+", args[0]):
        newline = "" if "n" in args[0] else newline
        escapes = "e" in args[0] or (escapes and "E" not in args[0])
        args = args[1:]
    text = " ".join(args)
    if escapes:
        head, stop, _ = text.partition("\\c")
        return decode_escapes(head) + ("" if stop else newline)
    return text + newline


def _predict_basename(args: list[str]) -> str | None:
    args = [arg for arg in args if arg != "--"]
    if not args or args[0].startswith("-") or UNKNOWN in basename(args[0]):
        return UNKNOWN + "\n" if args else None
    name = basename(args[0].rstrip("/") or "/")
    return (name.removesuffix(args[1]) if len(args) > 1 and name != args[1] else name) + "\n"


def _predict_dirname(args: list[str]) -> str | None:
    args = [arg for arg in args if arg != "--"]
    if not args or args[0].startswith("-") or UNKNOWN in args[0]:
        return None
    return (dirname(args[0].rstrip("/")) or ("/" if args[0].startswith("/") else ".")) + "\n"


def _predict_realpath(args: list[str]) -> str | None:
    """Return the same path: links are not visible here, and most paths contain none."""
    names = [arg for arg in args if not arg.startswith("-")]
    if len(names) != 1 or not names[0].startswith("/") or UNKNOWN in names[0]:
        return None
    return normpath(names[0]) + "\n"


def _predict_readlink(args: list[str]) -> str | None:
    return _predict_realpath(args) if any(arg in ("-f", "-e", "-m", "--canonicalize") for arg in args) else None


def _predict_which(args: list[str]) -> str | None:
    names = [arg for arg in args if not arg.startswith("-")]
    if len(names) != 1 or UNKNOWN in names[0]:
        return None
    return (names[0] if "/" in names[0] else f"/usr/bin/{names[0]}") + "\n"


def _predict_mktemp(args: list[str]) -> str | None:
    """Return a name in the temporary directory, of which the beginning is known."""
    directory, template = "/tmp", ""
    index = 0
    while index < len(args):
        arg = args[index]
        if arg in ("-p", "--suffix"):
            directory = args[index + 1] if arg == "-p" and index + 1 < len(args) else directory
            index += 1
        elif arg.startswith("--tmpdir="):
            directory = arg.split("=", 1)[1]
        elif not arg.startswith("-"):
            template = arg
        index += 1
    if not template:
        return f"{directory}/tmp.{UNKNOWN}\n"
    stem = re.sub(r"X{3,}", UNKNOWN, template)
    is_in_directory = "-t" in args or "-p" in args or any(arg.startswith("--tmpdir") for arg in args)
    return (f"{directory}/{stem}" if is_in_directory else stem) + "\n"


def _predict_seq(args: list[str]) -> str | None:
    if not 1 <= len(args) <= 3 or not all(re.fullmatch(r"-?\d{1,6}", arg) for arg in args):
        return None
    numbers = [int(arg) for arg in args]
    first, step, last = (
        (1, 1, numbers[0])
        if len(args) == 1
        else (numbers[0], 1, numbers[1])
        if len(args) == 2
        else (numbers[0], numbers[1], numbers[2])
    )
    if not step:
        return None
    series = range(first, last + (1 if step > 0 else -1), step)
    return None if len(series) > 1000 else "".join(f"{number}\n" for number in series)


_PREDICTORS: dict[str, Callable[[list[str]], str | None]] = {
    name: function
    for way, function in {
        "words": _predict_echo,
        "format": predict_printf,
        "base-name": _predict_basename,
        "parent": _predict_dirname,
        "place": _predict_which,
        "real-path": _predict_realpath,
        "link": _predict_readlink,
        "temporary-name": _predict_mktemp,
        "sequence": _predict_seq,
    }.items()
    for name in _WAYS[way]
}
"""Program → the function that computes its output from its arguments alone."""

_INPUT_READERS = text_filters.FILTERS.keys() | _CONCATENATORS

PREDICTABLE_PROGRAMS = _SILENT_PROGRAMS | _DIRECTORY_PRINTERS | _PREDICTORS.keys() | _INPUT_READERS
"""Programs whose output may be predicted."""

INPUT_FREE_PROGRAMS = PREDICTABLE_PROGRAMS - _INPUT_READERS
"""Programs whose output may be predicted even when their input is not known."""
