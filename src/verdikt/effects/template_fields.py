"""Fill in the fields that runners put into their settings before a command runs: `{env:HOME}`, `{{.OLD_DIR}}`."""

from __future__ import annotations

import re

from verdikt.model.lazy_regex import compile_lazily

_ENVIRONMENT_FIELD = compile_lazily(r"(?<!\$)\{env:(\w+)(?::[^{}]*)?\}")
"""A variable of the environment in the settings of tox and hatch."""
_TEMPLATE_FIELD = compile_lazily(r"(?<!\$)\{\{\s*(?:\.|env\.|\.Env\.|vars\.)?(\w+)\s*\}\}")
"""A field of a template, as of Task, GoReleaser and mise."""
_ASSIGNMENT = compile_lazily(r"""(?m)^\s+([A-Za-z_]\w*):[ \t]*["']?([^\s"'{\[|>&][^"'\n]*|\{\{[^"'\n]*)["']?[ \t]*$""")
_ROOTS = frozenset("ROOT_DIR TASKFILE_DIR USER_WORKING_DIR config_root cwd".split())
"""Fields that stand for the directory of the project."""
_MAX_DEPTH = 3


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
