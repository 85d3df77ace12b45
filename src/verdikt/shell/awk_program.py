"""Find the commands and files in awk programs: `system(…)`, `print | "cmd"`, `"cmd" | getline`, `getline < "file"`."""

import re
from collections.abc import Sequence

from verdikt.knowledge import join_role, list_role
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN
from verdikt.shell.command_call import CommandCall
from verdikt.shell.escape_sequences import decode_escapes
from verdikt.shell.option_parser import parse_options
from verdikt.shell.redirection import read_contents, resolve_path

_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
# These look at a program in which what stands between quotes is blank.
_SYSTEM_CALL = compile_lazily(r"\bsystem[ \t]*\((?P<expression>[^;{}\n]*)")
_PRINT_PIPE = compile_lazily(r'\|&?[ \t]*(?P<expression>"[ ]*"(?:[ \t]*(?:"[ ]*"|[\w$]+))*)')
_CONNECTOR = list_role("raw_connection")[0]
_GETLINE_PIPE = compile_lazily(r'(?P<expression>"[ ]*"(?:[ \t]*(?:"[ ]*"|[\w$]+(?![\w$])))*)[ \t]*\|&?[ \t]*getline')
# A file is a string, a name, or a concatenation between parentheses.
_FILE = r'(?P<expression>"[ ]*"|\([^()]*\)|[A-Za-z_]\w*(?:\["[ ]*"\])?)'
_GETLINE_FILE = compile_lazily(rf"\bgetline\b[ \t]*(?:[A-Za-z_]\w*[ \t]*)?<[ \t]*{_FILE}")
_PRINT_REDIRECT = compile_lazily(rf"\bprintf?\b(?P<text>[^;{{}}\n>]*)>>?[ \t]*{_FILE}")
# gawk: what is printed into `/inet/tcp/0/host/port`, or into a shell.
_PRINT_TARGET = compile_lazily(r'\bprintf?\b(?P<text>[^;{}\n|]{0,2000})\|&?[ \t]*(?P<expression>"[ ]*"|[A-Za-z_]\w*)')
_GETLINE_NAME = compile_lazily(r'(?P<expression>"[ ]*")[ \t]*\|&?[ \t]*getline[ \t]+(?P<name>[A-Za-z_]\w*)')
_GETLINE_CONNECTION = compile_lazily(
    r'(?P<expression>"[ ]*"|[A-Za-z_]\w*)[ \t]*\|&[ \t]*getline[ \t]+(?P<name>[A-Za-z_]\w*)'
)
_CONNECTION = compile_lazily(r"/inet[46]?/(?:tcp|udp)/\w*/(?P<host>[^/\s]+)/(?P<port>\w+)$")
_SHELL_PIPE = compile_lazily(rf"(?:\S*/)?(?:{join_role('shell')})(?:[ \t]+-s)?$")
_HOME_VARIABLE = compile_lazily(r'\bENVIRON\[[ \t]*"HOME"[ \t]*\]')
_ASSIGNMENT = compile_lazily(
    r"\b(?P<name>[A-Za-z_]\w*)[ \t]*(?P<op>[-+*/%^]?=(?![=~]))[ \t]*(?P<expression>[^;{}\n]*)(?=[;}\n]|$)"
)
_STRING_OR_COMMENT = compile_lazily(rf"{_STRING}|#[^\n]*")
# Strings side by side are one string; single ones and comments are matched to keep the quotes in step.
_STRING_RUN = compile_lazily(rf"{_STRING}((?:[ \t]+{_STRING})*)|#[^\n]*")
_STRING_GAP = compile_lazily(r'(?<!\\)"[ \t]+"')
_EXPRESSION_PART = compile_lazily(
    rf"(?P<string>{_STRING})|(?P<name>[A-Za-z_]\w*)|(?P<other>\$?[\w.]+)|(?P<close>\))|.", re.DOTALL
)
_CONVERSION = compile_lazily(r"%[-+ #0\d.]*[a-zA-Z%]")
_FEEDERS = frozenset(list_role("argument_feeder"))
_MAX_PROGRAM_LENGTH = 100_000


def trace_awk(call: CommandCall) -> str | None:
    """Walk the commands inside an awk program."""
    options, at = parse_options(call.words, 1, call.valued_options)
    programs: list[str] = []
    variables: dict[str, str] = {}
    for option, value in options:
        if value is None:
            continue
        if option in ("-f", "--file"):
            programs.append(read_contents(call.walker, value, call.scope) or "")
        elif option in ("-e", "--source"):
            programs.append(value.text)
        elif option in ("-v", "--assign"):
            name, _, text = value.text.partition("=")
            variables[name] = text
    if not any(option in ("-f", "--file", "-e", "--source") for option, _ in options) and at < len(call.words):
        programs.append(call.words[at].text)
    for program in programs:
        if not program.strip(UNKNOWN) and program and any(name in _FEEDERS for name in call.frame.via):
            call.record_code("sh", program)  # `xargs -I{} awk {}`: the program comes from elsewhere
        _trace_program(call, program[:_MAX_PROGRAM_LENGTH], variables)
    return None


