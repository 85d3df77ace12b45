"""Command lines in files that are no program themselves: settings of runners, includes of make, images, XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from verdikt.effects.code import quote_shell_word
from verdikt.effects.host import parse_host
from verdikt.effects.secret_issuers import LISTED_DOMAINS
from verdikt.knowledge import list_role
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.shell.command import Word

SHELL = "sh"
IMAGE = "image"
"""Commands that run while an image is built: they see the files that are copied into it, and none of the machine."""
_DOWNLOADER, _CONTAINER_ENGINE = list_role("downloader")[0], list_role("container_engine")[0]
"""Programs that do what a setting asks for, so that it is classified as their command lines are."""
_MAX_SETTING_LINES = 4_000

_CMAKE_COMMAND = compile_lazily(
    r"\bCOMMAND\s+([^()]*?)(?=\s+(?:COMMAND|WORKING_DIRECTORY|DEPENDS|COMMENT|[A-Z_]{6,})\b|\))"
)
# `just` runs what stands between backquotes while it reads the file.
_MAKE_SHELL = compile_lazily(
    r"\$\(shell\s+((?:[^()]|\([^()]*\))*)\)|^\s*\w+\s*!=\s*(.+)$|^\s*(?:export\s+)?[\w-]+\s*:=[^`]*`([^`]+)`"
)
_IMAGE_COMMAND = compile_lazily(r"(?i)^\s*(?:RUN|CMD|ENTRYPOINT)\s+(?:--\S+\s+)*")
_FLOW_ITEM = compile_lazily(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s,'\"\[\]][^,\[\]]*)")
_XML_EXECUTABLE = compile_lazily(r"<executable>\s*([^<]+?)\s*</executable>|<exec\b[^>]*\bexecutable=\"([^\"]+)\"")
_XML_ARGUMENT = compile_lazily(r"<argument>\s*([^<]*?)\s*</argument>|<arg\b[^>]*\b(?:value|line)=\"([^\"]*)\"")
_XML_COMMAND = compile_lazily(r"<Exec\b[^>]*\bCommand=\"([^\"]+)\"")
_XML_CLEANING = compile_lazily(r"(?s)<artifactId>\s*maven-clean-plugin\s*<(?:.*?</plugin>|.*)")
"""A plugin that deletes the directories of its sets of files."""
_XML_DIRECTORY = compile_lazily(r"<directory>\s*([^<]+?)\s*</directory>")
_XML_BASE = compile_lazily(r"\$\{(?:project\.)?basedir\}")
_XML_HOME = compile_lazily(r"\$\{(?:user\.home|env\.HOME)\}|\$\((?:HOME|UserProfile)\)")
_PYTHON_STRING = compile_lazily(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'")
_INLINE_WORDS = compile_lazily(r"\b(?:run_command\s*\(|(?:command|cmd|entrypoint)\s*[:=]\s*\[)([^\])\n]*)")
_INLINE_TEXT = compile_lazily(
    r"\b(?:(?:command|cmd|cmd_bash|script|shell|run)\s*[:=]|(?:local|local_resource|sh|shell|system)\s*\()\s*"
    r"(?:\"((?:[^\"\\\n]|\\.)+)\"|'((?:[^'\\\n]|\\.)+)')"
)
"""Commands inside a line of a build's own language: `run_shell(command = "…")`, `local("…")`."""
_PROCESS_RECORD = compile_lazily(
    r"""\b(?:script|command|cmd|exec|program|file)["']?\s*:\s*("[^"\n]*"|'[^'\n]*')\s*,\s*["']?args["']?\s*:\s*"""
    r"""(\[[^\[\]]*\]|"[^"\n]*"|'[^'\n]*')"""
)
_JSON_TEXT = compile_lazily(r"(?:\"([^\"\\\n]*)\"\s*:\s*)?\"((?:[^\"\\\n]|\\.)*)\"(?!\s*:)")
_COMMAND_LINE = compile_lazily(r"\bcommandLine\b\s*[(=]?\s*(?:listOf\()?([^)\n]*)")
_STRING_CALLS = {
    "groovy": compile_lazily(r"\"([^\"\\\n]+)\"\s*\.execute\(|'([^'\\\n]+)'\s*\.execute\("),
    "scala": compile_lazily(r"\"([^\"\\\n]+)\"\s*\.?\s*(?:!!?|lineStream|lazyLines)(?!=)"),
    "ruby": compile_lazily(r"(?m)^\s*sh[\s(]+(?:\"([^\"\\\n]+)\"|'([^'\\\n]+)')"),
}
_SETTING = compile_lazily(r"""^\s*(?:-\s+)*(?:["']?([\w.-]+)["']?\s*(?:=|:(?=\s|$))\s*)?(.*?)\s*,?\s*$""")
_RUNNER_SETTING = compile_lazily(
    r"(?:^(?:SHELL|CC|CXX|LD|AR|FC|CPP)|\.runner|\.linker|(?:rustc|workspace)-wrapper)\s*=\s*(.+)$"
)
# In the short form, `- ./data:/data`, and in the long one, with `source` and `target`.
_COMPOSE_MOUNT = compile_lazily(
    r"""(?:^\s*-\s*|[\[,]\s*)["']?(?P<source>(?:/|~|\.{1,2}/|\$\{?HOME\b)[^:\s"',\]]*):(?P<target>/[^:\s"',\]]*)"""
    r"""|^\s*(?:-\s+)?source:\s*["']?(?P<from>[^\s"']+)["']?\s*\n\s*target:\s*["']?(?P<to>/[^\s"']*)""",
    re.MULTILINE,
)
_COMMAND_VALUE = compile_lazily(
    r"(?i)\b\w*(?:command|cmd|script|exec|shell)[\"']?\s*:\s*"
    r"(?:\"((?:\\.|[^\"\\\n])+)\"|'((?:\\.|[^'\\\n])+)'|`([^`]+)`)"
)
_TASK_TEXT = r"[rRfF]{0,2}(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
_TASK_VALUE = compile_lazily(
    rf"\b(?:\w*(?:command|cmd|script|shell)s?|actions)[\"']?\s*[=:]\s*((?:[\[(]\s*)?(?:{_TASK_TEXT}\s*,?\s*)+)"
)
_TASK_STRING = compile_lazily(r"\"\"\"([\s\S]*?)\"\"\"|'''([\s\S]*?)'''|\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)'")
_TASK_FIELD = compile_lazily(r"(?<!\$)\{[^{}\n]*\}|%\(\w+\)s")
_NIX_SCRIPT = compile_lazily(r"\b\w*(?:[Hh]ook|Phase|[Ss]cript|exec)\w*\s*=\s*''([\s\S]*?)''(?![$'\\])")
"""Shell text in a file of Nix: hooks, phases and scripts."""
_ESCAPED_QUOTE = compile_lazily(r"\\([\"'`])")
_HOOK_SOURCE = compile_lazily(r"(?m)^\s*-?\s*repo:\s*[\"']?((?:https?|git|ssh)://[^\s\"'#]+|[\w.-]+@[^\s\"'#]+)")
_OTHER_FORGES = ("codeberg.org", "sr.ht", "gitea.com", "opendev.org", "kernel.org", "freedesktop.org")
_HOME = compile_lazily(r"\$(?:HOME\b|\{HOME\})")
_PROGRAM_KEY = compile_lazily(r"(?i)wrapper|runner|linker|script|command|cmd|shell|hook|exec|program")
_DESCRIPTIONS = frozenset(
    "name id desc description summary help title label comment version url repo repository homepage author authors "
    "license keywords classifiers dependencies requires files exclude include args image".split()
)
"""Keys whose values are words for people, or names, in whichever runner's settings."""


