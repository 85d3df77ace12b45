"""The circumstances in which a piece of the text would run."""

from verdikt.shell.command import UNKNOWN, Word


class Frame:
    """What a command inherits from where it stands; copied and changed on the way in, never after."""

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
        self.is_captured = False  # somebody reads its output

    def copy(self) -> "Frame":
        """The same circumstances, for whoever is about to change some."""
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
        """The same, where it may not run."""
        if self.conditional:
            return self
        new = self.copy()
        new.conditional = True
        return new

    def without_capture(self) -> "Frame":
        """The same, where nobody reads the output."""
        if not self.is_captured:
            return self
        new = self.copy()
        new.is_captured = False
        return new

    def with_stdin(self, stdin: str | None, pipe_from: int | None = None, stdin_file: Word | None = None) -> "Frame":
        """The same with another standard input."""
        new = self.copy()
        new.stdin, new.pipe_from, new.stdin_file = stdin, pipe_from, stdin_file
        return new

    def create_inner_frame(
        self, label: str, span: tuple[int, int], *, host: str = "", repeated: bool = False
    ) -> "Frame":
        """One level further in: inside a wrapper, an interpreter's text, a function."""
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
