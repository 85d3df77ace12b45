"""Find command lines in files whose format no reader knows: after a sign or a word that runs something, or as a value.

`:! curl …` of an interpreter's start file, `m4_esyscmd([curl …])`, `worker: sh -c '…'`, `init-hook='import …'`, and in
any language the words of a shell that is given text: `"sh", "-c", "…"`. Only lines with a sign of a command that could
do harm are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from verdikt.effects.any_language.word_families import DESCRIPTIONS
from verdikt.knowledge import join_role
from verdikt.model.lazy_regex import compile_lazily

_MAX_LINES = 40
"""Lines of one file that are looked at; a file with more holds a list of commands, for a test or a guard."""
_MAX_LINE_LENGTH = 2_000
_MAX_BLOCK = 200
_PROGRAMS = join_role("harmful_line")
_SHELLS = join_role("shell")
_PREFIXES = join_role("command_prefix")
_MAY_COMMAND = compile_lazily(
    rf"(?<![\w.-])(?:{_PROGRAMS})\s|\|\s*(?:(?:{_PREFIXES})\s+)?(?:{_SHELLS})\b|/dev/tcp/|\bimport\s+\w+|\brequire\s*\("
)
# `"sh", "-c", "…"`; in settings the shell may stand on another line.
_SHELL_WORDS = compile_lazily(r"""["']-l?c["'](?:\s*,\s*|\s+)("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""")
_STRING = compile_lazily(r"\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)'|`([^`\n]*)`")
_BRACKETS = compile_lazily(r"\[([^\[\]\n]*)\]|\(([^()\n]*)\)")
_EXPANSION = compile_lazily(r"(?:<!@?|\$|%x)\(((?:[^()\n]|\([^()\n]*\))+)\)")
"""Text that a format replaces by the output of a command: `<!(…)`, `$(…)`, `%x(…)`."""
_NAMED_FILE = compile_lazily(r"(?:^|[\s=:,\"'\[(])((?:~|\.{1,2}|[\w.-]+)?/[\w./-]*[\w-])(?=[\s,\"'\])]|$)")
_MAX_NAMED_FILES = 12
_RUNNING_WORD = compile_lazily(
    r"(?i)run|exec|sys|spawn|popen|process|shell|command|cmd|hook|script|start|before|after|init|\bsh\b|\bon_|entry|proxy|\bargs\b"
)
_SIGN = compile_lazily(r"(?:^|\s):?!\s*([a-z].+)$|^\s*(?:shell|sh|system|exec|run|command)\s+([^\s\"'(=:].+)$")
_VALUE = compile_lazily(r"^[\s-]*[\"']?([\w.-]+)[\"']?\s*(?:=|:(?=\s))\s*(.+?)\s*,?\s*$")
_ITEM = compile_lazily(r"^\s*-\s+(.+?)\s*$")
_COMMAND_START = compile_lazily(rf"^(?:\w+=\S*\s+)*(?:(?:{_PREFIXES})\s+)*(?:(?:{_SHELLS})\s+-\w*c|{_PROGRAMS})\s")
_CHECKING = compile_lazily(r"(?i)\b(?:assert\w*|expect\w*|should\w*|test\w*|check(?!out)\w*|describe|it)\b")


def may_hold_commands(text: str, *, is_known_language: bool) -> bool:
    """Return whether a text may hold command lines; most programs that a reader has looked at do not."""
    return (_SHELL_WORDS if is_known_language else _MAY_COMMAND).search(text) is not None


def find_command_lines(text: str, *, is_known_language: bool) -> Iterator[tuple[str, str, int]]:
    """Yield language, text and line number of what lines of a file may run, where it could do harm.

    `is_known_language` says that a reader has looked at the text: only a shell that is given its text counts then.
    """
    lines = text.split("\n")
    numbers = [index for index, line in enumerate(lines) if _MAY_COMMAND.search(line)]
    for index in numbers if len(numbers) <= _MAX_LINES else ():
        line = lines[index]
        if len(line) > _MAX_LINE_LENGTH or _CHECKING.search(line):
            continue
        for match in _SHELL_WORDS.finditer(line):
            yield "sh", _unescape(match[1][1:-1]), index + 1
        if not is_known_language:
            yield from ((_find_language(part), part, index + 1) for part in _list_parts(lines, index))


def _list_parts(lines: Sequence[str], index: int) -> Iterator[str]:
    """Yield the parts of a line that may be a command or a program."""
    line = lines[index]
    if sign := _SIGN.search(line):
        yield sign[1] or sign[2]
        return
    yield from (match[1] for match in _EXPANSION.finditer(line))
    value = _VALUE.match(line)
    if value is None and ((item := _ITEM.match(line)) or _COMMAND_START.match(line.lstrip())):
        if _RUNNING_WORD.search(_find_parent(lines, index)):
            yield _strip_quotes(item[1] if item else line.strip())
        return
    if value is not None and value[1].lower() in DESCRIPTIONS:
        return
    if value is not None and value[2][:1] not in ("[", "{"):
        inner = _strip_quotes(value[2])
        if _COMMAND_START.match(inner) or _RUNNING_WORD.search(line, 0, value.start(2)):
            yield inner
            return
    for match in (*_STRING.finditer(line), *_BRACKETS.finditer(line)):
        part = next(filter(None, match.groups()), "")
        if _MAY_COMMAND.search(part) and _RUNNING_WORD.search(line, 0, match.start()):
            yield _unescape(part.strip("[]"))


def find_named_files(text: str) -> Iterator[tuple[str, int]]:
    """Yield the paths that settings name, with their lines: `script-shell=/tmp/wrap`, `--status_command=tools/x.sh`."""
    for match in islice(_NAMED_FILE.finditer(text), _MAX_NAMED_FILES):
        yield match[1], text.count("\n", 0, match.start(1)) + 1


def _find_parent(lines: Sequence[str], index: int) -> str:
    """Return the line that opens the block in which a line stands: `args:` for the items of the list."""
    indent = len(lines[index]) - len(lines[index].lstrip())
    is_item = lines[index].lstrip().startswith("-")
    for line in reversed(lines[max(0, index - _MAX_BLOCK) : index]):
        bare = line.lstrip()
        # The items of a list may stand as far to the left as its key.
        is_outer = len(line) - len(bare) < indent or (is_item and not bare.startswith("-"))
        if bare and is_outer:
            return line
    return ""


def _strip_quotes(text: str) -> str:
    is_quoted = text[:1] in ("'", '"') and text[-1:] == text[0] and len(text) > 1
    return _unescape(text[1:-1]) if is_quoted else text


def _unescape(text: str) -> str:
    return re.sub(r"\\([\"'\\])", r"\1", text) if "\\" in text else text


def _find_language(part: str) -> str:
    if re.search(r"(?:^|[;\n]\s*)(?:import|from)\s+\w+", part):
        return "python"
    return "node" if "require(" in part else "sh"