class CodeSection(NamedTuple):
    """Program text of one language in a file; `line` is the line at which it begins."""

    language: str
    text: str
    line: int = 1


def count_line(text: str, position: int) -> int:
    """Return the number of the line at a position."""
    return text.count("\n", 0, position) + 1


def read_recipes(text: str) -> list[CodeSection]:
    """Return the recipe lines of a makefile that others include, and what it runs while it is read."""
    lines = list(enumerate(text.split("\n")[:_MAX_SETTING_LINES], 1))
    recipes = [(number, line) for number, line in lines if line[:1] in ("\t", " ")]
    return sorted([*_read_recipe_lines(recipes), *read_assignments(text)], key=lambda section: section.line)


def read_assignments(text: str) -> list[CodeSection]:
    """Return what a makefile or a justfile runs while it is read, whichever recipe is wanted."""
    lines = enumerate(text.split("\n")[:_MAX_SETTING_LINES], 1)
    calls = [
        (number, match[1] or match[2] or match[3])
        for number, line in lines
        if not line.lstrip().startswith("#")
        for match in _MAKE_SHELL.finditer(line)
    ]
    return _read_recipe_lines(calls)


def _read_recipe_lines(lines: list[tuple[int, str]]) -> list[CodeSection]:
    return [
        CodeSection(SHELL, line.strip().lstrip("@-+").replace("$(HOME)", "~").replace("$$", "$"), number)
        for number, line in lines
    ]


