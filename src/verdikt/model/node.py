"""A place in a document, with questions to ask of it. A wrong answer is recorded as a fault, and reading goes on.

This is what a section of the policy file is parsed from: each room that owns a section takes a `Node` and gives a value.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from verdikt.errors import VerdiktError
from verdikt.model.document import Document, Path
from verdikt.model.value import Value

T = TypeVar("T")


class Node(Value):
    """One value of a document. Methods that read it give None, or an empty collection, after recording a fault."""

    document: Document
    path: Path = ()
    value: Any = None

    @classmethod
    def top(cls, document: Document) -> "Node":
        """The whole document."""
        return cls(document, (), document.value)

    @property
    def key(self) -> str:
        """The key or position under which the value stands."""
        return str(self.path[-1]) if self.path else ""

    @property
    def where(self) -> str:
        """`file:line:column`."""
        return self.document.where(self.path)

    def fault(self, message: str) -> None:
        """Records that the value is wrong."""
        self.document.fault(message, self.path)

    def fault_at_key(self, message: str) -> None:
        """Records that the key is wrong."""
        self.document.fault(message, self.path, key=True)

    def expected(self, what: str) -> None:
        """Records that something else was expected here."""
        self.fault(f"{self._named()}expected {what}, found {show(self.value)}")

    def _named(self) -> str:
        names = [part for part in self.path if isinstance(part, str)]
        return f"`{names[-1]}`: " if names else ""

    def child(self, key: str | int) -> "Node":
        """The value under a key or position that is known to exist."""
        return Node(self.document, (*self.path, key), self.value[key])

    def mapping(self, allowed: Iterable[str] | None = None, *, what: str = "a mapping") -> dict[str, "Node"]:
        """The values by key; with `allowed`, any other key is a fault that names the nearest valid one."""
        if not isinstance(self.value, Mapping):
            self.expected(what)
            return {}
        nodes = {key: self.child(key) for key in self.value}
        if allowed is None:
            return nodes
        names = tuple(allowed)
        for key in list(nodes):
            if key not in names:
                nodes.pop(key).unknown("key", key, names)
        return nodes

    def unknown(self, what: str, found: str, names: Iterable[str], *, at_key: bool = True) -> None:
        """Records a name that does not exist, with the nearest that does."""
        self.document.fault(f"expected a known {what}, found `{found}`{nearest(found, names)}", self.path, key=at_key)

    def items(self, *, what: str = "a list") -> list["Node"]:
        """The values of a list."""
        if not isinstance(self.value, list):
            self.expected(what)
            return []
        return [self.child(number) for number in range(len(self.value))]

    def one_or_more(self, *, what: str) -> list["Node"]:
        """The values of a list, or the value itself when it is no list; an empty list is a fault."""
        if not isinstance(self.value, list):
            return [self]
        if not self.value:
            self.expected(what)
        return self.items()

    def text(self, *, what: str = "a text") -> str | None:
        """A text that is not empty."""
        if isinstance(self.value, str) and self.value.strip():
            return self.value
        self.expected(what)
        return None

    def texts(self, *, what: str = "a text or a list of texts") -> tuple[str, ...]:
        """One text, or a list of them."""
        found = (
            node.text(what="a text") if isinstance(self.value, list) else node.text(what=what)
            for node in self.one_or_more(what=what)
        )
        return tuple(text for text in found if text is not None)

    def flag(self) -> bool | None:
        """True or false."""
        if isinstance(self.value, bool):
            return self.value
        self.expected("`true` or `false`")
        return None

    def whole(self, *, least: int | None = None, most: int | None = None) -> int | None:
        """A whole number within bounds."""
        if isinstance(self.value, int) and not isinstance(self.value, bool) and _within(self.value, least, most):
            return self.value
        self.expected("a whole number" + _bounds(least, most))
        return None

    def number(self, *, least: float | None = None, most: float | None = None) -> float | None:
        """A number within bounds."""
        if (
            isinstance(self.value, int | float)
            and not isinstance(self.value, bool)
            and _within(self.value, least, most)
        ):
            return self.value
        self.expected("a number" + _bounds(least, most))
        return None

    def choice(self, names: Sequence[str]) -> str | None:
        """One of these names."""
        if isinstance(self.value, str) and self.value in names:
            return self.value
        hint = nearest(self.value, names, listed=False) if isinstance(self.value, str) else ""
        self.fault(f"{self._named()}expected one of {', '.join(names)}, found {show(self.value)}{hint}")
        return None

    def choices(self, names: Sequence[str]) -> tuple[str, ...]:
        """One of these names, or a list of them."""
        found = (node.choice(names) for node in self.one_or_more(what="one or more of " + ", ".join(names)))
        return tuple(name for name in found if name is not None)

    def build(self, make: Callable[[], T]) -> T | None:
        """What `make` gives; an error of ours, or a refusal of its arguments, becomes a fault here."""
        try:
            return make()
        except (VerdiktError, ValueError, TypeError) as error:
            self.fault(str(error))
            return None

    def walk(self) -> Iterator["Node"]:
        """This value and everything below it."""
        yield self
        if isinstance(self.value, Mapping):
            for key in self.value:
                yield from self.child(key).walk()
        elif isinstance(self.value, list):
            for number in range(len(self.value)):
                yield from self.child(number).walk()


def nearest(found: str, names: Iterable[str], *, listed: bool = True) -> str:
    """` (did you mean …?)`, or (when `listed`) the list of names when none is near and they are few."""
    from difflib import get_close_matches  # only a fault needs it

    names = list(names)
    close = get_close_matches(found, names, n=1, cutoff=0.6)
    if close:
        return f" (did you mean `{close[0]}`?)"
    return f" (one of {', '.join(names)})" if listed and 0 < len(names) <= 40 else ""


def show(value: Any) -> str:
    """A value for a message, in the user's words."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    text = str(value)
    if not text.strip():
        return "an empty text"
    return f"`{text}`" if len(text) <= 60 else f"`{text[:59]}…`"


def _within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _bounds(least: float | None, most: float | None) -> str:
    if least is None:
        return "" if most is None else f" up to {most}"
    return f" of {least} or more" if most is None else f" from {least} to {most}"
