"""A command whose words are known, and the circumstances it runs in."""

from typing import TYPE_CHECKING

from verdikt.shell.command import UNKNOWN, Code, Redirect, Word
from verdikt.shell.frame import Frame
from verdikt.shell.redirect import contents, place
from verdikt.shell.scope import Scope

if TYPE_CHECKING:
    from verdikt.shell.run import Runner

_DEEPEST = 24


class Invocation:
    """One command on its way into the list; what it runs in turn is handed back to the walker."""

    __slots__ = ("assignments", "first", "frame", "index", "name", "redirects", "scope", "span", "walker", "words")

    def __init__(
        self, walker: "Runner", words: list[Word], *, scope: Scope, frame: Frame, span: tuple[int, int]
    ) -> None:
        self.walker = walker
        self.words = words
        self.scope = scope
        self.frame = frame
        self.span = span
        self.assignments: tuple[tuple[str, Word], ...] = ()
        self.redirects: tuple[Redirect, ...] = ()
        self.name = ""
        self.index = 0
        self.first: int | None = None  # where the commands inside its own words begin

    def inside(self, label: str = "", *, where: str = "", repeated: bool = False) -> Frame:
        """The circumstances of what it runs."""
        return self.frame.inside(label or self.name, self.span, where=where, repeated=repeated)

    def run(
        self,
        words: list[Word],
        *,
        label: str = "",
        where: str = "",
        repeated: bool = False,
        scope: Scope | None = None,
        assignments: tuple[tuple[str, Word], ...] = (),
    ) -> str | None:
        """Goes on with the words of an inner command."""
        if not words:
            return None
        frame = self.inside(label, where=where, repeated=repeated)
        if frame.depth > _DEEPEST:
            self.walker.problem("it is nested too deeply to follow")
            return None
        inner = scope or (self.elsewhere() if where else self.scope)
        call = Invocation(self.walker, words, scope=inner, frame=frame, span=self.span)
        call.assignments = assignments
        return self.walker.call(call)

    def shell(
        self,
        text: str,
        *,
        label: str = "",
        where: str = "",
        repeated: bool = False,
        arguments: list[str] | None = None,
        scope: Scope | None = None,
        stdin: bool = True,
    ) -> str | None:
        """Goes on with a text for a shell; one of which nothing is known is noted as code that is not."""
        if not text.strip(UNKNOWN + " \n\t"):
            shown = self._shown() if UNKNOWN in text else None
            if shown is None:
                if UNKNOWN in text:
                    self.code("sh", text)
                return None
            text = shown
        frame = self.inside(label, where=where, repeated=repeated)
        if not stdin:
            frame = frame.reading(None)
        inner = scope or (self.elsewhere() if where else Scope(self.scope))
        if arguments is not None:
            inner.arguments = arguments
        for name, word in self.assignments:
            inner.set(name, word.text)
        return self.walker.text(text, inner, frame)

    def _shown(self) -> str | None:
        """The file that `$(cat file)` put into the words: it is a program then."""
        fed = [draft for draft in self.walker.drafts[self.first or 0 : self.index] if draft.feeds == self.index]
        if len(fed) != 1 or len(fed[0].argv) > 2 or not fed[0].argv or fed[0].argv[0].text != "cat":
            return None
        named = [*fed[0].argv[1:], *(one.target for one in fed[0].redirects if one.op == "<")]
        return contents(self.walker, named[0], self.scope) if len(named) == 1 else None

    def writes(self, path: str) -> None:
        """Notes that a program inside it writes a file."""
        call = Invocation(self.walker, [], scope=self.scope, frame=self.inside(), span=self.span)
        call.redirects = (Redirect(">", 1, Word(path, path)),)
        self.walker.call(call)

    def within(self, directory: Word | None) -> Scope:
        """The scope of what it runs in another directory, as `make -C` does."""
        scope = Scope(self.scope)
        if directory is not None:
            scope.cwd = place(self.walker, directory.text, scope) if directory.known else UNKNOWN
        return scope

    def elsewhere(self) -> Scope:
        """Another machine: its home and its variables are not ours."""
        scope = Scope(cwd="~")
        scope.values.update({"HOME": "~", "PWD": UNKNOWN, "USER": UNKNOWN})
        return scope

    def code(self, language: str, text: str) -> None:
        """Notes a program in another language."""
        self.walker.codes.append(
            Code(
                language=language,
                text=text,
                known=UNKNOWN not in text,
                via=(*self.frame.via, self.name),
                command=self.index,
            )
        )
