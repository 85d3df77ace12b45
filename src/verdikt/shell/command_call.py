"""A command whose words are known, and the circumstances it runs in."""

from typing import TYPE_CHECKING

from verdikt.shell.command import UNKNOWN, Code, Redirect, Word
from verdikt.shell.frame import Frame
from verdikt.shell.redirection import read_contents, resolve_path
from verdikt.shell.scope import Scope

if TYPE_CHECKING:
    from verdikt.shell.command_walker import CommandWalker

_MAX_DEPTH = 24


class CommandCall:
    """One command on its way into the list; what it runs in turn is handed back to the walker."""

    __slots__ = (
        "assignments",
        "first_inner_index",
        "frame",
        "index",
        "name",
        "redirects",
        "scope",
        "span",
        "walker",
        "words",
    )

    def __init__(
        self, walker: "CommandWalker", words: list[Word], *, scope: Scope, frame: Frame, span: tuple[int, int]
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
        self.first_inner_index: int | None = None  # where the commands inside its own words begin

    def create_inner_frame(self, label: str = "", *, host: str = "", repeated: bool = False) -> Frame:
        """The circumstances of what it runs."""
        return self.frame.create_inner_frame(label or self.name, self.span, host=host, repeated=repeated)

    def walk_command(
        self,
        words: list[Word],
        *,
        label: str = "",
        host: str = "",
        repeated: bool = False,
        scope: Scope | None = None,
        assignments: tuple[tuple[str, Word], ...] = (),
    ) -> str | None:
        """Goes on with the words of an inner command."""
        if not words:
            return None
        frame = self.create_inner_frame(label, host=host, repeated=repeated)
        if frame.depth > _MAX_DEPTH:
            self.walker.add_problem("it is nested too deeply to follow")
            return None
        inner = scope or (self.create_remote_scope() if host else self.scope)
        call = CommandCall(self.walker, words, scope=inner, frame=frame, span=self.span)
        call.assignments = assignments
        return self.walker.walk_call(call)

    def walk_shell_text(
        self,
        text: str,
        *,
        label: str = "",
        host: str = "",
        repeated: bool = False,
        arguments: list[str] | None = None,
        scope: Scope | None = None,
        inherit_stdin: bool = True,
    ) -> str | None:
        """Goes on with a text for a shell; one of which nothing is known is noted as code that is not."""
        if not text.strip(UNKNOWN + " \n\t"):
            shown = self._read_cat_substitution() if UNKNOWN in text else None
            if shown is None:
                if UNKNOWN in text:
                    self.record_code("sh", text)
                return None
            text = shown
        frame = self.create_inner_frame(label, host=host, repeated=repeated)
        if not inherit_stdin:
            frame = frame.with_stdin(None)
        inner = scope or (self.create_remote_scope() if host else Scope(self.scope))
        if arguments is not None:
            inner.arguments = arguments
        for name, word in self.assignments:
            inner.set_variable(name, word.text)
        return self.walker.walk_text(text, inner, frame)

    def _read_cat_substitution(self) -> str | None:
        """The file that `$(cat file)` put into the words: it is a program then."""
        fed = [
            draft for draft in self.walker.drafts[self.first_inner_index or 0 : self.index] if draft.feeds == self.index
        ]
        if len(fed) != 1 or len(fed[0].argv) > 2 or not fed[0].argv or fed[0].argv[0].text != "cat":
            return None
        named = [*fed[0].argv[1:], *(one.target for one in fed[0].redirects if one.op == "<")]
        return read_contents(self.walker, named[0], self.scope) if len(named) == 1 else None

    def record_write(self, path: str) -> None:
        """Notes that a program inside it writes a file."""
        call = CommandCall(self.walker, [], scope=self.scope, frame=self.create_inner_frame(), span=self.span)
        call.redirects = (Redirect(">", 1, Word(path, path)),)
        self.walker.walk_call(call)

    def create_directory_scope(self, directory: Word | None) -> Scope:
        """The scope of what it runs in another directory, as `make -C` does."""
        scope = Scope(self.scope)
        if directory is not None:
            scope.cwd = resolve_path(self.walker, directory.text, scope) if directory.is_known else UNKNOWN
        return scope

    def create_remote_scope(self) -> Scope:
        """Another machine: its home and its variables are not ours."""
        scope = Scope(cwd="~")
        scope.variables.update({"HOME": "~", "PWD": UNKNOWN, "USER": UNKNOWN})
        return scope

    def record_code(self, language: str, text: str) -> None:
        """Notes a program in another language."""
        self.walker.codes.append(
            Code(
                language=language,
                text=text,
                is_known=UNKNOWN not in text,
                via=(*self.frame.via, self.name),
                command=self.index,
            )
        )
