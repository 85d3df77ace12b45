"""Shells and other interpreters: the program is an argument, a file or the input."""

import base64
import binascii

from verdikt.knowledge import find_role, find_suffix_program
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.evaluated_text import COPROCESS_DESCRIPTORS
from verdikt.shell.exec_options import trace_shell_calls
from verdikt.shell.fish_syntax import translate_fish
from verdikt.shell.option_parser import parse_options, parse_valued_options
from verdikt.shell.redirection import (
    STDIN_NAMES,
    find_written_file,
    read_contents,
    read_copied_contents,
    resolve_path,
)
from verdikt.shell.runner import Interpreter, find_runner
from verdikt.shell.scope import Scope

_SHEBANG = compile_lazily(r"#![ \t]*(?:\S*/)?env(?:[ \t]+-\S+)*[ \t]+(\S+)|#![ \t]*\S*?([^/\s]+)(?:\s|$)")
_FISH_SHELLS = find_role("fish_shell")
# Longer files are generated; reading one must not take a second.
_MAX_SCRIPT_LENGTH = 200_000


# Shells


def _is_shell(name: str) -> bool:
    runner = find_runner(name)
    return runner is not None and runner.trace == "shell"


def trace_shell(call: CommandCall) -> str | None:
    """Walk the program of a shell: a text, a file or its input."""
    for name, file in call.assignments:
        # A shell that is not interactive runs the file that these name before anything else.
        if name in ("BASH_ENV", "ENV"):
            _trace_file(call, file, [])
    at, has_text, from_stdin = _parse_shell_options(call)
    if _is_syntax_check(call.words[1:at]):
        return None
    remaining_words = call.words[at:]
    if has_text:
        if not remaining_words:
            return None
        scope = Scope(call.scope)
        if len(remaining_words) > 1:
            scope.set_variable("0", remaining_words[1].text)
        return call.walk_shell_text(
            _to_posix(remaining_words[0].text, call.name),
            arguments=[word.text for word in remaining_words[2:]],
            scope=scope,
        )
    if remaining_words and not from_stdin:
        return _trace_file(call, remaining_words[0], [word.text for word in remaining_words[1:]])
    return _trace_stdin_program(call, [word.text for word in remaining_words])


def _to_posix(text: str, shell: str) -> str:
    """Return the text of a shell in the syntax that the parser reads."""
    return translate_fish(text) if shell in _FISH_SHELLS else text


def _is_syntax_check(options: list[Word]) -> bool:
    """Whether a shell only checks the grammar of its program and runs nothing of it: `bash -n`."""
    texts = [word.text for word in options]
    off = any(text == "noexec" or (text[:1] == "-" and text[1:2] != "-" and "n" in text) for text in texts)
    return off and not any(text[:1] == "+" or (text[:1] == "-" and "i" in text) for text in texts)


def _parse_shell_options(call: CommandCall) -> tuple[int, bool, bool]:
    """Return the index after a shell's options, whether a text follows, and whether it reads its input."""
    words, at = call.words, 1
    has_text = from_stdin = False
    while at < len(words):
        option = words[at].text
        at += 1
        if option in ("-", "--"):
            break
        if option[:1] not in ("-", "+") or len(option) < 2:
            return at - 1, has_text, from_stdin
        letters = "" if option.startswith("--") else option[1:]
        has_text = has_text or (option[0] == "-" and "c" in letters) or option == "--command"
        from_stdin = from_stdin or (option[0] == "-" and "s" in letters)
        if option in ("--rcfile", "--init-file") and at < len(words):
            _trace_file(call, words[at], [])
        if option in ("--rcfile", "--init-file", "-O", "+O") or letters.endswith("o"):
            at += 1
    return at, has_text, from_stdin


def _trace_stdin_program(call: CommandCall, arguments: list[str]) -> str | None:
    text = _read_program_input(call)
    if text is not None:
        return call.walk_shell_text(_to_posix(text, call.name), arguments=arguments, inherit_stdin=False)
    file = call.frame.stdin_file
    if file is not None and find_written_file(call.walker, file, call.scope)[0]:
        call.record_code("sh", UNKNOWN)
    elif file is not None and file.is_known:
        # A named pipe: what a later command writes there, this shell runs.
        call.walker.shell_inputs[resolve_path(call.walker, file.text, call.scope)] = call
    elif file is None and call.frame.pipe_from is None:
        # It reads a terminal, or is a coprocess.
        call.walker.shell_inputs[COPROCESS_DESCRIPTORS[1]] = call
    return None


