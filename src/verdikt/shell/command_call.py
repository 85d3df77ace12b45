"""A command whose words are known, and the circumstances in which it would run."""

from posixpath import join, normpath
from typing import TYPE_CHECKING

from verdikt.knowledge import find_role
from verdikt.shell.command import UNKNOWN, Code, Redirect, Word
from verdikt.shell.redirection import read_contents, resolve_path
from verdikt.shell.runner import find_runner
from verdikt.shell.scope import Scope

if TYPE_CHECKING:
    from verdikt.shell.command_walker import CommandWalker

_CONCATENATORS = find_role("concatenator")
# Deeper than any real nesting of `sudo bash -c "ssh host '…'"`; what goes deeper tries to exhaust the analysis.
_MAX_DEPTH = 24


class Frame:
    """What a command inherits from its place in the text; copied and changed on the way in, never afterwards."""

    __slots__ = (
        "background",
        "conditional",
        "depth",
        "host",
        "is_captured",
        "pipe_from",
        "repeated",
        "span",
        "stdin",
        "stdin_file",
        "via",
    )

    def __init__(self) -> None:
        self.via: tuple[str, ...] = ()
        self.host = ""
        self.depth = 0
        self.stdin: str | None = None
        self.stdin_file: Word | None = None  # the file that standard input comes from
        self.pipe_from: int | None = None
        self.background = False
        self.conditional = False
        self.repeated = False
        self.span: tuple[int, int] | None = None  # of the outermost command around it; None where each has its own
        self.is_captured = False  # its output is used: by `$(…)`, by a pipe or by a file

    def copy(self) -> "Frame":
        """Return the same circumstances, to be changed by the caller."""
        # Written out: `copy.copy` goes through the pickle protocol and takes several times as long.
        new = Frame.__new__(Frame)
        new.via = self.via
        new.host = self.host
        new.depth = self.depth
        new.stdin = self.stdin
        new.stdin_file = self.stdin_file
        new.pipe_from = self.pipe_from
        new.background = self.background
        new.conditional = self.conditional
        new.repeated = self.repeated
        new.span = self.span
        new.is_captured = self.is_captured
        return new

    def as_conditional(self) -> "Frame":
        """Return the same circumstances, for what may not run."""
        if self.conditional:
            return self
        new = self.copy()
        new.conditional = True
        return new

    def without_capture(self) -> "Frame":
        """Return the same circumstances, for what prints to the terminal."""
        if not self.is_captured:
            return self
        new = self.copy()
        new.is_captured = False
        return new

    def with_stdin(self, stdin: str | None, pipe_from: int | None = None, stdin_file: Word | None = None) -> "Frame":
        """Return the same circumstances with another standard input."""
        new = self.copy()
        new.stdin, new.pipe_from, new.stdin_file = stdin, pipe_from, stdin_file
        return new

    def lacks_input(self) -> bool:
        """Return whether nothing is known of standard input: no text, no file, no pipe."""
        return self.stdin is None and self.stdin_file is None and self.pipe_from is None

    def create_inner_frame(
        self, label: str, span: tuple[int, int], *, host: str = "", repeated: bool = False
    ) -> "Frame":
        """Return the circumstances one level further in: inside a wrapper, an interpreter's text, a function."""
        new = self.copy()
        new.via = (*self.via, label)
        new.depth = self.depth + 1
        new.span = span
        if host:
            host = host.replace(UNKNOWN, "…")
            new.host = f"{self.host}/{host}" if self.host else host
        if repeated:
            new.repeated = True
        return new


class CommandCall:
    """One command that is being recorded; the walker is handed what it runs in turn."""

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

    @property
    def valued_options(self) -> str:
        """The options of the program that take a value, from its record."""
        runner = find_runner(self.name)
        return "" if runner is None else runner.valued

    def create_inner_frame(self, label: str = "", *, host: str = "", repeated: bool = False) -> Frame:
        """Return the circumstances of what this command runs."""
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
        """Walk an inner command with these words; return its constant output."""
        if not words:
            return None
        frame = self.create_inner_frame(label, host=host, repeated=repeated)
        if frame.depth > _MAX_DEPTH:
            self.walker.add_problem("it is nested too deeply to follow")
            return None
        inner_scope = scope or (self.create_remote_scope() if host else self.scope)
        call = CommandCall(self.walker, words, scope=inner_scope, frame=frame, span=self.span)
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
        """Walk a text that a shell would run; return its constant output.

        A text without any known part is recorded as unknown code instead.
        """
        if not text.strip(UNKNOWN + " \n\t"):
            if UNKNOWN not in text:
                return None
            file_text = self._read_cat_substitution()
            if file_text is None:
                self.record_code("sh", text)
                return None
            text = file_text
        frame = self.create_inner_frame(label, host=host, repeated=repeated)
        if not inherit_stdin:
            frame = frame.with_stdin(None)
        inner_scope = scope or (self.create_remote_scope() if host else Scope(self.scope))
        if arguments is not None:
            inner_scope.arguments = arguments
        for name, word in self.assignments:
            inner_scope.set_variable(name, word.text)
        return self.walker.walk_text(text, inner_scope, frame)

    def _read_cat_substitution(self) -> str | None:
        """Return the file that `$(cat file)` put into the words: `bash -c "$(cat file)"` runs it as a program."""
        inner_drafts = self.walker.drafts[self.first_inner_index or 0 : self.index]
        sources = [draft for draft in inner_drafts if draft.feeds == self.index]
        if len(sources) != 1 or not 0 < len(sources[0].argv) <= 2 or sources[0].argv[0].text not in _CONCATENATORS:
            return None
        files = [*sources[0].argv[1:], *(redirect.target for redirect in sources[0].redirects if redirect.op == "<")]
        return read_contents(self.walker, files[0], self.scope) if len(files) == 1 else None

    def record_write(self, path: str) -> None:
        """Record that a program inside this command writes a file."""
        self._record_redirect(Redirect(">", 1, Word(path, path)))

    def record_read(self, path: str) -> None:
        """Record that a program inside this command reads a file."""
        self._record_redirect(Redirect("<", 0, Word(path, path)))

    def _record_redirect(self, redirect: Redirect) -> None:
        call = CommandCall(self.walker, [], scope=self.scope, frame=self.create_inner_frame(), span=self.span)
        call.redirects = (redirect,)
        self.walker.walk_call(call)

    def create_directory_scope(self, directory: Word | None) -> Scope:
        """Return the scope of what runs in another directory, as with `make -C`."""
        scope = Scope(self.scope)
        if directory is None:
            return scope
        if not directory.is_known:
            scope.cwd = UNKNOWN
        elif self.walker.start_directory or directory.text.startswith(("/", "~")):
            scope.cwd = resolve_path(self.walker, directory.text, scope)
        else:
            # Where the command starts is not known either, so this stays relative to it.
            scope.cwd = normpath(join(scope.cwd or "", directory.text))
        return scope

    def create_remote_scope(self) -> Scope:
        """Return the scope of another machine, whose home and variables are not those of this one."""
        scope = Scope(cwd="~")
        scope.variables.update({"HOME": "~", "PWD": UNKNOWN, "USER": UNKNOWN})
        return scope

    def record_code(self, language: str, text: str) -> None:
        """Record a program in another language that this command runs."""
        self.walker.codes.append(
            Code(
                language=language,
                text=text,
                is_known=UNKNOWN not in text,
                via=(*self.frame.via, self.name),
                command=self.index,
            )
        )
