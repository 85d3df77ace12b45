"""What the record of a program says about the commands and the code that it runs, as objects."""

from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from verdikt.knowledge import Record, find_record


class Wrapper(NamedTuple):
    """Position of the inner command: after the options, `skip` further words and, for some, assignments."""

    valued: str = ""  # options that take a value: `-u --user`
    skip: int = 0  # words before the command: `timeout 5 cmd`
    assignments: bool = False  # `env A=1 cmd`
    joined: bool = False  # the words are joined into text for a shell, as `ssh` and `watch` do
    text: str = ""  # options whose value is text for a shell: `su -c 'cmd'`
    host: str = ""  # "1": the first skipped word is where it runs; else the name of the place
    after: str = ""  # the command follows this word only: `nix develop -c cmd`
    repeated: bool = False
    shell: str = ""  # what runs when no command is given and standard input is read: `su`, `ssh`
    directory: str = ""  # options that say where it runs: `env -C dir`
    only_text: bool = False  # without a text option there is no inner command
    login: str = ""  # options with which the words are text for a shell: `sudo -s`
    program: str = ""  # options whose value is the program itself: `docker run --entrypoint`
    split: bool = False  # the words that follow go on with the text: `env -S 'cmd a' b`


class Interpreter(NamedTuple):
    """Options of an interpreter: those with a program as value, and those that name a module."""

    language: str
    options: str = ""
    module: str = ""  # options after which the words are a module or a file of its own: `python -m`
    stdin: bool = True
    subcommand: str = ""  # `deno eval`


class ExecOption(NamedTuple):
    """Options whose value is a command; `prefix` limits the values, `language` says that the value is a program.

    With `in_file` the value is a file, whose lines with such a prefix are the commands.
    """

    options: str
    prefix: str = ""
    language: str = ""
    in_file: bool = False


class CommandLevel(NamedTuple):
    """One level of a program's commands: the options before the next word, and what that word may lead to."""

    valued: str
    known: frozenset[str]
    rows: dict[str, Wrapper]  # command → how the inner command is found after it
    levels: dict[str, "CommandLevel"]  # command → the level below it


class Runner(NamedTuple):
    """What a program runs."""

    valued: str  # options of the program itself that take a value
    wrapper: Wrapper | None
    commands: CommandLevel | None
    interpreter: Interpreter | None
    exec_options: tuple[ExecOption, ...]
    command_exec_options: tuple[tuple[frozenset[str], tuple[ExecOption, ...]], ...]  # with the words of the command
    shell_lines: tuple[str, ...]  # prefixes of lines that it hands to a shell, from its arguments or its input
    valued_options: frozenset[str]  # those of the program itself that take the next word as their value
    plain_options: frozenset[str]  # those that take none
    known_options: frozenset[str]  # all that its record lists for the program itself
    option_variable: str  # a variable whose words count as options
    trace: str  # the function that finds what it runs, where a row can't say it

    @property
    def runs_others(self) -> bool:
        """Whether the program runs other commands or code, by whatever way."""
        ways = (self.shell_lines, self.exec_options, self.command_exec_options, self.trace)
        return any(ways) or (self.commands, self.interpreter, self.wrapper) != (None, None, None)


_ABBREVIATED_KEYS = frozenset("values globals flags options text directory program login".split())


@lru_cache(maxsize=4096)
def find_runner(name: str) -> Runner | None:
    """Return what a program runs; None for a program without a record."""
    record = find_record(name)
    return None if record is None else build_runner(record)


