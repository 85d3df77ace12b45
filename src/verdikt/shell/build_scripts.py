"""Build files and documents that a command names or is given on its input, and that run commands: CMake, Ninja, Gradle, Ant, TeX."""

import re

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.redirection import STDIN_NAMES, read_contents

_MAX_MATCHES = 50
_NINJA_COMMAND = compile_lazily(r"(?m)^\s+command\s*=\s*(.+)$")
_CMAKE_PROCESS = compile_lazily(r"\bexecute_process\s*\(\s*COMMAND\s+([^()]*?)(?:\s+(?:WORKING_DIRECTORY|RESULT_VARIABLE|OUTPUT_\w+|ERROR_\w+|COMMAND)\b[^()]*)?\)", re.DOTALL)  # fmt: skip
_CMAKE_REMOVE = compile_lazily(r"\bfile\s*\(\s*(REMOVE|REMOVE_RECURSE)\s+([^()]*)\)", re.IGNORECASE)
_ANT_DELETE = compile_lazily(r"""<delete\b[^>]*\b(?:dir|file)\s*=\s*["']([^"']+)["']""")
_ANT_EXEC = compile_lazily(
    r"""<exec\b[^>]*\bexecutable\s*=\s*["']([^"']+)["'][^>]*>(?:\s*<arg\s+(?:line|value)\s*=\s*["']([^"']*)["'])?"""
)
_TEX_SHELL_ESCAPE = compile_lazily(r"\\write18\s*\{([^{}]*)\}|\\ShellEscape\s*\{([^{}]*)\}")
_TEX_LUA = compile_lazily(r"\\directlua\s*\{(.*)\}", re.DOTALL)


def _read_option_file(call: CommandCall, *options: str) -> str | None:
    """The text of the file that one of these options names, where we can see it."""
    words = call.words
    for place in range(1, len(words) - 1):
        if words[place].text in options:
            file = words[place + 1]
            return call.frame.stdin if file.text in STDIN_NAMES else read_contents(call.walker, file, call.scope)
    return None


def trace_cmake(call: CommandCall) -> str | None:
    """`cmake -P script`."""
    text = _read_option_file(call, "-P")
    for found in _CMAKE_PROCESS.findall(text or "")[:_MAX_MATCHES]:
        call.walk_shell_text(found.replace("${", "${"), label="cmake", inherit_stdin=False)
    for kind, files in _CMAKE_REMOVE.findall(text or "")[:_MAX_MATCHES]:
        flags = "-rf" if kind.upper().endswith("RECURSE") else "-f"
        call.walk_shell_text(f"rm {flags} {files}", label="cmake", inherit_stdin=False)
    return None


def trace_ninja(call: CommandCall) -> str | None:
    """`ninja -f file`: the commands of its rules."""
    text = _read_option_file(call, "-f")
    for found in _NINJA_COMMAND.findall(text or "")[:_MAX_MATCHES]:
        call.walk_shell_text(found.replace("$in", UNKNOWN).replace("$out", UNKNOWN), label="ninja", inherit_stdin=False)
    return None


def trace_gradle(call: CommandCall) -> str | None:
    """`gradle -I script`: Groovy that runs before anything else."""
    text = _read_option_file(call, "-I", "--init-script", "-b", "--build-file")
    if text:
        call.record_code("groovy", text)
    return None


def trace_ant(call: CommandCall) -> str | None:
    """`ant -f file`: what its targets delete and run."""
    text = _read_option_file(call, "-f", "-file", "-buildfile")
    for place in _ANT_DELETE.findall(text or "")[:_MAX_MATCHES]:
        call.walk_command([Word("rm"), Word("-rf"), Word(place)], label="ant")
    for program, line in _ANT_EXEC.findall(text or "")[:_MAX_MATCHES]:
        call.walk_shell_text(f"{program} {line}", label="ant", inherit_stdin=False)
    return None


def trace_tex(call: CommandCall) -> str | None:
    """TeX that is told to run a command, by a word or in a file."""
    given = [word.text for word in call.words[1:] if "\\" in word.text]
    files = [read_contents(call.walker, word, call.scope) for word in call.words[1:] if word.text.endswith(".tex")]
    for text in [*given, *(text for text in files if text)]:
        for first, second in _TEX_SHELL_ESCAPE.findall(text)[:_MAX_MATCHES]:
            call.walk_shell_text(first or second, label=call.name, inherit_stdin=False)
        for program in _TEX_LUA.findall(text)[:_MAX_MATCHES]:
            call.record_code("lua", program)
    return None


def trace_typed_keys(call: CommandCall) -> str | None:
    """What is typed into whatever window has the keyboard: `xdotool type 'ls'`."""
    words = [word.text for word in call.words[1:] if not word.text.startswith("-")]
    if call.name != "xdotool" or words[:1] == ["type"]:
        call.walk_shell_text(" ".join(words[call.name == "xdotool" :]), label=call.name, inherit_stdin=False)
    return None


HANDLERS = {
    "cmake": trace_cmake,
    "ninja": trace_ninja,
    **dict.fromkeys(("gradle", "gradlew"), trace_gradle),
    "ant": trace_ant,
    **dict.fromkeys(("tex", "pdftex", "latex", "pdflatex", "xelatex", "lualatex", "luatex", "xetex"), trace_tex),
    **dict.fromkeys(("ydotool", "wtype"), trace_typed_keys),
}
