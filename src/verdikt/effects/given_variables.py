"""The variables that a command gets from the words before it and from files, and program text with their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from verdikt.effects.execution_context import find_preceding
from verdikt.knowledge import find_role
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    import re

    from verdikt.effects.invocation import Invocation

FILE_OPTIONS = ("-e", "-f", "--env-file", "--file")
FILE_SETTERS = find_role("variable_file_loader")
MAX_SETTER_WORDS = 8
_FILE_OPTION = "--env-file"
_SHELL_LOADERS = ("source", ".")
_EXPORTERS = find_role("variable_exporter")
SUBSTITUTED_FILE = compile_lazily(r"[$(`](?:\w+|<)\s+(?:[^$()|`]*\s)?([\w./~-]+)\s*(?:\||\)|`)")
_MAX_VARIABLES = 200
_LOOKUP = compile_lazily(
    r"""(?:\b(?:[A-Za-z_]\w*(?:\.|::|->))*(?:environ(?:\.get)?|[gG]et_?[eE]nv|LookupEnv|ENV(?:\.fetch)?|var_os|env::var"""
    r"""|process\.env)\s*(?:\(|\[)\s*["'](\w+)["']\s*(?:,[^()\[\]]*)?(?:\)|\])|\bprocess\.env\.(\w+)"""
    r"""|\$_?ENV[\[{]["']?(\w+)["']?[\]}])"""
)
"""How languages look a variable up: `os.environ["X"]`, `os.Getenv("X")`, `ENV.fetch("X")`, `process.env.X`."""


def list_variable_files(call: Invocation) -> list[str]:
    """Return the files whose variables a command may get: `. ./x.env`, `env $(cat x.env) …`, `--env-file x.env`."""
    names: list[str] = []
    for command in (*find_preceding(call.command, call.commands), call.command):
        words = command.argv
        if command.name in _SHELL_LOADERS and len(words) > 1:
            names.append(words[1].text)
        for word in words:
            names += SUBSTITUTED_FILE.findall(word.raw)
            option, _, value = word.text.partition("=")
            names += [value] if option == _FILE_OPTION else []
        is_setter = any(word.text in FILE_SETTERS for word in words[:2])
        for option_word, value_word in pairwise(words[:MAX_SETTER_WORDS]):
            is_named = option_word.text == _FILE_OPTION or (is_setter and option_word.text in FILE_OPTIONS)
            names += [value_word.text] if is_named else []
    return [path for name in dict.fromkeys(names) if (path := call.resolver.to_absolute(name, call.command.cwd))]


def read_variables(call: Invocation, path: str) -> Iterator[tuple[str, str]]:
    """Yield the variables that a file sets, one in a line."""
    for line in (call.facts.text(path) or "").splitlines()[:_MAX_VARIABLES]:
        name, equals, text = line.strip().removeprefix("export ").partition("=")
        if equals and name.isidentifier():
            yield name, text.strip("\"'")


def fill_environment(text: str, call: Invocation) -> str:
    """Return program text with the variables of the environment replaced that the command is known to get."""
    return fill_lookups(text, _list_variables(call)) if looks_up_variables(text) else text


def looks_up_variables(text: str) -> bool:
    """Return whether a program looks a variable of its environment up."""
    return _LOOKUP.search(text) is not None


def fill_lookups(text: str, values: Mapping[str, str]) -> str:
    """Return program text with the variables replaced that have a value."""

    def fill(match: re.Match[str]) -> str:
        value = values.get(match[1] or match[2] or match[3], "")
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if value else match[0]

    return _LOOKUP.sub(fill, text) if values else text


def _list_variables(call: Invocation) -> Mapping[str, str]:
    values: dict[str, str] = {}
    for path in list_variable_files(call):
        values |= dict(read_variables(call, path))
    for command in find_preceding(call.command, call.commands):
        if command.name in _EXPORTERS:
            pairs = (word.text.partition("=") for word in command.argv[1:] if word.is_known)
            values |= {name: value for name, equals, value in pairs if equals}
    return values | {name: value.text for name, value in call.command.assignments if value.is_known}