def build_runner(record: Record) -> Runner:
    """Return what the program of a record runs."""
    if record.get("abbreviate"):
        record = _add_abbreviations(record, sorted(set(_list_long_options(record))))
    valued = f"{record.get('values', '')} {record.get('globals', '')}"
    code = record.get("code")
    if "glued" in record:
        valued += "".join(f" {name}~" for name in record["glued"].split())
    level = _build_level(record, valued, "")
    return Runner(
        valued,
        _build_wrapper(record, valued),
        level if level.rows or level.levels else None,
        None if code is None else Interpreter(**code),
        tuple(ExecOption(**row) for row in record.get("exec", ())),
        tuple(_iter_command_exec_options(record)),
        tuple(record.get("lines", ())),
        frozenset(valued.split()),
        frozenset(record.get("flags", "").split()),
        frozenset(f"{record.get('flags', '')} {record.get('glued', '')} {valued}".split()),
        record.get("option_variable", ""),
        record.get("trace", ""),
    )


def _iter_command_exec_options(
    entry: Record, path: str = ""
) -> Iterator[tuple[frozenset[str], tuple[ExecOption, ...]]]:
    for name, command in entry.get("commands", {}).items():
        words = f"{path} {name}".split()
        if "exec" in command:
            yield frozenset(words), tuple(ExecOption(**row) for row in command["exec"])
        yield from _iter_command_exec_options(command, " ".join(words))


def _list_long_options(entry: Record) -> Iterator[str]:
    for key in ("values", "flags", "globals", "glued"):
        yield from (name for name in entry.get(key, "").split() if name[:2] == "--")
    for command in entry.get("commands", {}).values():
        yield from _list_long_options(command)


def _add_abbreviations(entry: Record, names: list[str]) -> Record:
    """Return an entry in which each long option stands with the abbreviations that mean no other option."""
    expanded = dict(entry)
    for key in _ABBREVIATED_KEYS & entry.keys():
        expanded[key] = _expand_abbreviations(entry[key], names)
    for key in {"runs", "code"} & entry.keys():
        expanded[key] = _add_abbreviations(entry[key], names)
    for key in {"exec"} & entry.keys():
        expanded[key] = [_add_abbreviations(row, names) for row in entry[key]]
    for key in {"commands"} & entry.keys():
        expanded[key] = {name: _add_abbreviations(command, names) for name, command in entry[key].items()}
    return expanded


def _expand_abbreviations(options: str, names: list[str]) -> str:
    abbreviations = [
        name[:length]
        for name in options.split()
        if name[:2] == "--"
        for length in range(3, len(name))
        if _means_no_other(name[:length], name, names)
    ]
    return " ".join((options, *abbreviations))


def _means_no_other(abbreviation: str, name: str, names: list[str]) -> bool:
    # In order, the names that begin with it stand together, and at most one of the first two is the name itself.
    first = bisect_left(names, abbreviation)
    return not any(other != name and other.startswith(abbreviation) for other in names[first : first + 2])


def _build_wrapper(entry: Record, valued: str) -> Wrapper | None:
    return Wrapper(valued=valued, **entry["runs"]) if "runs" in entry else None


def _build_level(entry: Record, valued: str, inherited: str) -> CommandLevel:
    """Return a level with those commands that run something, however deep."""
    known = frozenset(f"{entry.get('flags', '')} {valued}".split())
    rows: dict[str, Wrapper] = {}
    levels: dict[str, CommandLevel] = {}
    for path, command in _iter_running_commands(entry):
        own_values = command.get("values", "")
        inner_values = own_values if command.get("own") else f"{inherited} {entry.get('values', '')} {own_values}"
        words = path.split(" ")
        target, above = rows, levels
        for depth in range(1, len(words)):
            # `docker container exec`: the words between have the options of their program.
            below = above.setdefault(words[depth - 1], CommandLevel(valued, known, {}, {}))
            target, above = below.rows, below.levels
        if (row := _build_wrapper(command, inner_values)) is not None:
            target[words[-1]] = row
        nested = _build_level(command, inner_values, "" if command.get("own") else inner_values)
        if nested.rows or nested.levels:
            above[words[-1]] = nested
    return CommandLevel(valued, known, rows, levels)


def _iter_running_commands(entry: Record) -> Iterator[tuple[str, Record]]:
    for path, command in entry.get("commands", {}).items():
        if "runs" in command or next(_iter_running_commands(command), None) is not None:
            yield path, command