def read_image(text: str) -> list[CodeSection]:
    """Return the commands of a Dockerfile; a line that goes on is one command.

    In an Earthfile a target may say that its commands run on the machine itself.
    """
    sections, begun, number, language = [], "", 0, IMAGE
    for index, line in enumerate(text.split("\n")[:_MAX_SETTING_LINES], 1):
        if line.strip() == "LOCALLY" or (line[:1].isalpha() and line.rstrip().endswith(":")):
            language = SHELL if line.strip() == "LOCALLY" else IMAGE
        if not begun and not _IMAGE_COMMAND.match(line):
            continue
        number = number if begun else index
        begun = (begun + " " if begun else "") + line.strip()
        if begun.endswith("\\"):
            begun = begun[:-1]
            continue
        command = _IMAGE_COMMAND.sub("", begun)
        sections.append(CodeSection(language, _to_command_line(command), number))
        begun = ""
    return sections


def read_xml(text: str) -> list[CodeSection]:
    """Return the programs that a build in XML starts."""
    import html  # its table of 2,200 names takes 2 % of a process for one call, and few builds are in XML

    text = re.sub(r"(?s)<!--(?:.*?-->|.*)", lambda match: "\n" * match[0].count("\n"), text)
    text = _XML_HOME.sub("~", text)
    commands = [(match[1], match.start()) for match in _XML_COMMAND.finditer(text)]
    sections = [CodeSection(SHELL, html.unescape(line), count_line(text, start)) for line, start in commands]
    for plugin in _XML_CLEANING.finditer(text):
        for match in _XML_DIRECTORY.finditer(plugin[0]):
            line = f"rm -rf {_quote_word(_XML_BASE.sub('.', html.unescape(match[1])))}"
            sections.append(CodeSection(SHELL, line, count_line(text, plugin.start() + match.start())))
    for match in _XML_EXECUTABLE.finditer(text):
        end = text.find("</configuration>" if match[1] else "</exec>", match.end())
        words = _XML_ARGUMENT.findall(text, match.end(), end if end >= 0 else len(text))
        line = " ".join(_quote_word(word) for word in [match[1] or match[2], *("".join(each) for each in words)])
        sections.append(CodeSection(SHELL, html.unescape(line), count_line(text, match.start())))
    return sections


def read_string_calls(language: str, text: str) -> list[CodeSection]:
    """Return strings that a language runs by a method or a verb of its own: `"…".execute()`, `"…".!`, `sh "…"`."""
    sections = []
    if (pattern := _STRING_CALLS.get(language)) is not None:
        for match in pattern.finditer(text):
            sections.append(CodeSection(SHELL, next(filter(None, match.groups())), count_line(text, match.start())))
    for match in _COMMAND_LINE.finditer(text) if language in ("groovy", "kotlin") else ():
        words = [first or second for first, second in _PYTHON_STRING.findall(match[1])]
        sections.append(CodeSection(SHELL, " ".join(map(_quote_word, words)), count_line(text, match.start())))
    return sections


def read_process_records(text: str) -> list[CodeSection]:
    """Return the processes that settings in JavaScript describe: `{script: "bash", args: ["-c", "…"]}`."""
    sections = []
    for match in _PROCESS_RECORD.finditer(text):
        words = [first or second for first, second in _PYTHON_STRING.findall(match[2])]
        name = match[1].strip("\"'")
        line = f"{name} {words[0]}" if match[2][:1] != "[" and words else " ".join(map(_quote_word, [name, *words]))
        sections.append(CodeSection(SHELL, line, count_line(text, match.start())))
    return sections


def read_command_values(text: str) -> list[CodeSection]:
    """Return the command lines that settings in JavaScript give to a tool: `webServer: {command: "…"}`."""
    lines = [(next(filter(None, match.groups()), ""), match.start()) for match in _COMMAND_VALUE.finditer(text)]
    return [CodeSection(SHELL, _ESCAPED_QUOTE.sub(r"\1", line), count_line(text, at)) for line, at in lines]


