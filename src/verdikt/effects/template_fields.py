"""Fill in the fields that runners put into their settings before a command runs: `{env:HOME}`, `{{.OLD_DIR}}`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from verdikt.model.lazy_regex import compile_lazily

_ENVIRONMENT_FIELD = compile_lazily(r"(?<!\$)\{env:(\w+)(?::[^{}]*)?\}")
"""A variable of the environment in the settings of tox and hatch."""
_TEMPLATE_FIELD = compile_lazily(r"(?<!\$)\{\{\s*(?:\.|env\.|\.Env\.|vars\.)?(\w+)\s*\}\}")
"""A field of a template, as of Task, GoReleaser and mise."""
_ASSIGNMENT = compile_lazily(r"""(?m)^\s+([A-Za-z_]\w*):[ \t]*["']?([^\s"'{\[|>&][^"'\n]*|\{\{[^"'\n]*)["']?[ \t]*$""")
_ROOTS = frozenset("ROOT_DIR TASKFILE_DIR USER_WORKING_DIR config_root cwd".split())
"""Fields that stand for the directory of the project."""
_VARIABLE = compile_lazily(r"(?<!\$)\$(?:\{(\w+)(?::?[-=?+]([^{}]*))?\}|([A-Za-z_]\w*))")
_TERRAFORM_PLACE = compile_lazily(r"\$\{path\.(?:module|root|cwd)\}")
_MAX_DEPTH = 3


def fill_variables(text: str, values: Mapping[str, str]) -> str:
    """Return a text with the variables that are known replaced, and others by the value that the text gives them."""

    def fill(match: re.Match[str]) -> str:
        value = values.get(match[1] or match[3], match[2] or "")
        return value.strip() or match[0]

    return _VARIABLE.sub(fill, text)


def fill_place(text: str, directory: str) -> str:
    """Return settings of Terraform with the fields replaced that stand for their directory."""
    return _TERRAFORM_PLACE.sub(lambda _: directory, text) if "${path." in text else text


def fill_fields(text: str) -> str:
    """Return settings with their fields replaced by what the same text gives them, or by variables of a shell."""
    text = _ENVIRONMENT_FIELD.sub(r"${\1}", text)
    if "{{" not in text:
        return text
    values = dict(_ASSIGNMENT.findall(text))

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name in _ROOTS:
            return "."
        if name in values:
            return str(values[name]).strip()
        return f"${{{name}}}" if name.isupper() else match[0]

    for _ in range(_MAX_DEPTH):
        filled = _TEMPLATE_FIELD.sub(fill, text)
        if filled == text:
            break
        text = filled
    return text
