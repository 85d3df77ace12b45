"""Classify PowerShell and cmd text: each command by its cmdlet (a verb and a noun) or by its program."""

import re
from collections.abc import Iterator

from verdikt.effects.code.cmdlet import classify_cmdlet, is_cmdlet, resolve_alias
from verdikt.effects.code.dotnet_paths import fold_paths
from verdikt.effects.code.windows_paths import classify_deletes, classify_reads
from verdikt.effects.code.windows_shell_parser import (
    WindowsCommand,
    parse_arguments,
    parse_commands,
    split_statements,
    strip_strings,
)
from verdikt.effects.invocation import Invocation
from verdikt.effects.program_evaluator import evaluate_program
from verdikt.effects.program_record import find_program
from verdikt.knowledge import find_role
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_MAX_TEXT = 100_000
_MAX_DEPTH = 6
_SHELL_NAME = compile_lazily(r"(?i)\b(?:cmd|powershell|pwsh)\b")

_FETCH_CALL = compile_lazily(
    r"(?i)\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|curl|wget|start-bitstransfer)\b|\.download(?:string|data"
    r"|file)\b|net\.webclient"
)
_EVAL_CALL = compile_lazily(r"(?i)\b(?:iex|invoke-expression)\b|scriptblock\]::create")
_DECODE_CALL = compile_lazily(r"(?i)frombase64string|gzipstream|deflatestream|-bxor")
_SOCKET_CALL = compile_lazily(r"(?i)net\.sockets\.tcpclient|\bpowercat\b|invoke-powershelltcp")
_DOTNET_DELETE = compile_lazily(
    r"(?i)\[(?:system\.)?io\.(file|directory)\]::delete\(\s*(?:'([^']+)'|\"([^\"]+)\"|(\$[\w:.]+))"
    r"|(?:\[(?:system\.)?io\.(file|directory)info\]|\(\s*(?:get-item|gi)\s+|\(\s*new-object\s+(?:system\.)?io\.\w+info\s*\(?)\s*(?:'([^']+)'|\"([^\"]+)\"|([^\s)'\"]+))\)+\.delete\("
)
_DELETE_BUILTINS = find_role("cmd_delete")
_REMOVE_DIRECTORY_BUILTINS = find_role("cmd_remove_directory")
_PRINT_FILE_BUILTINS = find_role("cmd_print_file")
_HARMLESS_BUILTINS = find_role("cmd_harmless")
_CMD_SHELLS = find_role("cmd_shell")
_POWERSHELLS = find_role("powershell")
_DOWNLOADED_FILE = compile_lazily(
    r"""(?i)(?:-OutFile|-Destination|DownloadFile\([^,]+,)\s*["']?(?:\.[\\/])?([^\s"';)]+\.\w+)"""
)
"""The file that a download is saved as."""


def classify_windows_shell(text: str, call: Invocation, language: str) -> Iterator[Effect]:
    """Yield the effects of PowerShell or cmd text; an unknown command is `code.run`."""
    if len(text) > _MAX_TEXT:
        yield call.make_effect("code.unknown", possible=True, note="too long to be read")
    text = fold_paths(text[:_MAX_TEXT])
    if any(
        re.search(rf"(?im)(?:^|[;&|{{])\s*[.&]?\s*[\"']?(?:\.[\\/])?{re.escape(name)}(?=[\s;\"']|$)", text)
        for name in _DOWNLOADED_FILE.findall(text)
    ):
        yield call.make_effect("code.remote", note="runs what it downloaded")
    for statement in split_statements(text):
        bare = strip_strings(statement)
        # Searched with strings included: type names are often given as strings.
        if _SOCKET_CALL.search(statement):
            yield call.make_effect("net.shell", note="a shell over a bare connection")
        if _EVAL_CALL.search(bare):
            yield from _classify_eval(statement, call)
            continue
        yield from _classify_methods(statement, call)
        previous: WindowsCommand | None = None
        for command in parse_commands(statement):
            if language == "powershell":
                whole = _add_piped_operands(command, previous)
                yield from classify_cmdlet(whole, call) if is_cmdlet(whole.name) else _classify_program(whole, call)
                previous = command
            else:
                yield from _classify_builtin(command, call)