def _trace_program(call: CommandCall, program: str, variables: dict[str, str]) -> None:
    # Most awk programs only print fields: these need no further look.
    if '"' not in program and "system" not in program:
        return
    if "ENVIRON" in program:
        program = _HOME_VARIABLE.sub('"~"', program)
        program = _STRING_RUN.sub(lambda match: _STRING_GAP.sub("", match[0]) if match[1] else match[0], program)
    blank = _STRING_OR_COMMENT.sub(
        lambda match: f'"{" " * (len(match[0]) - 2)}"' if match[0][0] == '"' else " " * len(match[0]), program
    )
    for match in _ASSIGNMENT.finditer(blank):
        value = _evaluate_concatenation(program[slice(*match.span("expression"))], variables)
        variables.setdefault(match["name"], value if match["op"] == "=" else UNKNOWN)
    for pattern in (_SYSTEM_CALL, _PRINT_PIPE, _GETLINE_PIPE):
        for match in pattern.finditer(blank):
            text = _evaluate_concatenation(program[slice(*match.span("expression"))], variables)
            if _CONNECTION.match(text) is None:
                call.walk_shell_text(text, inherit_stdin=False, repeated=True)
    _trace_connections(call, program, blank, variables)
    for match in _GETLINE_FILE.finditer(blank):
        call.record_read(_evaluate_concatenation(program[slice(*match.span("expression"))], variables))
    for match in _PRINT_REDIRECT.finditer(blank):
        path = _evaluate_concatenation(program[slice(*match.span("expression"))], variables)
        # `print (a > b)` compares.
        if path.strip(UNKNOWN):
            call.record_write(path)
            text = _evaluate_concatenation(program[slice(*match.span("text"))], variables)
            call.scope.record_file(
                resolve_path(call.walker, path, call.scope), f"{text}\n" if text and UNKNOWN not in text else None
            )


def _trace_connections(call: CommandCall, program: str, blank: str, variables: dict[str, str]) -> None:
    """Walk what is printed into a connection or a shell, and what a command prints that is then run."""
    for match in _PRINT_TARGET.finditer(blank):
        target = _evaluate_concatenation(program[slice(*match.span("expression"))], variables)
        if connection := _CONNECTION.match(target):
            # To the dataflow a connection of gawk is what netcat makes of the same two words.
            call.walk_shell_text(
                f"{_CONNECTOR} {connection['host']} {connection['port']}", inherit_stdin=False, repeated=True
            )
        elif _SHELL_PIPE.match(target):
            text = _evaluate_concatenation(program[slice(*match.span("text"))], variables)
            call.walk_shell_text(text, inherit_stdin=False, repeated=True)
    for match in _GETLINE_CONNECTION.finditer(blank):
        source = _evaluate_concatenation(program[slice(*match.span("expression"))], variables)
        connection, name = _CONNECTION.match(source), match["name"]
        # What the other machine says is run as a command.
        if connection and re.search(rf"\b{name}[ \t]*\|&?[ \t]*getline|\bsystem[ \t]*\([ \t]*{name}\b", blank):
            shell = f"{_CONNECTOR} -e /bin/sh {connection['host']} {connection['port']}"
            call.walk_shell_text(shell, inherit_stdin=False, repeated=True)
    for match in _GETLINE_NAME.finditer(blank):
        if re.search(rf"\bsystem[ \t]*\([ \t]*{match['name']}[ \t]*\)", blank):
            source = _evaluate_concatenation(program[slice(*match.span("expression"))], variables)
            call.walk_shell_text(f"{source} | sh", inherit_stdin=False, repeated=True)


def _evaluate_concatenation(expression: str, variables: dict[str, str]) -> str:
    """Return the value of a concatenation, with UNKNOWN for each part that is not constant."""
    return _evaluate_parts([*_EXPRESSION_PART.finditer(expression)], variables)


def _evaluate_parts(parts: Sequence[re.Match[str]], variables: dict[str, str]) -> str:
    pieces: list[str] = []
    index = depth = 0
    while index < len(parts):
        part = parts[index]
        if part["name"] and index + 1 < len(parts) and parts[index + 1][0] == "(":
            arguments, index = _split_arguments(parts, index + 2)
            values = [_evaluate_parts(argument, variables) for argument in arguments]
            pieces.append(_format_values(values) if part["name"] == "sprintf" else UNKNOWN)
            continue
        if part["string"]:
            pieces.append(decode_escapes(part["string"][1:-1]))
        elif part["name"]:
            pieces.append(variables.get(part["name"], UNKNOWN))
        elif part["other"]:
            pieces.append(part["other"] if part["other"].isdigit() else UNKNOWN)
        elif part["close"]:
            if not depth:
                break
            depth -= 1
        elif part[0] == "(":
            depth += 1
        index += 1
    return "".join(pieces)


def _split_arguments(parts: Sequence[re.Match[str]], index: int) -> tuple[list[list[re.Match[str]]], int]:
    """Return the arguments of a call whose first one begins at an index, and where what follows the call begins."""
    arguments: list[list[re.Match[str]]] = [[]]
    depth = 0
    while index < len(parts):
        part = parts[index]
        index += 1
        depth += (part[0] == "(") - (part[0] == ")")
        if depth < 0:
            break
        if part[0] == "," and not depth:
            arguments.append([])
        else:
            arguments[-1].append(part)
    return arguments, index


def _format_values(values: Sequence[str]) -> str:
    """Return what `sprintf` makes of a format and its values."""
    remaining = list(values[1:])

    def format_next(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        value = remaining.pop(0) if remaining else UNKNOWN
        return chr(int(value)) if match[0][-1] == "c" and value.isdigit() and int(value) < 0x110000 else value

    return _CONVERSION.sub(format_next, values[0])
