"""What a piece of shell text would run: the values that the rest of verdikt reads."""

from __future__ import annotations

from verdikt.model.row import Row
from verdikt.model.value import Value

UNKNOWN = "\ufffc"
"""Stands in `Word.text` for each part that the text alone does not tell."""


class Word(Row):
    """One word after expansion, as far as constants allow. `raw` is the source; `glob` means it holds live wildcards."""

    text: str
    raw: str = ""
    glob: bool = False

    @property
    def known(self) -> bool:
        """Whether every part of the word is a constant."""
        return UNKNOWN not in self.text

    @property
    def prefix(self) -> str:
        """The constant text before the first unknown part."""
        return self.text.split(UNKNOWN, 1)[0]

    @property
    def shown(self) -> str:
        """The word for messages: resolved when known, as written otherwise."""
        return self.text if self.known else (self.raw or self.text.replace(UNKNOWN, "…"))


class Redirect(Value):
    """A redirection: `op` is `<`, `>`, `>>`, `>|`, `&>`, `<>`, `<<<`, `<<`, `>&` …; `fd` as written or the default."""

    op: str
    fd: int
    target: Word


class Command(Value, kw_only=True):
    """One simple command that would run, in the order in which it would.

    Commands found inside others (`sudo rm`, `bash -c '…'`, `xargs rm`, `find -exec rm {}`, `$(…)`, functions when called)
    are commands of their own, with `via` naming what they were found in, outermost first.
    """

    argv: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    cwd: Word | None = None  # where it runs, when a `cd` before it says so; None = where the action runs
    via: tuple[str, ...] = ()
    where: str = ""  # "" = this machine; else host, container or pod (`ssh web1`, `docker exec db`)
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
        if not self.argv or not self.argv[0].known:
            return ""
        return self.argv[0].text.rsplit("/", 1)[-1]


class Code(Value, kw_only=True):
    """Program text for another interpreter (`python -c`, `node -e`, SQL …) that a command would run."""

    language: (
        str  # python, node, perl, ruby, php, lua, powershell, cmd, osascript …; `sh` for shell text that is not known
    )
    text: str
    known: bool = True  # False: some of it is not constant; for `sh`, nothing of it is, else it would be commands
    via: tuple[str, ...] = ()
    command: int | None = None  # index in Script.commands of the command that runs it


class Script(Value, kw_only=True):
    """Everything that a piece of shell text would run. `problems` says what could not be understood, in words."""

    text: str
    commands: tuple[Command, ...] = ()
    codes: tuple[Code, ...] = ()
    problems: tuple[str, ...] = ()