def _read_program_input(call: CommandCall) -> str | None:
    """Return what an interpreter reads as its program: constant input, or the contents of a known file."""
    frame = call.frame
    if frame.stdin is not None:
        return frame.stdin
    if frame.stdin_file is not None:
        text = read_contents(call.walker, frame.stdin_file, call.scope)
        return text if text is not None else _read_copied_file(call, frame.stdin_file)
    return read_copied_contents(call.walker, frame.pipe_from, call.scope)


def _read_copied_file(call: CommandCall, file: Word) -> str | None:
    """Return what a pipe, or a file that the text itself wrote before, has from another file."""
    # A descriptor stands for the pipe that was opened on it: `exec 5< <(cat x); . /dev/fd/5`.
    file = call.walker.descriptors.get(file.text.rpartition("/")[2], file) if "/fd/" in file.text else file
    source = call.walker.copied_sources.get(resolve_path(call.walker, file.text, call.scope))
    return read_copied_contents(call.walker, source, call.scope)


def _trace_file(call: CommandCall, file: Word, arguments: list[str], *, in_same_shell: bool = False) -> str | None:
    """Walk a script file, when its contents are known; with `in_same_shell`, in the shell of the caller."""
    text = _read_program_input(call) if file.text in STDIN_NAMES else read_contents(call.walker, file, call.scope)
    if text is None:
        text = _read_copied_file(call, file)
    if text is None:
        if find_written_file(call.walker, file, call.scope)[0]:
            # The text itself wrote the file before, with contents that are not known.
            call.record_code("sh", UNKNOWN)
        return None
    # A script that runs itself.
    if f"{call.name} {file.text}" in call.frame.via:
        return None
    shebang = _SHEBANG.match(text)
    program = (shebang[1] or shebang[2]) if shebang else ""
    if program and not _is_shell(program) and not _is_shell(call.name) and not in_same_shell:
        _record_other_language(call, program, text)
        return None
    scope = call.scope if in_same_shell else Scope(call.scope)
    before = scope.arguments
    if arguments or not in_same_shell:
        scope.arguments = arguments
    if not in_same_shell:
        scope.set_variable("0", file.text)
    # Scripts find their own directory by it: `source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"`.
    outer_source = scope.variables.get("BASH_SOURCE")
    scope.set_variable("BASH_SOURCE", [file.text])
    text = _to_posix(text[:_MAX_SCRIPT_LENGTH], program or call.name)
    label = f"{call.name} {file.text}"
    output = call.walk_shell_text(text, label=label, scope=scope, inherit_stdin=not in_same_shell)
    if in_same_shell:
        scope.arguments = before
        scope.restore_variable("BASH_SOURCE", outer_source)
    return output


def _record_other_language(call: CommandCall, program: str, text: str) -> None:
    runner = find_runner(program)
    if runner is not None and runner.interpreter is not None:
        call.record_code(runner.interpreter.language, text)


def trace_source(call: CommandCall) -> str | None:
    """Walk the file of `source file`, in the same shell."""
    return _trace_file(call, call.words[1], [word.text for word in call.words[2:]], in_same_shell=True)


def trace_script_file(call: CommandCall) -> str | None:
    """Walk a file that is run by its path; its first line or its suffix tells the language."""
    file = call.words[0]
    text = read_contents(call.walker, file, call.scope)
    arguments = [word.text for word in call.words[1:]]
    suffix = "." + file.text.rsplit(".", 1)[-1] if "." in file.text.rsplit("/", 1)[-1] else ""
    if text is None:
        if find_written_file(call.walker, file, call.scope)[0]:
            call.record_code("sh", UNKNOWN)
        return None
    shebang = _SHEBANG.match(text)
    program = (shebang[1] or shebang[2]) if shebang else find_suffix_program(suffix) or "sh"
    if _is_shell(program):
        return _trace_file(call, file, arguments)
    _record_other_language(call, program, text)
    return None


# Other languages


def _get_option_sets(name: str) -> tuple[Interpreter, str, frozenset[str], frozenset[str]]:
    """Return a row, its options that take a value, those whose value is a program, those that name a module."""
    runner = find_runner(name)
    if runner is None or runner.interpreter is None:
        raise LookupError(f"expected the record of an interpreter, found `{name}`")
    row = runner.interpreter
    return row, runner.valued, parse_valued_options(row.options), parse_valued_options(row.module)