def _classify_methods(statement: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of .NET and WMI methods, which need no cmdlet."""
    for match in _DOTNET_DELETE.finditer(statement):
        kind, path = (
            (match[1] or match[5] or "").lower(),
            next(filter(None, (*match.groups()[1:4], *match.groups()[5:]))),
        )
        yield from classify_deletes([path], "fs.delete" if kind == "file" else "fs.delete.tree", call)
    if "shadowcopy" in statement.lower() and re.search(r"(?i)\.\s*delete\s*\(", statement):
        yield call.make_effect("backup.delete", (Target("shadow copies", "other"),))


def _add_piped_operands(command: WindowsCommand, previous: WindowsCommand | None) -> WindowsCommand:
    """Return a cmdlet without operands with those that come through the pipe."""
    name = resolve_alias(command.name)
    if previous is None or name not in ("remove-item", "stop-process") or parse_arguments(command).operands:
        return command
    if previous.name in ("get-childitem", "gci", "ls", "dir", "get-item", "gi") and name == "remove-item":
        listing = parse_arguments(previous)
        paths = listing.paths or ["."]
        deep = [("-recurse", False)] if any(f in ("-recurse", "-r", "-rec", "-s") for f in listing.flags) else []
        if not listing.paths and listing.get_value("-filter", "-include"):
            paths = [listing.get_value("-filter", "-include")]
        return WindowsCommand(command.name, (*command.words, *deep, *((path, True) for path in paths)))
    # `Get-Process | Stop-Process` ends every process.
    if previous.name in ("get-process", "gps", "ps") and name == "stop-process" and not previous.words:
        return WindowsCommand(command.name, (*command.words, ("*", True)))
    return (
        WindowsCommand(command.name, (*command.words, ("$_", False)))
        if name == "remove-item" and "-path" not in parse_arguments(command).flags
        else command
    )


def _classify_eval(statement: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effect of `iex`, by where its text comes from."""
    if _FETCH_CALL.search(statement):
        yield call.make_effect("code.remote", note="runs what it downloads")
    elif _DECODE_CALL.search(statement):
        yield call.make_effect("code.hidden", note="runs what a decoder makes of its input")
    else:
        yield call.make_effect("code.unknown", possible=True, note="evaluates text that is made at run time")


def _classify_builtin(command: WindowsCommand, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of a command of cmd: a builtin or a program."""
    texts = [text for text, _ in command.words]
    switches = {text.lower() for text in texts if text.startswith("/")}
    names = [text for text in texts if not text.startswith("/")]
    if command.name in _DELETE_BUILTINS:
        yield from classify_deletes(names, "fs.delete.tree" if "/s" in switches else "fs.delete", call)
    elif command.name in _REMOVE_DIRECTORY_BUILTINS:
        yield from classify_deletes(
            names, "fs.delete.tree" if "/s" in switches else "fs.delete", call, empty_only="/s" not in switches
        )
    elif command.name in _POWERSHELLS:
        yield from _classify_inner_shell(command, call)
    elif command.name in _PRINT_FILE_BUILTINS:
        yield from classify_reads(names, call)
    elif command.name in _HARMLESS_BUILTINS:
        yield call.make_effect("sys.read")
    else:
        yield from _classify_program(command, call)


def _classify_inner_shell(command: WindowsCommand, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of a shell that the other one runs: `cmd /c …`, `powershell -c …`."""
    texts = [text for text, _ in command.words]
    starts = [i for i, text in enumerate(texts) if text.lower() in ("/c", "/k", "-c", "-command", "/command")]
    words = texts[starts[0] + 1 :] if starts else [text for text in texts if not text.startswith(("-", "/"))]
    line = " ".join(f'"{text}"' if " " in text and len(words) > 1 else text for text in words)
    # Each level is classified by a call of its own; deeper nesting only serves to exhaust that.
    if len(_SHELL_NAME.findall(line)) > _MAX_DEPTH:
        yield call.make_effect("code.unknown", possible=True, note="shells within shells")
    elif line:
        yield from classify_windows_shell(line, call, "cmd" if command.name in _CMD_SHELLS else "powershell")


def _classify_program(command: WindowsCommand, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of a program, by the same table as in any other shell."""
    if command.name in _CMD_SHELLS | _POWERSHELLS and command.words:
        yield from _classify_inner_shell(command, call)
        return
    program = find_program(command.name)
    if program is None:
        yield call.make_effect("code.run", (Target(command.name, "other"),))
        return
    argv = (Word(command.name), *(Word(text) for text, _ in command.words))
    yield from evaluate_program(program, call.make_inner_call(argv, command.name))