def read_task_values(text: str) -> list[CodeSection]:
    """Return the command lines that a program of tasks in Python hands to its runner, with fields as variables."""
    sections = []
    for match in _TASK_VALUE.finditer(text):
        strings = [next(filter(None, groups), "") for groups in _TASK_STRING.findall(match[1])]
        # Items of a list run one after the other, and the parts of a text follow each other without a comma.
        line = ("\n" if match[1][:1] in "[(" else " ").join(strings)
        sections.append(CodeSection(SHELL, _TASK_FIELD.sub("$x", line), count_line(text, match.start(1))))
    return sections


def read_cmake(text: str) -> list[CodeSection]:
    """Return the commands of a build for CMake."""
    text = re.sub(r"(?m)#.*$", "", text).replace("$ENV{", "${")
    text = text.replace("${CMAKE_COMMAND}", "cmake")
    return [CodeSection(SHELL, m[1], count_line(text, m.start())) for m in _CMAKE_COMMAND.finditer(text)]


def read_all_settings(path: str, text: str) -> list[CodeSection]:
    """Return what a runner's settings may run: values, and mounts of a compose file."""
    name = path[path.rfind("/") :]
    if name.endswith((".json", ".jsonc", ".code-workspace")) and (values := _read_json_values(text)) is not None:
        return values
    if "compose" in name:
        return list(_read_compose(text))
    if name.endswith(".nix"):
        return [CodeSection(SHELL, m[1], count_line(text, m.start(1))) for m in _NIX_SCRIPT.finditer(text)]
    if name == "/.pre-commit-config.yaml":
        return [*_read_settings(text), *_read_hook_sources(text)]
    sections = list(_read_settings(text))
    for match in _INLINE_WORDS.finditer(text):
        words = [first or second for first, second in _PYTHON_STRING.findall(match[1])]
        sections.append(CodeSection(SHELL, " ".join(map(_quote_word, words)), count_line(text, match.start())))
    for match in _INLINE_TEXT.finditer(text):
        sections.append(CodeSection(SHELL, match[1] or match[2], count_line(text, match.start())))
    return sections


def _read_json_values(text: str) -> list[CodeSection] | None:
    """Return the texts of a JSON document that may be command lines; None when it is not plain JSON."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    sections: list[CodeSection] = []
    pending: list[tuple[str, Any]] = [("", document)]
    while pending and len(sections) < _MAX_SETTING_LINES:
        key, value = pending.pop()
        if isinstance(value, dict):
            pending += value.items()
            if words := _join_record(value):
                sections.append(CodeSection(SHELL, " ".join(map(_quote_word, words)), _find_text_line(text, words)))
        elif isinstance(value, list):
            pending += [(key, item) for item in value]
            if all(isinstance(item, str) for item in value):
                sections.append(CodeSection(SHELL, " ".join(map(_quote_word, value)), _find_text_line(text, value)))
        elif isinstance(value, str) and " " in value and key.lower() not in _DESCRIPTIONS:
            sections.append(CodeSection(SHELL, value, _find_text_line(text, [value])))
    return sections


def _join_record(record: dict[str, Any]) -> list[str]:
    """Return the words of a command that a record holds in two parts: `{"command": "git", "args": ["status"]}`."""
    program = next((record[key] for key in ("command", "program", "cmd") if isinstance(record.get(key), str)), "")
    arguments: list[Any] = next((record[key] for key in ("args", "arguments") if isinstance(record.get(key), list)), [])
    words = [program, *(word for word in arguments if isinstance(word, str))]
    return words if program and " " not in program and len(words) > 1 else []


def read_fragment(text: str) -> list[CodeSection]:
    """Return the command lines of a part of a JSON document, as an edit puts it in: texts with a blank in them."""
    sections = []
    for match in list(_JSON_TEXT.finditer(text))[:_MAX_SETTING_LINES]:
        try:
            value = json.loads(f'"{match[2]}"')
        except ValueError:
            continue
        if " " in value and (match[1] or "").lower() not in _DESCRIPTIONS:
            sections.append(CodeSection(SHELL, value.removeprefix("@"), count_line(text, match.start(2))))
    return sections


def _find_text_line(text: str, values: list[str]) -> int:
    return count_line(text, max(0, text.find(json.dumps(values[0], ensure_ascii=False)))) if values else 1


def _read_settings(text: str) -> Iterator[CodeSection]:
    """Yield each value of a runner's settings that may be a command line, whichever key it stands under."""
    for number, line in enumerate(text.split("\n")[:_MAX_SETTING_LINES], 1):
        if line.lstrip()[:1] in ("", "#", ";") or line.lstrip().startswith("//"):
            continue
        match = _SETTING.match(line)
        key, value = (match[1] or "", match[2]) if match else ("", "")
        # A command line has a space in it; a lone word is a name, a path or a number, unless it is a program's path.
        is_program = _PROGRAM_KEY.search(key) is not None and "/" in value and "://" not in value
        if (" " not in value and not is_program) or key.lower() in _DESCRIPTIONS:
            continue
        yield CodeSection(SHELL, _to_command_line(value), number)


