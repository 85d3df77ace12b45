"""Find the program text in a file that is written: by its name, its first line, and for runners' settings by key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from verdikt.effects.code import quote_shell_word
from verdikt.knowledge import find_language, find_suffix_program
from verdikt.model.lazy_regex import compile_lazily

SHELL = "sh"

_LANGUAGE_BY_SUFFIX = {
    ".pyw": "python",
    ".pth": "python",
    ".ipynb": "notebook",
    ".mts": "node",
    ".cts": "node",
    ".jsx": "node",
    ".tsx": "node",
    ".vue": "node",
    ".svelte": "node",
    ".pm": "perl",
    ".t": "perl",
    ".go": "go",
    ".rs": "rust",
    ".c": "c",
    ".h": "c",
    ".cc": "c",
    ".cpp": "c",
    ".cxx": "c",
    ".hpp": "c",
    ".java": "java",
    ".kt": "kotlin",
    ".kts": "kotlin",
    ".groovy": "groovy",
    ".gradle": "groovy",
    ".scala": "scala",
    ".sbt": "scala",
    ".swift": "swift",
    ".ex": "elixir",
    ".exs": "elixir",
    ".jl": "julia",
    ".r": "r",
    ".dart": "dart",
    ".tcl": "tcl",
    ".gemspec": "ruby",
    ".rake": "ruby",
    ".bats": SHELL,
    ".envrc": SHELL,
    ".mk": "make",
    ".cmake": "cmake",
    ".tf": "settings",
    ".hcl": "settings",
    ".bzl": "settings",
}
"""Endings that the table of programs does not have, because no program is started with such a file."""
_SETTINGS_NAMES = """
tox.ini setup.cfg pyproject.toml hatch.toml .pre-commit-config.yaml lefthook.yml lefthook.yaml Taskfile.yml
Taskfile.yaml taskfile.yml Procfile nodemon.json .lintstagedrc meson.build docker-compose.yml docker-compose.yaml
compose.yml compose.yaml compose.override.yml BUILD BUILD.bazel tasks.json devcontainer.json Cargo.toml turbo.json
"""
"""Settings of runners, in which command lines stand under keys of many names."""
_LANGUAGE_BY_NAME = {
    **dict.fromkeys(("Rakefile", "Gemfile", "Guardfile", "Vagrantfile", "Fastfile", "Podfile", "Dangerfile"), "ruby"),
    **dict.fromkeys(("SConstruct", "SConscript", "wscript", "Snakefile"), "python"),
    **dict.fromkeys(("Jakefile", ".pnp.cjs", ".pnpmfile.cjs"), "node"),
    **dict.fromkeys((".envrc", "configure", "gradlew", "mvnw"), SHELL),
    "CMakeLists.txt": "cmake",
    "package.json": "package",
    **dict.fromkeys(_SETTINGS_NAMES.split(), "settings"),
}
_HOOK_DIRECTORIES = ("/.husky/", "/.githooks/", "/.git-hooks/", "/.git/hooks/", "/hooks/pre-", "/hooks/post-")
_SHEBANG = compile_lazily(r"#!\s*\S*/(?:env\s+(?:-S\s+)?)?([A-Za-z]+)")
_SHELL_NAMES = frozenset("sh bash zsh dash ksh ash fish".split())
_C_LIKE = frozenset("node go rust c java kotlin groovy scala swift dart php".split())
# Strings first, so that `//` in an address is no comment; what a comment holds is blanked, line by line.
_C_TOKENS = compile_lazily(
    r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|(//[^\n]*)|(/\*.*?(?:\*/|\Z))", re.DOTALL
)
_CALL_IN_STRING = compile_lazily(r"\w\s*\(\s*\\?[\"'`]")
# Before a string that is run as a program or as shell text.
_RUNS_STRING = compile_lazily(r"(?:eval|Function|exec\w*|spawn\w*|system|popen|Command|sh|bash|run\w*|shell\w*|-e)\W*$")
_RUBY_COMMENT = compile_lazily(r"(?ms)^=(?:begin|pod|head\d?|item|over)\b.*?(?:^=(?:end|cut)\b|\Z)")
_GO_GENERATE = compile_lazily(r"(?m)^//go:generate\s+(.+)$")
_CMAKE_COMMAND = compile_lazily(
    r"\bCOMMAND\s+([^()]*?)(?=\s+(?:COMMAND|WORKING_DIRECTORY|DEPENDS|COMMENT|[A-Z_]{6,})\b|\))"
)
_CMAKE_REMOVE = compile_lazily(r"\bfile\s*\(\s*(REMOVE|REMOVE_RECURSE)\s+([^()]*)\)", re.IGNORECASE)
_SETTING = compile_lazily(r"""^\s*(?:-\s+)*(?:["']?([\w.-]+)["']?\s*(?:=|:(?=\s|$))\s*)?(.*?)\s*,?\s*$""")
_COMPOSE_MOUNT = compile_lazily(r"""^\s*-\s*["']?((?:/|~|\$\{?HOME\b)[^:\s"']*):/""")
_DESCRIPTIONS = frozenset(
    "name id desc description summary help title label comment version url repo repository homepage author authors "
    "license keywords classifiers dependencies requires files exclude include args image".split()
)
"""Keys whose values are words for people, or names, in whichever runner's settings."""
_LIFECYCLE = frozenset(
    "preinstall install postinstall prepare prepublish prepublishOnly prepack postpack dependencies pretest posttest "
    "prebuild postbuild prestart poststart prelint postlint predev preversion version postversion".split()
)
"""Scripts that a package manager runs of its own accord."""
_MAX_SETTING_LINES = 600


class CodeSection(NamedTuple):
    """Program text of one language in a file; `line` is the line at which it begins."""

    language: str
    text: str
    line: int = 1


def detect_file_language(path: str, text: str = "") -> str:
    """Return the language of a file by its name or, without a known ending, by its first line; empty if none is read.

    Besides the languages of `classify_code`: `sh`, `notebook`, `make`, `cmake`, `package` and `settings`.
    """
    name = path[path.rfind("/") + 1 :]
    if name in _LANGUAGE_BY_NAME:
        return _LANGUAGE_BY_NAME[name]
    suffix = name[name.rfind(".") :].lower() if "." in name[1:] else ""
    if suffix:
        language = _LANGUAGE_BY_SUFFIX.get(suffix) or find_language("", suffix)
        if language:
            return "" if language == "sql" else language  # a migration drops tables by design
        if find_suffix_program(suffix) in _SHELL_NAMES:
            return SHELL
    if text.startswith("#!"):
        return _read_shebang(text)
    is_hook = not suffix and any(place in f"/{path}" for place in _HOOK_DIRECTORIES)
    return SHELL if is_hook else ""


def _read_shebang(text: str) -> str:
    match = _SHEBANG.match(text)
    program = match[1].lower() if match else ""
    return SHELL if program in _SHELL_NAMES else find_language(program)


def find_code_sections(path: str, text: str) -> list[CodeSection]:
    """Return the program text of a file; nothing for prose and data."""
    language = detect_file_language(path, text)
    if not language:
        return []
    if language == "notebook":
        return _read_notebook(text)
    if language == "package":
        return _read_package(path, text)
    if language == "make":
        return _read_recipes(text)
    if language == "cmake":
        return _read_cmake(text)
    if language == "settings":
        return [*_read_settings(text), *(_read_mounts(text) if "compose" in path[path.rfind("/") :] else ())]
    sections = [CodeSection(language, blank_comments(language, text))]
    if language == "go":
        sections += [
            CodeSection(SHELL, match[1], _count_line(text, match.start())) for match in _GO_GENERATE.finditer(text)
        ]
    return sections


def _count_line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def blank_comments(language: str, text: str) -> str:
    """Return the text with comments blanked, and strings that only quote a call; lines keep their numbers."""
    if language in _C_LIKE:
        return _C_TOKENS.sub(_blank_token, text)
    if language in ("ruby", "perl"):
        return _RUBY_COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    return text


def _blank_token(match: re.Match[str]) -> str:
    token = match[0]
    if match[1] is not None or match[2] is not None:
        return "\n" * token.count("\n")
    # `expect(check('exec("rm -rf ~")'))` quotes a call, and `exec('node -e "f(\'x\')"')` runs one.
    if _CALL_IN_STRING.search(token, 1) and not _RUNS_STRING.search(
        match.string, max(0, match.start() - 24), match.start()
    ):
        return token[0] + " " * 2 + "\n" * token.count("\n") + token[0]
    return token


def _read_notebook(text: str) -> list[CodeSection]:
    """Return the code cells of a notebook, each at the line where its source begins in the file."""
    try:
        cells = json.loads(text).get("cells", ())
    except (ValueError, AttributeError, RecursionError):
        return []
    sections = []
    for cell in cells if isinstance(cells, list) else ():
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            body = "".join(map(str, source)) if isinstance(source, list) else str(source)
            first = json.dumps(body.split("\n", 1)[0])[1:-1]
            sections.append(CodeSection("python", body, _count_line(text, max(0, text.find(first)))))
    return sections


def _read_package(path: str, text: str) -> list[CodeSection]:
    """Return the scripts of a package.json that run unnamed; those of a workspace's package run by `pnpm -r`, too."""
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return []
    scripts = package.get("scripts") if isinstance(package, dict) else None
    is_nested = "/packages/" in path or "/apps/" in path or "/node_modules/" in path
    return [
        CodeSection(SHELL, script, _count_line(text, max(0, text.find(f'"{name}"'))))
        for name, script in (scripts.items() if isinstance(scripts, dict) else ())
        if isinstance(script, str) and (is_nested or name in _LIFECYCLE)
    ]


def _read_recipes(text: str) -> list[CodeSection]:
    """Return the recipe lines of a makefile that others include."""
    lines = enumerate(text.split("\n")[:_MAX_SETTING_LINES], 1)
    return [
        CodeSection(SHELL, line.strip().lstrip("@-+").replace("$(HOME)", "~").replace("$$", "$"), number)
        for number, line in lines
        if line.startswith("\t")
    ]


def _read_cmake(text: str) -> list[CodeSection]:
    text = re.sub(r"(?m)#.*$", "", text).replace("$ENV{", "${")
    sections = [CodeSection(SHELL, m[1], _count_line(text, m.start())) for m in _CMAKE_COMMAND.finditer(text)]
    for match in _CMAKE_REMOVE.finditer(text):
        flags = "-rf" if match[1].upper().endswith("RECURSE") else "-f"
        sections.append(CodeSection(SHELL, f"rm {flags} {match[2]}", _count_line(text, match.start())))
    return sections


def _read_settings(text: str) -> Iterator[CodeSection]:
    """Yield each value of a runner's settings that may be a command line, whichever key it stands under."""
    for number, line in enumerate(text.split("\n")[:_MAX_SETTING_LINES], 1):
        if line.lstrip()[:1] in ("", "#", ";") or line.lstrip().startswith("//"):
            continue
        match = _SETTING.match(line)
        key, value = (match[1] or "", match[2]) if match else ("", "")
        # A command line has a space in it; a lone word is a name, a path or a number.
        if " " not in value or key.lower() in _DESCRIPTIONS:
            continue
        yield CodeSection(SHELL, _to_command_line(value), number)


def _read_mounts(text: str) -> Iterator[CodeSection]:
    """Yield the mounts of a compose file as the command that has the same effect."""
    for number, line in enumerate(text.split("\n")[:_MAX_SETTING_LINES], 1):
        if match := _COMPOSE_MOUNT.match(line):
            yield CodeSection(SHELL, f"docker run -v {match[1]}:/mnt image", number)


def _to_command_line(value: str) -> str:
    if value[:1] == "[":
        words = _parse_list(value)
        if words is not None:
            return " ".join(quote_shell_word(word, "~*$") if " " not in word else _quote_text(word) for word in words)
    if value[:1] in ("'", '"') and value[-1:] == value[0] and len(value) > 1:
        return value[1:-1].replace('\\"', '"')
    return value.lstrip("|>-") if value[:1] in "|>" else value


def _quote_text(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _parse_list(value: str) -> list[str] | None:
    try:
        words: Any = json.loads(value.replace("'", '"') if '"' not in value else value)
    except (ValueError, RecursionError):
        return None
    return [str(word) for word in words] if isinstance(words, list) else None
