"""A place in a document, with questions to ask of it. A wrong answer is recorded as a fault, and reading goes on.

This is what a section of the policy file is parsed from: each room that owns a section takes a `Node` and gives a value.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from verdikt.errors import VerdiktError
from verdikt.model.yaml_document import DocumentPath, YamlDocument

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class YamlNode:
    """One value of a document. Methods that read it give None, or an empty collection, after recording a fault."""

    document: YamlDocument
    path: DocumentPath = ()
    value: Any = None

    @classmethod
    def from_document(cls, document: YamlDocument) -> "YamlNode":
        """The whole document."""
        return cls(document, (), document.value)

    @property
    def key(self) -> str:
        """The key or position under which the value stands."""
        return str(self.path[-1]) if self.path else ""

    @property
    def location(self) -> str:
        """`file:line:column`."""
        return self.document.format_location(self.path)

    def add_error(self, message: str) -> None:
        """Records that the value is wrong."""
        self.document.add_error(message, self.path)

    def add_error_at_key(self, message: str) -> None:
        """Records that the key is wrong."""
        self.document.add_error(message, self.path, key=True)

    def add_mismatch(self, what: str) -> None:
        """Records that something else was expected here."""
        self.add_error(f"{self._name_prefix()}expected {what}, found {describe_value(self.value)}")

    def _name_prefix(self) -> str:
        names = [part for part in self.path if isinstance(part, str)]
        return f"`{names[-1]}`: " if names else ""

    def get_child(self, key: str | int) -> "YamlNode":
        """The value under a key or position that is known to exist."""
        return YamlNode(self.document, (*self.path, key), self.value[key])

    def read_mapping(self, allowed: Iterable[str] | None = None, *, what: str = "a mapping") -> dict[str, "YamlNode"]:
        """The values by key; with `allowed`, any other key is a fault that names the nearest valid one."""
        if not isinstance(self.value, Mapping):
            self.add_mismatch(what)
            return {}
        nodes = {key: self.get_child(key) for key in self.value}
        if allowed is None:
            return nodes
        names = tuple(allowed)
        for key in list(nodes):
            if key not in names:
                nodes.pop(key).add_unknown_name("key", key, names)
        return nodes

    def add_unknown_name(self, kind: str, name: str, names: Iterable[str], *, at_key: bool = True) -> None:
        """Records a name that does not exist, with the nearest that does."""
        self.document.add_error(
            f"expected a known {kind}, found `{name}`{suggest_name(name, names)}", self.path, key=at_key
        )

    def read_items(self, *, what: str = "a list") -> list["YamlNode"]:
        """The values of a list."""
        if not isinstance(self.value, list):
            self.add_mismatch(what)
            return []
        return [self.get_child(number) for number in range(len(self.value))]

    def read_one_or_more(self, *, what: str) -> list["YamlNode"]:
        """The values of a list, or the value itself when it is no list; an empty list is a fault."""
        if not isinstance(self.value, list):
            return [self]
        if not self.value:
            self.add_mismatch(what)
        return self.read_items()

    def read_text(self, *, what: str = "a text") -> str | None:
        """A text that is not empty."""
        if isinstance(self.value, str) and self.value.strip():
            return self.value
        self.add_mismatch(what)
        return None

    def read_texts(self, *, what: str = "a text or a list of texts") -> tuple[str, ...]:
        """One text, or a list of them."""
        found = (
            node.read_text(what="a text") if isinstance(self.value, list) else node.read_text(what=what)
            for node in self.read_one_or_more(what=what)
        )
        return tuple(text for text in found if text is not None)

    def read_bool(self) -> bool | None:
        """True or false."""
        if isinstance(self.value, bool):
            return self.value
        self.add_mismatch("`true` or `false`")
        return None

    def read_int(self, *, least: int | None = None, most: int | None = None) -> int | None:
        """A whole number within bounds."""
        if isinstance(self.value, int) and not isinstance(self.value, bool) and _is_in_range(self.value, least, most):
            return self.value
        self.add_mismatch("a whole number" + _describe_bounds(least, most))
        return None

    def read_number(self, *, least: float | None = None, most: float | None = None) -> float | None:
        """A number within bounds."""
        if (
            isinstance(self.value, int | float)
            and not isinstance(self.value, bool)
            and _is_in_range(self.value, least, most)
        ):
            return self.value
        self.add_mismatch("a number" + _describe_bounds(least, most))
        return None

    def read_choice(self, names: Sequence[str]) -> str | None:
        """One of these names."""
        if isinstance(self.value, str) and self.value in names:
            return self.value
        hint = suggest_name(self.value, names, list_names=False) if isinstance(self.value, str) else ""
        self.add_error(
            f"{self._name_prefix()}expected one of {', '.join(names)}, found {describe_value(self.value)}{hint}"
        )
        return None

    def read_choices(self, names: Sequence[str]) -> tuple[str, ...]:
        """One of these names, or a list of them."""
        found = (node.read_choice(names) for node in self.read_one_or_more(what="one or more of " + ", ".join(names)))
        return tuple(name for name in found if name is not None)

    def try_build(self, factory: Callable[[], T]) -> T | None:
        """What `make` gives; an error of ours, or a refusal of its arguments, becomes a fault here."""
        try:
            return factory()
        except (VerdiktError, ValueError, TypeError) as error:
            self.add_error(str(error))
            return None

    def walk(self) -> Iterator["YamlNode"]:
        """This value and everything below it."""
        yield self
        if isinstance(self.value, Mapping):
            for key in self.value:
                yield from self.get_child(key).walk()
        elif isinstance(self.value, list):
            for number in range(len(self.value)):
                yield from self.get_child(number).walk()


def suggest_name(name: str, names: Iterable[str], *, list_names: bool = True) -> str:
    """` (did you mean …?)`, or (when `listed`) the list of names when none is near and they are few."""
    from difflib import get_close_matches  # only a fault needs it

    names = list(names)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f" (did you mean `{close[0]}`?)"
    return f" (one of {', '.join(names)})" if list_names and 0 < len(names) <= 40 else ""


def describe_value(value: Any) -> str:
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


def _is_in_range(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _describe_bounds(least: float | None, most: float | None) -> str:
    if least is None:
        return "" if most is None else f" up to {most}"
    return f" of {least} or more" if most is None else f" from {least} to {most}"