def _read_hook_sources(text: str) -> Iterator[CodeSection]:
    """Yield the repositories whose hooks are cloned and run, where they lie at none of the known forges."""
    for match in _HOOK_SOURCE.finditer(text):
        if not _is_forge(parse_host(match[1])):
            line = f"{_DOWNLOADER} {quote_shell_word(match[1])} | {SHELL}"
            yield CodeSection(SHELL, line, count_line(text, match.start()))


def _is_forge(name: str) -> bool:
    return any(name == forge or name.endswith(f".{forge}") for forge in (*LISTED_DOMAINS, *_OTHER_FORGES))


def _read_compose(text: str) -> Iterator[CodeSection]:
    """Yield the commands of a compose file, with the mounts of all its services, as commands with the same effect."""
    lines = list(enumerate(text.split("\n")[:_MAX_SETTING_LINES], 1))
    mounts = [
        (count_line(text, match.start()), f"-v {_quote_mount(match['source'] or match['from'])}:{target}")
        for match in _COMPOSE_MOUNT.finditer(text)
        if (target := match["target"] or match["to"])
    ]
    options = " ".join(mount for _, mount in mounts)
    for number, line in lines:
        setting = _SETTING.match(line)
        if setting and setting[1] in ("command", "entrypoint") and setting[2]:
            directory = _find_sibling_value(lines, number - 1, "working_dir")
            entered = f"-w {_quote_word(directory)} " if directory else ""
            yield CodeSection(
                SHELL, f"{_CONTAINER_ENGINE} run {options} {entered}image {_to_command_line(setting[2])}", number
            )
    for number, mount in mounts:
        yield CodeSection(SHELL, f"{_CONTAINER_ENGINE} run {mount} image", number)


def _find_sibling_value(lines: Sequence[tuple[int, str]], index: int, key: str) -> str:
    """Return the value of another key of the block in which a line of YAML stands; empty when there is none."""
    indent = _count_indent(lines[index][1])
    for step in (-1, 1):
        for _, line in lines[index + step :: step] if index + step >= 0 else ():
            if line.strip() and _count_indent(line) < indent:
                break
            setting = _SETTING.match(line)
            if setting and setting[1] == key and _count_indent(line) == indent:
                return setting[2].strip("\"'")
    return ""


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _quote_mount(path: str) -> str:
    return _quote_word(_HOME.sub("~", path))


def _to_command_line(value: str) -> str:
    if value[:1] == "[":
        words = _parse_list(value)
        if words is not None:
            return " ".join(map(_quote_word, words))
    if value[:1] in ("'", '"') and value[-1:] == value[0] and len(value) > 1:
        return value[1:-1].replace('\\"', '"')
    return value.lstrip("|>-") if value[:1] in "|>" else value


def _quote_word(word: str) -> str:
    return quote_shell_word(word, "~*$") if " " not in word else "'" + word.replace("'", "'\\''") + "'"


def _parse_list(value: str) -> list[str] | None:
    """Return the words of a list on one line, in JSON or as YAML allows it: `[find, /d, '-delete']`."""
    try:
        words: Any = json.loads(value.replace("'", '"') if '"' not in value else value)
    except (ValueError, RecursionError):
        items = _FLOW_ITEM.findall(value[1:-1]) if value.endswith("]") else []
        return [double or single or plain.strip() for double, single, plain in items] or None
    return [str(word) for word in words] if isinstance(words, list) else None


def list_set_programs(words: Sequence[Word]) -> list[str]:
    """Return the command lines that words set for a build: `make SHELL=x`, `cargo --config 'target.t.runner="x"'`."""
    matches = filter(None, (_RUNNER_SETTING.search(word.text) for word in words))
    return [match[1].strip().strip("\"'").replace('\\"', '"') for match in matches]
