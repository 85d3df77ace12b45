"""What a piece of shell text would run: the values that the rest of verdikt reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

UNKNOWN = "\ufffc"
"""Stands in `Word.text` for each part that the text alone does not tell."""


class Word(NamedTuple):
    """One word after expansion, as far as constants allow. `raw` is the source; `glob` means it holds live wildcards."""

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
        """The word for messages: resolved when known, as written otherwise."""
        return self.text if self.is_known else (self.raw or self.text.replace(UNKNOWN, "…"))


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection: `op` is `<`, `>`, `>>`, `>|`, `&>`, `<>`, `<<<`, `<<`, `>&` …; `fd` as written or the default."""

    op: str
    fd: int
    target: Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One simple command that would run, in the order in which it would.

    Commands found inside others (`sudo rm`, `bash -c '…'`, `xargs rm`, `find -exec rm {}`, `$(…)`, functions when called)
    are commands of their own, with `via` naming what they were found in, outermost first.
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
        if not self.argv or not self.argv[0].is_known:
            return ""
        return self.argv[0].text.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Program text for another interpreter (`python -c`, `node -e`, SQL …) that a command would run."""

    language: (
        str  # python, node, perl, ruby, php, lua, powershell, cmd, osascript …; `sh` for shell text that is not known
    )
    text: str
    is_known: bool = True  # False: some of it is not constant; for `sh`, nothing of it is, else it would be commands
    via: tuple[str, ...] = ()
    command: int | None = None  # index in Script.commands of the command that runs it


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Everything that a piece of shell text would run. `problems` says what could not be understood, in words."""

    text: str
    commands: tuple[Command, ...] = ()
    codes: tuple[Code, ...] = ()
    problems: tuple[str, ...] = ()
