"""Put the values of other local files into a text, where it uses them: one level deep, and by content.

A name counts where the text imports it, where its package has it, or where it is taken from a file that the text
reads: `conf = load("x.toml")["docs"]` and later `conf["output"]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from posixpath import basename
from typing import TYPE_CHECKING

from verdikt.effects.any_language.masking import find_ending
from verdikt.effects.code_sections import FIELD_LANGUAGES, detect_file_language
from verdikt.effects.local_values.program_values import list_owner_names, read_program_values
from verdikt.effects.local_values.settings_values import DATA_ENDINGS, Value, read_settings_values
from verdikt.effects.local_values.value_files import ValueFile, find_value_files
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver

_MAX_TEXT = 60_000
_MAX_ASSIGNMENTS = 400
_DECLARATION = (
    r"(?:(?:export|const|let|var|val|my|our|local|final|static|auto|lazy|private|public|def|mut|pub|File|Path|String"
    r"|Properties|JsonNode|type)\s+)*"
)
_ASSIGNMENT = compile_lazily(
    rf"(?m)^[ \t]*{_DECLARATION}(?P<left>[$@]?[A-Za-z_]\w*|[{{\[(][^}}\])=\n]*[}}\])])(?:\s*,\s*\w+)*"
    r"(?:[ \t]*:[ \t]*[\w<>\[\], .?&]+)?[ \t]*(?::=|<-|=(?![=>~]))[ \t]*"
    r"(?P<right>[^\n]*(?:\n[ \t]+[.)\]}|?][^\n]*)*)"
)
_CHANGE = compile_lazily(
    r"(?m)^[^\n#]*?(?<![\w.])(?P<name>[$@]?[A-Za-z_]\w*)(?:[ \t]*(?:[-+*/.|&^%]|\|\||//|\?\?|<<)=(?!=)"
    r"|\.(?:append|push|add|extend|insert|concat|prepend|replace|clear|unshift|push_str)\b)"
)
"""A name whose value is changed where it stands: `OUT += "/.."`."""
_IMPORT = compile_lazily(
    r"(?m)^[ \t]*import\s+(?:\*\s+as\s+)?(?P<left>\w+|\{[^}]*\})\s+from\s+(?P<right>[\"'][^\"'\n]+[\"'][^\n]*)"
    r"|^[ \t]*(?P<filler>\w+)\.(?:read|load|loads|parse)\w*\(\s*(?P<file>[^\n]*)"
)
_DELEGATED = compile_lazily(r"(?m)^[ \t]*va[lr]\s+(?P<name>\w+)\s*:\s*[\w<>?]+\s+by\s+project\b")
"""A property of Gradle that Kotlin declares: its value is in the file of properties."""
_NAME = compile_lazily(r"[A-Za-z_]\w*")
_ACCESS = (
    r"(?:\??\.|::|->)[A-Za-z_]\w*[!?]?|\[\s*(?:[\"'][\w. -]+[\"']|:\w+)\s*\]|\{\s*[\"']?\w+[\"']?\s*\}"
    r"|\(\s*[\"':][\w.-]+[\"']?\s*(?:,[^()\n]*)?\)|\(\s*\)"
)
_TOKEN = compile_lazily(
    r"(?P<string>[rRbBfFuU$]{0,2}(?:\"\"\"[\s\S]*?\"\"\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`))"
    r"|(?P<application>\bApplication\.\w+_env!?\(\s*:\w+\s*,\s*:(?P<key>\w+)[^()]*\))"
    rf"|(?P<chain>(?<![\w.$@>:'\"])[$@]?[A-Za-z_]\w*(?:{_ACCESS})*)"
)
_ACCESSOR = compile_lazily(rf"(?:{_ACCESS})")
_SKIPPED_LINE = compile_lazily(
    r"^\s*(?:import|from|require|require_relative|use|using|include|package|extern|mod|#\s*include|load\s*\(|def|class|func"
    r"|fn|function|export\s+(?:default\s+)?function)\b"
)
_NAMING = compile_lazily(r"[ \t]*(?::=|<-|=(?![=~>])|=>|:(?![:=]))")
_AFTER_WORD = compile_lazily(r"\b(?:in|of|if|elif|while|not|and|or|with|return|case|else)\s+(?:\w+\()?$|[=(+/]\s*$")
_SPLIT = compile_lazily(
    r"\.(?:split|Split|splitlines|lines|tokenize)(?:\(\s*(?:[rR]?[\"'/]([^\"'/]*)[\"'/])?[^()\n]*\)|\b(?!\())"
)
_INTERPOLATION = compile_lazily(r"[$#]?\{\{?\s*([$@]?[A-Za-z_][^{}\n]*?)\s*\}?\}|\$\(([\w.]+)\)|\$(\w+)")
_PERCENT = compile_lazily(r"(\"[^\"\n]*%s[^\"\n]*\")\s*%\s*\(?\s*\"([^\"\n]*)\"\s*\)?")
_QUOTED_WORD = compile_lazily(r"[\"':]\s*([A-Za-z_][\w.-]*)")
_FIELD_WORD = compile_lazily(r"[.>]\s*([A-Za-z_]\w*)")
_LISTS = {
    **dict.fromkeys("go".split(), "[]string{%s}"),
    **dict.fromkeys("java kotlin scala groovy".split(), "listOf(%s)"),
    "lua": "{%s}",
    "r": "c(%s)",
}
_STARLARK = compile_lazily(r"(?:^|/)(?:BUILD(?:\.bazel)?|Tiltfile|[\w.-]+\.bzl)$")
_FIELD = compile_lazily(
    r"\$\((?P<call>[\w.]+)\)|\$\{(?:var\.|local\.)?(?P<brace>[\w.-]+)\}|\{\{\s*[.$]?(?P<template>[\w.]+)\s*\}\}"
)


def fill_local_values(path: str, text: str, resolver: TargetResolver, written: Iterable[str] = ()) -> str:
    """Return a text with the values of other local files in it, or as it is; `written` are files of the session."""
    language = detect_file_language(path, text)
    files = find_value_files(path, text[:_MAX_TEXT], language, resolver.facts, written) if language else []
    if not files:
        return text
    filler = _ValueFiller(language, files, resolver)
    if language in FIELD_LANGUAGES and not _STARLARK.search(path):
        return filler.fill_fields(text)
    if language == "literate":
        # The fence of a chunk is no string.
        return filler.fill_program(text.replace("```", "~~~")).replace("~~~", "```")
    return filler.fill_program(text)


class _ValueFiller:
    """Fills one text with the values of some files."""

    def __init__(self, language: str, files: list[ValueFile], resolver: TargetResolver) -> None:
        self._language = language
        self._visible: dict[str, Value] = {}
        """Names that the text sees as they are."""
        self._fields: dict[str, Value] = {}
        """Keys that count behind a name that stands for one of the files: `conf["output"]`."""
        self._owners: set[str] = set()
        """Names that stand for one of the files, or a part of it."""
        self._file_names: dict[str, Value | None] = {}
        """Names of files that the text reads, with their value where that is one list."""
        for file in files:
            self._add_file(file, resolver)

    def _add_file(self, file: ValueFile, resolver: TargetResolver) -> None:
        name = basename(file.path)
        stem = name.partition(".")[0]
        if is_data := find_ending(file.path) in DATA_ENDINGS:
            values = read_settings_values(file.path, file.text)
        else:
            language = detect_file_language(file.path, file.text)
            values = read_program_values(language, file.path, file.text, resolver) if language else {}
            self._owners.update(list_owner_names(file.text))
        self._fields.update(values)
        if not is_data or not file.is_named or self._language in FIELD_LANGUAGES:
            self._visible.update(values)
        self._owners.update((stem, "common") if stem in ("mod", "index", "__init__") else (stem,))
        whole = values.get("")
        self._file_names[name] = whole
        self._file_names[stem if not is_data else name] = whole
        if is_data and self._language == "python" and name.startswith("config"):
            self._owners.add("config")

    # Settings.

    def fill_fields(self, text: str) -> str:
        """Return settings with the fields replaced that have a value in another file."""
        values = self._visible | self._fields

        def fill(match: re.Match[str]) -> str:
            value = values.get(match["call"] or match["brace"] or match["template"])
            return match[0] if value is None else _to_words(value)

        return _FIELD.sub(fill, text)

    # Programs.

    def fill_program(self, text: str) -> str:
        """Return a program with the names replaced that have a value in another file."""
        self._bind_assignments(text)
        filled: list[str] = []
        position = 0
        for match in _TOKEN.finditer(text, 0, _MAX_TEXT):
            if match.start() < position:
                continue
            piece, end = self._fill_token(match, text)
            if piece is not None:
                filled += (text[position : match.start()], piece)
                position = end
        whole = "".join([*filled, text[position:]])
        return _PERCENT.sub(lambda match: match[1].replace("%s", match[2]), whole) if position else text

    def _bind_assignments(self, text: str) -> None:
        """Bind the names to which the text assigns something of the files; what it binds otherwise hides theirs."""
        for number, match in enumerate(_IMPORT.finditer(text)):
            if number < _MAX_ASSIGNMENTS:
                self._bind(match["left"] or match["filler"], match["right"] or match["file"])
        for number, match in enumerate(_ASSIGNMENT.finditer(text)):
            if number < _MAX_ASSIGNMENTS:
                self._bind(match["left"], match["right"])
        for match in _CHANGE.finditer(text):
            # What it then holds is not known.
            self._visible.pop(match["name"], None)
        for match in _DELEGATED.finditer(text):
            if (value := self._fields.get(match["name"])) is not None:
                self._visible[match["name"]] = value

    def _bind(self, left: str, right: str) -> None:
        names = _NAME.findall(left)
        words = set(_NAME.findall(right))
        is_from_file = not words.isdisjoint(self._owners) or any(name in right for name in self._file_names)
        if not is_from_file:
            for name in names if left[:1] not in "{[(" else ():
                self._visible.pop(name, None)
            return
        if left[:1] in "{[(":
            self._visible.update((name, self._fields[name]) for name in names if name in self._fields)
            return
        name = names[0]
        mentioned = [*_QUOTED_WORD.findall(right), *_FIELD_WORD.findall(right)]
        keys = [key for key in mentioned if key in self._fields and key not in self._file_names]
        whole = next((value for file, value in self._file_names.items() if value is not None and file in right), None)
        if keys:
            self._visible[name] = self._fields[keys[-1]]
        elif whole is not None:
            self._visible[name] = whole
        else:
            self._owners.add(name)
            self._visible.pop(name, None)

    def _fill_token(self, match: re.Match[str], text: str) -> tuple[str | None, int]:
        """Return what stands for a token, None to leave it, and where it ends."""
        if match["string"] is not None:
            string = match["string"]
            filled = _INTERPOLATION.sub(self._fill_interpolation, string) if "{" in string or "$" in string else string
            return (filled, match.end()) if filled != string else (None, match.end())
        if match["application"] is not None:
            value = self._fields.get(match["key"])
            return (None, match.end()) if value is None else (self._write(value), match.end())
        resolved = self._find_value(match["chain"])
        if resolved is None or self._is_definition(match, text, resolved[1]):
            return None, match.end()
        value, length = resolved
        end = match.start() + length
        if isinstance(value, str) and (split := _SPLIT.match(text, end)):
            parts = value.split(split[1]) if split[1] and split[1].strip("\\s+") else value.split()
            return self._write([part.strip() for part in parts]), split.end()
        return self._write(value), end

    def _find_value(self, chain: str) -> tuple[Value, int] | None:
        """Return the value of the beginning of a chain of names, and the length of that beginning."""
        head = _NAME.search(chain)
        if head is None:
            return None
        position = head.end()
        if head[0] in self._visible:
            if chain[position : position + 2] == "()":
                position += 2
            return self._visible[head[0]], position
        if head[0] not in self._owners:
            return None
        while (access := _ACCESSOR.match(chain, position)) is not None:
            name = _NAME.search(access[0])
            position = access.end()
            if name is not None and (value := self._fields.get(name[0])) is not None:
                if chain[position : position + 2] == "()":
                    position += 2
                return value, position
        return None

    def _fill_interpolation(self, match: re.Match[str]) -> str:
        inner = match[1] or match[2] or match[3]
        # Inside a string of PHP a key may stand without quotes: `{$conf[output]}`.
        chain = inner if "['" in inner else inner.replace("[", "['").replace("]", "']")
        resolved = self._find_value(chain)
        return _to_words(resolved[0]) if resolved is not None and resolved[1] >= len(inner) else match[0]

    def _is_definition(self, match: re.Match[str], text: str, length: int) -> bool:
        """Return whether a name is bound or imported at its place, and not used."""
        start = text.rfind("\n", 0, match.start()) + 1
        line = text[start : match.start()]
        # The block of a function may stand on the line of its name: `function f() { rm(OUT) }`.
        if _SKIPPED_LINE.match(text, start) and "{" not in line.partition("(")[2]:
            return True
        if length < len(match["chain"]) or _AFTER_WORD.search(line):
            return False  # `for path in PATHS:`
        return _NAMING.match(text, match.end()) is not None

    def _write(self, value: Value) -> str:
        """Return a value as the language of the text writes it."""
        if isinstance(value, str):
            return _quote(value)
        return _LISTS.get(self._language, "[%s]") % ", ".join(map(_quote, value))


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _to_words(value: Value) -> str:
    return value if isinstance(value, str) else " ".join(value)
