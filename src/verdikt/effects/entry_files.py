"""Files that a runner starts without being told their names: `cargo run`, `go run ./cmd/x`, `python tool`, `rake`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from verdikt.knowledge import find_starts
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.shell.command import Command


_STARTS = find_starts()
ENTRY_PROGRAMS = frozenset(_STARTS)
_START_WORDS = {
    name: frozenset(" ".join(row["commands"] for row in rows).split())
    for name, rows in _STARTS.items()
    if all("commands" in row for row in rows)
}
"""Program → the commands with which it starts something; a program that always does is not listed."""
_MAX_OPERANDS = 3
_TASK = compile_lazily(
    r"(?m)^[ \t]*(?:multi)?(?:task|file|directory)\b[ \t(]*[:\"']?([\w:-]+?)[\"']?(?:[ \t,:]*=>|:)?[ \t]*"
    r"(\[[^\]\n]*\]|:\w+|[\"'][\w:-]+[\"'])?(?=\s|\)|,|$)"
)
"""A task of Rake: its name, and what it needs: `task :default => [:test]`, `task default: :test`."""
_NAME = compile_lazily(r"[\w-]+")


class EntryFile(NamedTuple):
    """A place where the program of a runner may be."""

    path: str
    language: str
    has_tasks: bool
    """Whether it holds tasks, of which the command names some."""


def may_start_entry(command: Command) -> bool:
    """Return whether a command of a runner starts something; most of `cargo` and `go` build or look."""
    words = _START_WORDS.get(command.name)
    return words is None or not words.isdisjoint([word.text for word in command.argv])


def list_entry_files(command: Command) -> Iterator[EntryFile]:
    """Yield the files that a command may start, relative to its directory; most of them do not exist."""
    words = [word.text for word in command.argv[1:] if UNKNOWN not in word.text]
    if "--" in words:
        words = words[: words.index("--")]
    for row in _STARTS.get(command.name, ()):
        commands = _split(row["commands"]) if "commands" in row else ()
        rest = _skip_command(words, commands) if commands else words
        if rest is None:
            continue
        templates: list[tuple[str, str]] = [("", path) for path in _split(row.get("usual", ""))]
        options = _split(row.get("options", ""))
        for index, word in enumerate(rest):
            option, equals, value = word.partition("=")
            if option in options:
                name = value if equals else rest[index + 1] if index + 1 < len(rest) else ""
                templates += [(name, path) for path in _split(row["named"])]
        # A file of the language itself is read as what the command names.
        operands = [word for word in rest if word[:1] not in ("-", "")][:_MAX_OPERANDS]
        templates += [(word, path) for word in operands for path in _split(row.get("operands", ""))]
        for name, path in templates:
            yield EntryFile(_fill_template(path, name.rstrip("/") or "."), row["language"], row.get("tasks", False))


# The texts of records, of which there are few.
@cache
def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _skip_command(words: list[str], commands: Sequence[str]) -> list[str] | None:
    """Return the words after the first of these commands; None when another command comes first."""
    for place, word in enumerate(words):
        if word in commands:
            return words[place + 1 :]
        # The word after an option may be its value.
        if word[:1] not in "+-" and (not place or words[place - 1][:1] != "-"):
            return None
    return None


def _fill_template(path: str, name: str) -> str:
    directory, _, last = name.rpartition("/")
    return path.replace("{/}", directory or ".").replace("{=}", last or name).replace("{}", name)


def select_tasks(text: str, command: Command) -> str:
    """Return the text of a Rakefile without the tasks that a command does not name."""
    names = {word.text.rpartition(":")[2].partition("[")[0] for word in command.argv[1:] if word.text[:1] != "-"}
    names = names or {"default"}
    needs = {match[1].rpartition(":")[2]: set(_NAME.findall(match[2] or "")) for match in _TASK.finditer(text)}
    while more := set().union(*(needs.get(name, ()) for name in names)) - names:
        names |= more
    parts, start, keeps = [], 0, True
    for match in _TASK.finditer(text):
        if keeps:
            parts.append(text[start : match.start()])
        start, keeps = match.start(), match[1].rpartition(":")[2] in names
    if keeps:
        parts.append(text[start:])
    return "".join(parts)
