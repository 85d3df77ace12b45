"""Draft the record of a program from its help text or from a completion spec, for a person to review."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

_OPTION_LINE = re.compile(
    r"^\s{1,12}(-{1,2}[A-Za-z0-9][\w-]*(?:[ =]?[<\[A-Z][^,\s]*)?(?:,\s*-{1,2}[A-Za-z0-9][\w-]*)?)(.*)$"
)
_OPTION = re.compile(r"(?<![\w-])(-{1,2}[A-Za-z0-9][\w-]*)")
# `--file FILE`, `--file=FILE`, `--file <file>`, `--name string`: what stands for the value before the description.
_VALUE = re.compile(r"^\[?=|^\s(?:<[^>]+>|\[?[A-Z][A-Z0-9_|.-]+\]?$|(?:strings?|int|duration|file|path)$)")
_AFTER_COMMA = re.compile(r",\s+")
_COMMAND_HEADING = re.compile(r"(?i)^\s*(?:[\w ]+ )?(?:sub)?commands?\b.*:?\s*$")
_COMMAND_LINE = re.compile(r"^\s{1,8}([a-z][a-z0-9:_-]+)(?:,\s*[a-z][\w-]*)*(?:\s{2,}\S.*)?$")


class Draft(NamedTuple):
    """What could be read of a program: options with a value, options without one, commands."""

    values: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


def read_help(text: str) -> Draft:
    """Return what a help text shows."""
    values: dict[str, None] = {}
    flags: dict[str, None] = {}
    commands: dict[str, None] = {}
    is_command_list = False
    for source_line in text.splitlines():
        line = _AFTER_COMMA.sub(", ", source_line)
        if not line.strip():
            continue
        if not line[0].isspace():
            is_command_list = _COMMAND_HEADING.match(line) is not None
            continue
        if _OPTION_LINE.match(line):
            # Two blanks begin the description, in which anything may stand.
            head = re.split(r"\s{2,}", line.strip(), maxsplit=1)[0]
            names = _OPTION.findall(head)
            tail = head[head.rfind(names[-1]) + len(names[-1]) :]
            (values if _VALUE.match(tail) else flags).update(dict.fromkeys(names))
        elif is_command_list and (match := _COMMAND_LINE.match(line)):
            commands[match[1]] = None
    return Draft(tuple(values), tuple(name for name in flags if name not in values), tuple(commands))


def read_carapace_spec(spec: Mapping[str, Any]) -> Draft:
    """Return what a completion spec of carapace says: `-f, --file=` takes a value, `-v, --verbose` none."""
    values: dict[str, None] = {}
    flags: dict[str, None] = {}
    for key in ("flags", "persistentflags"):
        for definition in spec.get(key) or ():
            names = _OPTION.findall(definition)
            (values if definition.rstrip("*!?&").endswith("=") else flags).update(dict.fromkeys(names))
    return Draft(tuple(values), tuple(flags), tuple(str(c["name"]).split()[0] for c in spec.get("commands") or ()))


def render_record(name: str, draft: Draft, find_kind: Callable[[str], str]) -> str:
    """Return the draft as TOML; `find_kind` tells what the verb in a command's name means."""
    lines = ["# A draft: check each line, and give every command that changes something its effect.", "[[program]]"]
    lines.append(f'names = "{name}"')
    lines += _render_options("values", draft.values) + _render_options("flags", draft.flags)
    if draft.commands:
        lines += ["commands = [", *(_render_command(command, find_kind(command)) for command in draft.commands), "]"]
    return "\n".join(lines) + "\n"


def _render_options(key: str, options: Iterable[str]) -> list[str]:
    text = " ".join(options)
    return [f'{key} = "{text}"'] if text else []


def _render_command(command: str, kind: str) -> str:
    if kind == "delete":
        return f'    {{ names = "{command}", does = "unknown.destroy", on = "*", as = "other", always = true }},'
    if kind == "write":
        return f'    # {{ names = "{command}", does = "…" }},'
    return f'    # {{ names = "{command}" }},  # seems to change nothing'