def trace_interpreter(call: CommandCall) -> str | None:
    """Record the program of an interpreter: code among its options, a file or its input."""
    row, spec, code_options, module_options = _get_option_sets(call.name)
    words = call.words
    if row.subcommand:
        _record_subcommand_code(call, row)
        return None
    options, at = _parse_interpreter_options(words, spec, module_options)
    programs = [value.text for option, value in options if option in code_options and value is not None]
    if programs:
        _record_program(call, row.language, "\n".join(programs))
        return None
    module = next((value.text for option, value in options if option in module_options and value is not None), "")
    # `python -m timeit 'code'` runs its words as a program.
    if module == "timeit":
        call.record_code(row.language, "\n".join(word.text for word in words[at:] if word.text[:1] != "-"))
    if module:
        return None
    remaining_words = words[at:]
    if remaining_words and remaining_words[0].text not in STDIN_NAMES:
        _record_program_file(call, row.language, remaining_words[0])
        return None
    if row.stdin and not any(option in ("-v", "-V", "--version", "-h", "--help") for option, _ in options):
        text = _read_program_input(call)
        if text is not None:
            _record_program(call, row.language, text)
    return None


def has_no_inline_code(words: list[Word]) -> bool:
    """Whether an interpreter runs an installed module, or only prints its version."""
    if len(words) < 2:
        return False
    row, _, _, module_options = _get_option_sets(words[0].text)
    first = words[1].text
    if row.subcommand:
        return first != row.subcommand
    # `python -m timeit 'code'` runs its words.
    if first in module_options:
        return len(words) < 3 or words[2].text != "timeit"
    return len(words) == 2 and first == "--version"


def _record_subcommand_code(call: CommandCall, row: Interpreter) -> None:
    """Record the code of an interpreter that takes it after a subcommand: `deno eval CODE`."""
    words = call.words
    if len(words) > 1 and words[1].text == row.subcommand:
        code = next((word.text for word in words[2:] if not word.text.startswith("-")), UNKNOWN)
        call.record_code(row.language, code)


def _record_program_file(call: CommandCall, language: str, file: Word) -> None:
    """Record the code in a file that is readable; what this script itself wrote there may be unknown."""
    text = read_contents(call.walker, file, call.scope)
    if text is not None:
        call.record_code(language, text)
    elif find_written_file(call.walker, file, call.scope)[0]:
        call.record_code(language, UNKNOWN)


def _record_program(call: CommandCall, language: str, text: str) -> None:
    call.record_code(language, text)
    trace_shell_calls(call, language, text)


def _parse_interpreter_options(
    words: list[Word], spec: str, last: frozenset[str]
) -> tuple[list[tuple[str, Word | None]], int]:
    """Return the options up to one after which the words are no longer the interpreter's."""
    options, at = parse_options(words, 1, spec)
    for index, (option, _) in enumerate(options):
        if option in last:
            return options[: index + 1], at
    return options, at


# Windows


def trace_powershell(call: CommandCall) -> str | None:
    """Record the program of PowerShell, which accepts every prefix of its options."""
    words = call.words
    valued_options = {option.lower() for option in parse_valued_options(call.valued_options)}
    valued = False
    for index in range(1, len(words)):
        if valued:
            valued = False
            continue
        option = words[index].text.lower().lstrip("-/")
        valued = words[index].text.startswith(("-", "/")) and f"-{option}" in valued_options
        if not words[index].text.startswith(("-", "/")):
            call.record_code("powershell", " ".join(word.text for word in words[index:]))
            return None
        remaining_words = " ".join(word.text for word in words[index + 1 :])
        # PowerShell accepts every prefix of an option: `-c`, `-comm`, `-enc`.
        if option and "command".startswith(option):
            text = _read_program_input(call) if remaining_words == "-" else remaining_words
            call.record_code("powershell", text if text is not None else UNKNOWN)
            return None
        if option in ("e", "ec") or (len(option) > 1 and "encodedcommand".startswith(option)):
            call.record_code(
                "powershell", _decode_utf16_base64(words[index + 1].text) if index + 1 < len(words) else UNKNOWN
            )
            return None
        if option in ("f", "file") and index + 1 < len(words):
            if remaining_words == "-":
                break
            script = read_contents(call.walker, words[index + 1], call.scope)
            if script is not None:
                call.record_code("powershell", script)
            return None
    text = _read_program_input(call)
    if text is not None:
        call.record_code("powershell", text)
    return None


def _decode_utf16_base64(text: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode("utf-16-le", "replace")
    except (binascii.Error, ValueError):
        return UNKNOWN


def trace_cmd(call: CommandCall) -> str | None:
    """Record the program after `cmd /c`."""
    for index, word in enumerate(call.words[1:], 1):
        if word.text.lower()[:2] in ("/c", "/k", "/r"):
            remaining_words = [word.text[2:], *(following.text for following in call.words[index + 1 :])]
            call.record_code("cmd", " ".join(part for part in remaining_words if part))
            return None
    return None
