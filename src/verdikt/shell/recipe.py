"""Build files and documents that a command names or is given on its input, and that run commands: CMake, Ninja, Gradle, Ant, TeX."""

import re

from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.invocation import Invocation
from verdikt.shell.redirect import contents

_INPUT = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_MOST = 50
_COMMAND = regex(r"(?m)^\s+command\s*=\s*(.+)$")
_PROCESS = regex(r"\bexecute_process\s*\(\s*COMMAND\s+([^()]*?)(?:\s+(?:WORKING_DIRECTORY|RESULT_VARIABLE|OUTPUT_\w+|ERROR_\w+|COMMAND)\b[^()]*)?\)", re.DOTALL)  # fmt: skip
_FILES = regex(r"\bfile\s*\(\s*(REMOVE|REMOVE_RECURSE)\s+([^()]*)\)", re.IGNORECASE)
_DELETED = regex(r"""<delete\b[^>]*\b(?:dir|file)\s*=\s*["']([^"']+)["']""")
_EXECUTED = regex(
    r"""<exec\b[^>]*\bexecutable\s*=\s*["']([^"']+)["'][^>]*>(?:\s*<arg\s+(?:line|value)\s*=\s*["']([^"']*)["'])?"""
)
_WRITTEN_OUT = regex(r"\\write18\s*\{([^{}]*)\}|\\ShellEscape\s*\{([^{}]*)\}")
_LUA = regex(r"\\directlua\s*\{(.*)\}", re.DOTALL)


def _named(call: Invocation, *options: str) -> str | None:
    """The text of the file that one of these options names, where we can see it."""
    words = call.words
    for place in range(1, len(words) - 1):
        if words[place].text in options:
            file = words[place + 1]
            return call.frame.stdin if file.text in _INPUT else contents(call.walker, file, call.scope)
    return None


def cmake(call: Invocation) -> str | None:
    """`cmake -P script`."""
    text = _named(call, "-P")
    for found in _PROCESS.findall(text or "")[:_MOST]:
        call.shell(found.replace("${", "${"), label="cmake", stdin=False)
    for kind, files in _FILES.findall(text or "")[:_MOST]:
        flags = "-rf" if kind.upper().endswith("RECURSE") else "-f"
        call.shell(f"rm {flags} {files}", label="cmake", stdin=False)
    return None


def ninja(call: Invocation) -> str | None:
    """`ninja -f file`: the commands of its rules."""
    text = _named(call, "-f")
    for found in _COMMAND.findall(text or "")[:_MOST]:
        call.shell(found.replace("$in", UNKNOWN).replace("$out", UNKNOWN), label="ninja", stdin=False)
    return None


def gradle(call: Invocation) -> str | None:
    """`gradle -I script`: Groovy that runs before anything else."""
    text = _named(call, "-I", "--init-script", "-b", "--build-file")
    if text:
        call.code("groovy", text)
    return None


def ant(call: Invocation) -> str | None:
    """`ant -f file`: what its targets delete and run."""
    text = _named(call, "-f", "-file", "-buildfile")
    for place in _DELETED.findall(text or "")[:_MOST]:
        call.run([Word("rm"), Word("-rf"), Word(place)], label="ant")
    for program, line in _EXECUTED.findall(text or "")[:_MOST]:
        call.shell(f"{program} {line}", label="ant", stdin=False)
    return None


def tex(call: Invocation) -> str | None:
    """TeX that is told to run a command, by a word or in a file."""
    given = [word.text for word in call.words[1:] if "\\" in word.text]
    files = [contents(call.walker, word, call.scope) for word in call.words[1:] if word.text.endswith(".tex")]
    for text in [*given, *(text for text in files if text)]:
        for first, second in _WRITTEN_OUT.findall(text)[:_MOST]:
            call.shell(first or second, label=call.name, stdin=False)
        for program in _LUA.findall(text)[:_MOST]:
            call.code("lua", program)
    return None


def typed(call: Invocation) -> str | None:
    """What is typed into whatever window has the keyboard: `xdotool type 'ls'`."""
    words = [word.text for word in call.words[1:] if not word.text.startswith("-")]
    if call.name != "xdotool" or words[:1] == ["type"]:
        call.shell(" ".join(words[call.name == "xdotool" :]), label=call.name, stdin=False)
    return None


HANDLERS = {
    "cmake": cmake,
    "ninja": ninja,
    **dict.fromkeys(("gradle", "gradlew"), gradle),
    "ant": ant,
    **dict.fromkeys(("tex", "pdftex", "latex", "pdflatex", "xelatex", "lualatex", "luatex", "xetex"), tex),
    **dict.fromkeys(("ydotool", "wtype"), typed),
}
