"""The text of git's settings: `[section "part"]` with `key = value` below, as pairs of a full key and its value."""

from __future__ import annotations

import re

from verdikt.model.lazy_regex import compile_lazily

_LINE = compile_lazily(
    r"(?m)^[ \t]*(?:\[([\w.-]+)(?:[ \t]+\"((?:[^\"\\]|\\.)*)\")?\][ \t]*(?:[#;].*)?)?"
    r"(?:([A-Za-z][\w-]*)[ \t]*(?:=[ \t]*(.*))?)?$"
)
_COMMENT = compile_lazily(r"((?:[^\"#;\\]|\\.|\"(?:[^\"\\]|\\.)*\")*)[#;].*")
_ESCAPES = {"n": "\n", "t": "\t", "b": ""}
_ESCAPE = compile_lazily(r"\\(.)|\"")
_SECTION = compile_lazily(
    r"(?m)^[ \t]*\[(?:alias|core|include|includeIf \".*\"|filter \".*\"|diff \".*\"|merge \".*\"|remote \".*\")\]"
    r"[ \t\r]*(?:[#;].*)?$"
)


def parse_git_settings(text: str) -> list[tuple[str, str]]:
    """Return the settings in order; section and name are in lower case, what stands in quotes as it is written."""
    settings = []
    prefix = ""
    for match in _LINE.finditer(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\\\n", "")):
        section, part, name, value = match.groups()
        if section is not None:
            prefix = section.lower() + (f".{_ESCAPE.sub(_read_escape, part)}" if part is not None else "") + "."
        if name is not None and prefix:
            settings.append((prefix + name.lower(), "true" if value is None else _read_value(value)))
    return settings


def _read_value(written: str) -> str:
    comment = _COMMENT.match(written)
    plain = (comment[1] if comment else written).strip()
    return _ESCAPE.sub(_read_escape, plain)


def _read_escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[1]) if match[1] else ""


def is_git_settings(text: str) -> bool:
    """Return whether a text has a section that only settings of git have."""
    return _SECTION.search(text) is not None


def normalize_key(key: str) -> str:
    """Return a key as the list of settings has it: `Clean.requireForce` as `clean.requireforce`."""
    first, dot, remainder = key.partition(".")
    part, last_dot, name = remainder.rpartition(".")
    return f"{first.lower()}{dot}{part}{last_dot}{name.lower()}"
