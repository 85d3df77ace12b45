"""A command that is still being put together."""

from __future__ import annotations

from dataclasses import dataclass

from verdikt.shell.command import Command, Redirect, Word


@dataclass(slots=True)
class CommandDraft:
    """A `Command` before it is finished: the same fields, still open to change.

    What comes after a command in a pipeline is not known when the command is noted.
    """

    argv: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    redirects: tuple[Redirect, ...]
    cwd: Word | None
    via: tuple[str, ...]
    host: str
    stdin: str | None
    pipe_from: int | None
    pipe_to: int | None
    background: bool
    conditional: bool
    repeated: bool
    span: tuple[int, int]
    depth: int
    feeds: int | None

    @classmethod
    def from_words(
        cls, words: list[Word], redirects: tuple[Redirect, ...], span: tuple[int, int], pipe_from: int | None
    ) -> CommandDraft:
        """A command that stands in the outermost text, runs in the foreground and where it is told to, and surely runs."""
        return cls(
            argv=tuple(words),
            assignments=(),
            redirects=redirects,
            cwd=None,
            via=(),
            host="",
            stdin=None,
            pipe_from=pipe_from,
            pipe_to=None,
            background=False,
            conditional=False,
            repeated=False,
            span=span,
            depth=0,
            feeds=None,
        )

    def to_command(self) -> Command:
        """The command, closed."""
        return Command(
            argv=self.argv,
            assignments=self.assignments,
            redirects=self.redirects,
            cwd=self.cwd,
            via=self.via,
            host=self.host,
            stdin=self.stdin,
            pipe_from=self.pipe_from,
            pipe_to=self.pipe_to,
            background=self.background,
            conditional=self.conditional,
            repeated=self.repeated,
            span=self.span,
            depth=self.depth,
            feeds=self.feeds,
        )
