"""The circumstances in which a piece of the text would run."""


class Frame:
    """What a command inherits from where it stands; made anew for each nesting, never changed."""

    __slots__ = (
        "background",
        "capture",
        "conditional",
        "depth",
        "pipe_from",
        "repeated",
        "span",
        "stdin",
        "via",
        "where",
    )

    def __init__(
        self,
        *,
        via: tuple[str, ...] = (),
        where: str = "",
        depth: int = 0,
        stdin: str | None = None,
        pipe_from: int | None = None,
        background: bool = False,
        conditional: bool = False,
        repeated: bool = False,
        span: tuple[int, int] | None = None,
        capture: bool = False,
    ) -> None:
        self.via = via
        self.where = where
        self.depth = depth
        self.stdin = stdin
        self.pipe_from = pipe_from
        self.background = background
        self.conditional = conditional
        self.repeated = repeated
        self.span = span  # of the outermost command around it; None at the top, where each command has its own
        self.capture = capture  # somebody reads its output

    def but(self, **changes: object) -> "Frame":
        """The same circumstances, except for some."""
        new = Frame.__new__(Frame)
        for slot in Frame.__slots__:
            setattr(new, slot, getattr(self, slot))
        for slot, value in changes.items():
            setattr(new, slot, value)
        return new

    def conditionally(self) -> "Frame":
        """The same, where it may not run."""
        return self if self.conditional else self.but(conditional=True)

    def inside(
        self, label: str, span: tuple[int, int], *, where: str = "", repeated: bool = False, shell: bool = False
    ) -> "Frame":
        """One level further in: inside a wrapper, an interpreter's text, a substitution."""
        new = self.but(via=(*self.via, label), depth=self.depth + 1, span=span)
        if where:
            new.where = f"{self.where}/{where}" if self.where else where
        if repeated:
            new.repeated = True
        if shell:
            new.capture = self.capture
        return new
