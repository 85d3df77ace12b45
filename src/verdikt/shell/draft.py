"""A command that is still being put together."""

from __future__ import annotations

from verdikt.shell.command import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from verdikt.shell.command import Redirect, Word

    class _Layout:
        pass
else:
    _Layout = Command.__base__  # only its layout is that of a value


class Draft(_Layout):
    """A `Command` before it is finished: the same fields, still open to change.

    A frozen value is dear to build, and what comes after a command in a pipeline is not known when it is noted. A draft has
    the layout of a command, so that finishing it is no more than closing it.
    """

    __slots__ = tuple(Command.__fields__)
    if not TYPE_CHECKING:
        __init__ = object.__init__
        # Both, because the interpreter keeps them in one place: with one of them, setting a field goes the long way.
        __setattr__ = object.__setattr__
        __delattr__ = object.__delattr__

    argv: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    redirects: tuple[Redirect, ...]
    cwd: Word | None
    via: tuple[str, ...]
    where: str
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
    def plain(
        cls, words: list[Word], redirects: tuple[Redirect, ...], span: tuple[int, int], pipe_from: int | None
    ) -> Draft:
        """A command that stands in the outermost text, runs in the foreground and where it is told to, and surely runs."""
        draft = cls()
        draft.argv = tuple(words)
        draft.redirects = redirects
        draft.assignments = draft.via = ()
        draft.cwd = draft.stdin = draft.feeds = draft.pipe_to = None
        draft.where = ""
        draft.pipe_from = pipe_from
        draft.background = draft.conditional = draft.repeated = False
        draft.span = span
        draft.depth = 0
        return draft

    def finished(self) -> Command:
        """The same object, closed."""
        self.__class__ = Command  # type: ignore[assignment]
        return self  # type: ignore[return-value]
