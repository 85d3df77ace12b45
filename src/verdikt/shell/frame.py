"""The circumstances in which a piece of the text would run."""

from verdikt.shell.command import UNKNOWN, Word


class Frame:
    """What a command inherits from where it stands; copied and changed on the way in, never after."""

    __slots__ = (
        "background",
        "capture",
        "conditional",
        "depth",
        "pipe_from",
        "repeated",
        "source",
        "span",
        "stdin",
        "via",
        "where",
    )

    def __init__(self) -> None:
        self.via: tuple[str, ...] = ()
        self.where = ""
        self.depth = 0
        self.stdin: str | None = None
        self.source: Word | None = None  # the file that standard input comes from
        self.pipe_from: int | None = None
        self.background = False
        self.conditional = False
        self.repeated = False
        self.span: tuple[int, int] | None = None  # of the outermost command around it; None where each has its own
        self.capture = False  # somebody reads its output

    def copy(self) -> "Frame":
        """The same circumstances, for whoever is about to change some."""
        new = Frame.__new__(Frame)
        new.via = self.via
        new.where = self.where
        new.depth = self.depth
        new.stdin = self.stdin
        new.source = self.source
        new.pipe_from = self.pipe_from
        new.background = self.background
        new.conditional = self.conditional
        new.repeated = self.repeated
        new.span = self.span
        new.capture = self.capture
        return new

    def conditionally(self) -> "Frame":
        """The same, where it may not run."""
        if self.conditional:
            return self
        new = self.copy()
        new.conditional = True
        return new

    def silently(self) -> "Frame":
        """The same, where nobody reads the output."""
        if not self.capture:
            return self
        new = self.copy()
        new.capture = False
        return new

    def reading(self, stdin: str | None, pipe_from: int | None = None, source: Word | None = None) -> "Frame":
        """The same with another standard input."""
        new = self.copy()
        new.stdin, new.pipe_from, new.source = stdin, pipe_from, source
        return new

    def inside(self, label: str, span: tuple[int, int], *, where: str = "", repeated: bool = False) -> "Frame":
        """One level further in: inside a wrapper, an interpreter's text, a function."""
        new = self.copy()
        new.via = (*self.via, label)
        new.depth = self.depth + 1
        new.span = span
        if where:
            where = where.replace(UNKNOWN, "…")
            new.where = f"{self.where}/{where}" if self.where else where
        if repeated:
            new.repeated = True
        return new
