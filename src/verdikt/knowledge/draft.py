"""Draft the record of a program from its help text or from a completion spec, for a person to review."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

_OPTION_LINE = re.compile(
    r"^\s{1,12}(-{1,2}[A-Za-z0-9][\w-]*(?:[ =]?[<\[A-Z][^,\s]*)?(?:,\s*-{1,2}[A-Za-z0-9][\w-]*)?)(.*)$"
)
_OPTION = re.compile(r"(?<![\w-])(-{1,2}[A-Za-z0-9][\w-]*)")
# `--file FILE`, `--file=FILE`, `--file <file>`, `--name string`: what stands for the value before the description.
_VALUE = re.compile(
    r"^=|^\s(?:<[^>]+>|\[?[A-Z][A-Z0-9_|.-]*\]?$"
    r"|(?:string(?:s|Array)?|u?ints?|n|num(?:ber)?|float|bytes|bool|duration|time|file(?:name)?|path|dir(?:ectory)?|list"
    r"|name|value|ur[il]|host|port|key=value)$)"
)
# `-q quiet`, `--wait SECONDS to wait`: the value of an option or what it means. Such an option is left out, so that it
# is read both ways.
_DOUBTFUL_VALUE = re.compile(r"^\s(?:[\w=-]+$|[A-Z][A-Z0-9_-]+\s)")
# `[-C <path>]`, `[--git-dir=<path>]`, `[-p | --paginate]`
_USAGE_OPTION = re.compile(r"\[(-[^][]*(?:\[[^][]*\])?)\]")
_AFTER_COMMA = re.compile(r",\s+")
_COMMAND_HEADING = re.compile(r"(?i)^\s*(?:[\w ]+ )?(?:sub)?commands?\b.*:?\s*$")
_OTHER_HEADING = re.compile(
    r"(?i)^\s*(?:[\w ]+ )?(?:usage|options?|flags?|arguments?|examples?|environment|topics?|parameters?)\b.*:?\s*$"
)
_COMMAND_LINE = re.compile(r"^\s{1,8}(?:[+*] )?([a-z][a-z0-9:_-]+)(?:,\s*[a-z][\w-]*)*(?:\s{2,}(\S+).*)?$")
# Aliases at every level would multiply.
_MAX_PREFIXES = 4
# Nothing else of a foreign text is put into the record.
_WORD = re.compile(r"[A-Za-z0-9][\w.:@+-]*")
_DRY_RUN_OPTIONS = frozenset("--dry-run --dryrun --dry_run --what-if --noop --no-op --pretend --simulate".split())
# A record lists none of them: they are known for every program, and a listed `-h` would mean something else.
_HELP_OPTIONS = frozenset(("-h", "--help", "--version"))
_STRICTNESS = ("delete", "write", "read", "")


class DraftError(Exception):
    """A text from which no record can be drafted."""


class Draft(NamedTuple):
    """What could be read of a program, or of one of its commands."""

    values: tuple[str, ...] = ()  # options with a value
    flags: tuple[str, ...] = ()  # options without one
    commands: tuple[Draft, ...] = ()
    names: tuple[str, ...] = ()  # of a command: its name and its aliases
    kind: str = ""  # read, write or delete, if the text says so
    glued: tuple[str, ...] = ()  # options whose value must be attached
    destroying: tuple[str, ...] = ()  # options with which it may destroy something
    changing: tuple[str, ...] = ()  # options with which it changes something
    summary_verb: str = ""  # the first word of the line that describes a command: `delete a box`
    dry_run: tuple[str, ...] = ()  # options with which nothing happens, as their long names say
    command_at: int | None = None  # how many words stand before the command that it runs


def find_option_names(text: str) -> list[str]:
    """Return the options that a text names: `-f, --file=` → `-f`, `--file`."""
    return _OPTION.findall(text)


def is_option(name: str) -> bool:
    """Return whether a text is the name of an option, and nothing else."""
    return _OPTION.fullmatch(name) is not None


def is_word(name: str) -> bool:
    """Return whether a text can be the name of a program or of a command."""
    return _WORD.fullmatch(name) is not None


def read_help(text: str) -> Draft:
    """Return what a help text shows."""
    values: dict[str, None] = {}
    flags: dict[str, None] = {}
    commands: dict[str, str] = {}  # name → the first word of its description
    glued: dict[str, None] = {}
    doubtful: set[str] = set()
    dry_run: dict[str, None] = {}
    is_command_list = False
    for option in _list_usage_options(text):
        name = _OPTION.findall(option.partition("=")[0].partition("<")[0])
        takes_value = "<" in option or "=" in option
        (glued if "[=" in option else values if takes_value else flags).update(dict.fromkeys(name))
    for source_line in text.splitlines():
        line = _AFTER_COMMA.sub(", ", source_line)
        if not line.strip():
            continue
        if not line[0].isspace():
            # git has a heading for each group of its commands.
            is_listed = is_command_list and _OTHER_HEADING.match(line) is None
            is_command_list = is_listed or _COMMAND_HEADING.match(line) is not None
            continue
        if _OPTION_LINE.match(line):
            # Two blanks begin the description, in which anything may stand.
            head = re.split(r"\s{2,}", line.strip(), maxsplit=1)[0]
            names = _OPTION.findall(head)
            tail = head[head.rfind(names[-1]) + len(names[-1]) :]
            is_value = _VALUE.match(tail) is not None
            # `--color[=WHEN]` takes a value only in the same word.
            (glued if tail[:2] == "[=" else values if is_value else flags).update(dict.fromkeys(names))
            dry_run.update(dict.fromkeys(names if not _DRY_RUN_OPTIONS.isdisjoint(names) else ()))
            doubtful.update(names if not is_value and _DOUBTFUL_VALUE.match(tail) else ())
        elif is_command_list and (match := _COMMAND_LINE.match(line)):
            commands[match[1]] = match[2] or ""
    own_flags = tuple(name for name in flags if name not in values and name not in doubtful | _HELP_OPTIONS)
    inner_commands = tuple(Draft(names=(name,), summary_verb=verb) for name, verb in commands.items())
    return Draft(tuple(values), own_flags, inner_commands, glued=tuple(glued), dry_run=tuple(dry_run))


def _list_usage_options(text: str) -> list[str]:
    """Return what stands between brackets in the first paragraph, if that says how the program is used."""
    usage = text.lstrip().partition("\n\n")[0]
    return _USAGE_OPTION.findall(usage) if usage[:6].lower() == "usage:" else []


def render_record(name: str, draft: Draft, find_kind: Callable[[str], str]) -> str:
    """Return the draft as TOML; `find_kind` tells what the verb in a command's name means."""
    lines = ["# A draft: check each line, and give every command that changes something its effect."]
    lines += ['# A new file begins with a line `title = "…"`.', "[[program]]", f'names = "{name}"']
    lines += _render_options(draft)
    if draft.command_at is not None:
        lines.append(f"runs = {{ skip = {draft.command_at} }}")
    if rows := list(_render_rows(draft, "")):
        lines += ["effects = [", *(f"    {row}," for row in rows), "]"]
    inner = [command for command in draft.commands if command.names != (name,)]
    if commands := list(_render_commands(inner, ("",), find_kind)):
        lines += ["commands = [", *commands, "]"]
    return "\n".join(lines) + "\n"


