"""Build files and documents that run commands: CMake, Ninja, Gradle, Ant, TeX. A command names them or reads them."""

import re

from verdikt.knowledge import find_role
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.redirection import STDIN_NAMES, read_contents

_MAX_MATCHES = 50
_TYPING_TOOLS = find_role("typing_tool")
_NINJA_COMMAND = compile_lazily(r"(?m)^\s+command\s*=\s*(.+)$")
_CMAKE_PROCESS = compile_lazily(
    r"\bexecute_process\s*\(\s*COMMAND\s+([^()]*?)"
    r"(?:\s+(?:WORKING_DIRECTORY|RESULT_VARIABLE|OUTPUT_\w+|ERROR_\w+|COMMAND)\b[^()]*)?\)",
    re.DOTALL,
)
_CMAKE_DEFINITION = compile_lazily(r"(?<=\s)-D\s?(\w+)(?::\w+)?=([\w./~@+-]+)(?=\s|$)")
_CMAKE_REMOVE = compile_lazily(r"\bfile\s*\(\s*(REMOVE|REMOVE_RECURSE)\s+([^()]*)\)", re.IGNORECASE)
_ANT_DELETE = compile_lazily(r"""<delete\b[^>]*\b(?:dir|file)\s*=\s*["']([^"']+)["']""")
_ANT_EXEC = compile_lazily(
    r"""<exec\b[^>]*\bexecutable\s*=\s*["']([^"']+)["'][^>]*>(?:\s*<arg\s+(?:line|value)\s*=\s*["']([^"']*)["'])?"""
)
_TEX_SHELL_ESCAPE = compile_lazily(r"\\write18\s*\{([^{}]*)\}|\\ShellEscape\s*\{([^{}]*)\}")
_TEX_LUA = compile_lazily(r"\\directlua\s*\{(.*)\}", re.DOTALL)


def _read_option_file(call: CommandCall, *options: str) -> str | None:
    """Return the text of the file that one of these options names; None when it is not known."""
    words = call.words
    for index in range(1, len(words) - 1):
        if words[index].text in options:
            file = words[index + 1]
            return call.frame.stdin if file.text in STDIN_NAMES else read_contents(call.walker, file, call.scope)
    return None


def trace_cmake(call: CommandCall) -> str | None:
    """Walk the commands of a `cmake -P script`, and its deletions as `rm`."""
    # CMake writes an environment variable as `$ENV{HOME}`, a shell as `${HOME}`.
    text = (_read_option_file(call, "-P") or "").replace("$ENV{", "${")
    for name, value in _CMAKE_DEFINITION.findall(" ".join(word.text for word in call.words)) if text else ():
        text = text.replace("${" + name + "}", value)
    for command in _CMAKE_PROCESS.findall(text)[:_MAX_MATCHES]:
        call.walk_shell_text(command, label=call.name, inherit_stdin=False)
    for action, files in _CMAKE_REMOVE.findall(text)[:_MAX_MATCHES]:
        flags = "-rf" if action.upper().endswith("RECURSE") else "-f"
        call.walk_shell_text(f"rm {flags} {files}", label=call.name, inherit_stdin=False)
    return None


def trace_ninja(call: CommandCall) -> str | None:
    """Walk the commands of the rules in a `ninja -f file`."""
    text = _read_option_file(call, "-f")
    for command in _NINJA_COMMAND.findall(text or "")[:_MAX_MATCHES]:
        command_text = command.replace("$in", UNKNOWN).replace("$out", UNKNOWN)
        call.walk_shell_text(command_text, label=call.name, inherit_stdin=False)
    return None


def trace_gradle(call: CommandCall) -> str | None:
    """Record the Groovy code of a `gradle -I script`, which runs before anything else."""
    text = _read_option_file(call, "-I", "--init-script", "-b", "--build-file")
    if text:
        call.record_code("groovy", text)
    return None


def trace_ant(call: CommandCall) -> str | None:
    """Walk what the targets of an `ant -f file` run, and their deletions as `rm`."""
    text = _read_option_file(call, "-f", "-file", "-buildfile")
    for path in _ANT_DELETE.findall(text or "")[:_MAX_MATCHES]:
        call.walk_command([Word("rm"), Word("-rf"), Word(path)], label=call.name)
    for program, arguments in _ANT_EXEC.findall(text or "")[:_MAX_MATCHES]:
        call.walk_shell_text(f"{program} {arguments}", label=call.name, inherit_stdin=False)
    return None


def trace_tex(call: CommandCall) -> str | None:
    """Walk the commands that a TeX document runs, given as a word or as a file."""
    sources = [word.text for word in call.words[1:] if "\\" in word.text]
    files = [read_contents(call.walker, word, call.scope) for word in call.words[1:] if word.text.endswith(".tex")]
    for source in [*sources, *(text for text in files if text)]:
        for write18, shell_escape in _TEX_SHELL_ESCAPE.findall(source)[:_MAX_MATCHES]:
            call.walk_shell_text(write18 or shell_escape, label=call.name, inherit_stdin=False)
        for program in _TEX_LUA.findall(source)[:_MAX_MATCHES]:
            call.record_code("lua", program)
    return None


def trace_typed_keys(call: CommandCall) -> str | None:
    """Walk what is typed into the window that has the keyboard, as in `xdotool type 'ls'`."""
    words = [word.text for word in call.words[1:] if not word.text.startswith("-")]
    if call.name in _TYPING_TOOLS:
        # Their other commands press single keys and move the pointer.
        words = words[1:] if words[:1] == ["type"] else []
    if words:
        call.walk_shell_text(" ".join(words), label=call.name, inherit_stdin=False)
    return None
