"""Values that describe what a piece of shell text would run; everything outside this package reads these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from verdikt.model.action import UNKNOWN as UNKNOWN  # noqa: PLC0414 - every reader of commands needs it


# Slots and no named tuple: words are read far more often than made, and a slot is read in a third of the time.
@dataclass(frozen=True, slots=True)
class Word:
    """One word after expansion, as far as constants allow.

    `raw` is the source of the word; `glob` is set when it contains wildcards that the shell would expand.
    """

    text: str
    raw: str = ""
    glob: bool = False

    @property
    def is_known(self) -> bool:
        """Whether every part of the word is a constant."""
        return UNKNOWN not in self.text

    @property
    def constant_prefix(self) -> str:
        """The constant text before the first unknown part."""
        return self.text.split(UNKNOWN, 1)[0]

    @property
    def display_text(self) -> str:
        """The word as messages show it: resolved when known, as written otherwise."""
        return self.text if self.is_known else (self.raw or self.text.replace(UNKNOWN, "…"))


class Redirect(NamedTuple):
    """A redirection.

    `op` is one of `<`, `>`, `>>`, `>|`, `&>`, `<>`, `<<<`, `<<`, `>&` …; `fd` is as written, or the operator's default.
    """

    op: str
    fd: int
    target: Word


class Command(NamedTuple):
    """One simple command that would run; a script lists its commands in the order in which they run.

    A command inside another one (`sudo rm`, `bash -c '…'`, `xargs rm`, `find -exec rm {}`, `$(…)`, the body of a
    function that is called) is a command of its own; its `via` names what it was found in, outermost first.
    """

    argv: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    cwd: Word | None = None  # where it runs, when a `cd` before it says so; None = where the action runs
    via: tuple[str, ...] = ()
    host: str = ""  # "" = this machine; else host, container or pod (`ssh web1`, `docker exec db`)
    stdin: str | None = None  # constant text it reads: here-document, here-string, constant pipe
    pipe_from: int | None = None  # index in Script.commands of the command whose output it reads
    pipe_to: int | None = None
    background: bool = False
    conditional: bool = False  # under `if`, `&&`, `||`, a loop or a function: may not run, but must be judged as if
    repeated: bool = False  # in a loop, `xargs`, `find -exec`, `watch`: targets come from elsewhere
    span: tuple[int, int] = (0, 0)  # bytes in the outermost text
    depth: int = 0
    feeds: int | None = None  # index of the command whose words or input it makes up, in `$(…)` and `<(…)`

    @property
    def name(self) -> str:
        """The program's name without its directory; empty when unknown."""
        argv = self.argv
        if not argv:
            return ""
        text = argv[0].text
        if UNKNOWN in text:
            return ""
        return text if "/" not in text else text[text.rfind("/") + 1 :]


_MAX_STAGE = 64


def list_stage(commands: Sequence[Command], first: int) -> Sequence[int]:
    """Return the commands of one stage of a pipeline, from its first: `{ a; b; } | c` reads `a` and `b`."""
    reader = commands[first].pipe_to
    if reader is None or reader <= first + 1:
        return (first,)
    return [i for i in range(first, min(reader, first + _MAX_STAGE)) if i == first or commands[i].pipe_to == reader]


@dataclass(slots=True)
class CommandDraft:
    """A `Command` under construction: the same fields, mutable.

    A command is recorded before the next one in a pipeline is known, so `pipe_to` and `feeds` are filled in later.
    """

    argv: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    redirects: tuple[Redirect, ...]
    cwd: Word | None
    via: tuple[str, ...]
    host: str
    stdin: str | None
    pipe_from: int | None
    background: bool
    conditional: bool
    repeated: bool
    span: tuple[int, int]
    depth: int
    pipe_to: int | None = None
    feeds: int | None = None

    def to_command(self) -> Command:
        """Return the finished, immutable command."""
        return Command._make(_GET_FIELDS(self))


# Of all ways to copy the fields this is the fastest: it runs no bytecode for any of them.
_GET_FIELDS = attrgetter(*Command._fields)


class Code(NamedTuple):
    """Program text for another interpreter (`python -c`, `node -e`, SQL …) that a command would run."""

    # python, node, perl, ruby, php, lua, powershell, cmd, osascript …; `sh` for shell text that is not known
    language: str
    text: str
    is_known: bool = True  # False: some of it is not constant; for `sh`, nothing of it is, else it would be commands
    via: tuple[str, ...] = ()
    command: int | None = None  # index in Script.commands of the command that runs it


class Script(NamedTuple):
    """Everything that a piece of shell text would run; `problems` says in words what could not be understood."""

    text: str
    commands: tuple[Command, ...] = ()
    codes: tuple[Code, ...] = ()
    problems: tuple[str, ...] = ()