def _render_options(draft: Draft) -> list[str]:
    dry_run = [name for name in draft.flags if name in _DRY_RUN_OPTIONS or name in draft.dry_run]
    flags = [name for name in draft.flags if name not in dry_run]
    lists = {"values": draft.values, "flags": flags, "glued": draft.glued, "dry_run": dry_run}
    texts = {key: " ".join(dict.fromkeys(names)) for key, names in lists.items()}
    # An option that is listed with and without a value is one of those that a record reads both ways.
    twice = set(draft.values) & {*draft.flags, *draft.glued} | set(draft.flags) & set(draft.glued)
    texts = {key: " ".join(name for name in text.split() if name not in twice) for key, text in texts.items()}
    return [f'{key} = "{text}"' for key, text in texts.items() if text]


def _render_rows(draft: Draft, kind: str) -> Iterator[str]:
    """Yield the effects of a command: those of its options, and its own."""
    if kind == "delete":
        yield '"unknown.destroy other"'
    elif draft.destroying:
        options = " ".join(draft.destroying)
        yield f'"unknown.destroy other when {options}"'


def _render_commands(
    commands: Iterable[Draft], prefixes: tuple[str, ...], find_kind: Callable[[str], str]
) -> Iterator[str]:
    """Yield a line for each command at every level; one without an effect is a comment for the reviewer."""
    for command in commands:
        if not command.names:
            continue
        paths = tuple(f"{prefix} {name}".strip() for prefix in prefixes for name in command.names)
        kind = command.kind or _guess_kind(command, find_kind)
        parts = [f'names = "{", ".join(paths)}"', *_render_options(command)]
        if command.command_at is not None:
            parts.append(f"runs = {{ skip = {command.command_at} }}")
        rows = list(_render_rows(command, kind))
        if rows:
            parts.append(f"effects = [{', '.join(rows)}]")
        line = f"{{ {', '.join(parts)} }},"
        if rows or command.command_at is not None:
            yield f"    {line}"
        elif kind != "read" or command.changing:
            hint = f"  # changes something with {' '.join(command.changing)}" if command.changing else ""
            yield f'    # {{ {", ".join(parts)}, does = "…" }},{hint}'
        else:
            yield f"    # {line}  # {'changes nothing' if command.kind else 'seems to change nothing'}"
        yield from _render_commands(command.commands, paths[:_MAX_PREFIXES], find_kind)


def _guess_kind(command: Draft, find_kind: Callable[[str], str]) -> str:
    """Return the strictest of what a command's name and the first word of its description mean."""
    # `deletes a box`, `delete a box`
    verbs = (command.names[0], command.summary_verb, command.summary_verb.removesuffix("s"))
    return min(map(find_kind, verbs), key=_STRICTNESS.index)
