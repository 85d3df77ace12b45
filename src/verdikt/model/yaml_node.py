"""Typed access to the values of a document. A wrong value is recorded as an error, and reading goes on.

A section of the policy file is parsed from a `YamlNode` by the package that defines the section.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from verdikt.errors import VerdiktError
from verdikt.model.yaml_document import DocumentPath, YamlDocument

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class YamlNode:
    """One value of a document. The `read_` methods return None or an empty collection after recording an error."""

    document: YamlDocument
    path: DocumentPath = ()
    value: Any = None

    @classmethod
    def from_document(cls, document: YamlDocument) -> "YamlNode":
        """Return the node of the whole document."""
        return cls(document, (), document.value)

    @property
    def key(self) -> str:
        """The key or index of the value."""
        return str(self.path[-1]) if self.path else ""

    @property
    def location(self) -> str:
        """`file:line:column`."""
        return self.document.format_location(self.path)

    def add_error(self, message: str) -> None:
        """Record that the value is wrong."""
        self.document.add_error(message, self.path)

    def add_error_at_key(self, message: str) -> None:
        """Record that the key is wrong."""
        self.document.add_error(message, self.path, key=True)

    def add_mismatch(self, what: str) -> None:
        """Record that another value was expected here."""
        self.add_error(f"{self._name_prefix()}expected {what}, found {describe_value(self.value)}")

    def _name_prefix(self) -> str:
        names = [part for part in self.path if isinstance(part, str)]
        return f"`{names[-1]}`: " if names else ""

    def get_child(self, key: str | int) -> "YamlNode":
        """Return the node under a key or index that is known to exist."""
        return YamlNode(self.document, (*self.path, key), self.value[key])

    def read_mapping(self, allowed: Iterable[str] | None = None, *, what: str = "a mapping") -> dict[str, "YamlNode"]:
        """Return the nodes by key; with `allowed`, any other key is an error that suggests the nearest valid one."""
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
        """Record a name that does not exist, with the nearest that does."""
        self.document.add_error(
            f"expected a known {kind}, found `{name}`{suggest_name(name, names)}", self.path, key=at_key
        )

    def read_items(self, *, what: str = "a list") -> list["YamlNode"]:
        """Return the nodes of a list."""
        if not isinstance(self.value, list):
            self.add_mismatch(what)
            return []
        return [self.get_child(number) for number in range(len(self.value))]

    def read_one_or_more(self, *, what: str) -> list["YamlNode"]:
        """Return the nodes of a list, or the node itself when it is no list; an empty list is an error."""
        if not isinstance(self.value, list):
            return [self]
        if not self.value:
            self.add_mismatch(what)
        return self.read_items()

    def read_text(self, *, what: str = "a text") -> str | None:
        """Return a text that is not empty."""
        if isinstance(self.value, str) and self.value.strip():
            return self.value
        self.add_mismatch(what)
        return None

    def read_texts(self, *, what: str = "a text or a list of texts") -> tuple[str, ...]:
        """Return one text, or the texts of a list."""
        texts = (
            node.read_text(what="a text") if isinstance(self.value, list) else node.read_text(what=what)
            for node in self.read_one_or_more(what=what)
        )
        return tuple(text for text in texts if text is not None)

    def read_bool(self) -> bool | None:
        """Return true or false."""
        if isinstance(self.value, bool):
            return self.value
        self.add_mismatch("`true` or `false`")
        return None

    def read_int(self, *, minimum: int | None = None, maximum: int | None = None) -> int | None:
        """Return a whole number within bounds."""
        if (
            isinstance(self.value, int)
            and not isinstance(self.value, bool)
            and _is_in_range(self.value, minimum, maximum)
        ):
            return self.value
        self.add_mismatch("a whole number" + _describe_bounds(minimum, maximum))
        return None

    def read_number(self, *, minimum: float | None = None, maximum: float | None = None) -> float | None:
        """Return a number within bounds."""
        if (
            isinstance(self.value, int | float)
            and not isinstance(self.value, bool)
            and _is_in_range(self.value, minimum, maximum)
        ):
            return self.value
        self.add_mismatch("a number" + _describe_bounds(minimum, maximum))
        return None

    def read_choice(self, names: Sequence[str]) -> str | None:
        """Return one of these names."""
        if isinstance(self.value, str) and self.value in names:
            return self.value
        hint = suggest_name(self.value, names, list_names=False) if isinstance(self.value, str) else ""
        self.add_error(
            f"{self._name_prefix()}expected one of {', '.join(names)}, found {describe_value(self.value)}{hint}"
        )
        return None

    def read_choices(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return one of these names as a tuple, or a list of them."""
        choices = (node.read_choice(names) for node in self.read_one_or_more(what="one or more of " + ", ".join(names)))
        return tuple(name for name in choices if name is not None)

    def try_build(self, factory: Callable[[], T]) -> T | None:
        """Return the factory's result; record an error if it refuses its arguments."""
        try:
            return factory()
        except (VerdiktError, ValueError, TypeError) as error:
            self.add_error(str(error))
            return None

    def walk(self) -> Iterator["YamlNode"]:
        """Yield this node and every node below it."""
        yield self
        if isinstance(self.value, Mapping):
            for key in self.value:
                yield from self.get_child(key).walk()
        elif isinstance(self.value, list):
            for number in range(len(self.value)):
                yield from self.get_child(number).walk()


def suggest_name(name: str, names: Iterable[str], *, list_names: bool = True) -> str:
    """Return ` (did you mean …?)`, or with `list_names` the names if none is close and there are few."""
    from difflib import get_close_matches  # only an error message needs it

    names = list(names)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f" (did you mean `{close[0]}`?)"
    return f" (one of {', '.join(names)})" if list_names and 0 < len(names) <= 40 else ""


def describe_value(value: Any) -> str:
    """Return a value for a message, as the user wrote it."""
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


def _is_in_range(value: float, minimum: float | None, maximum: float | None) -> bool:
    return (minimum is None or value >= minimum) and (maximum is None or value <= maximum)


def _describe_bounds(minimum: float | None, maximum: float | None) -> str:
    if minimum is None:
        return "" if maximum is None else f" up to {maximum}"
    return f" of {minimum} or more" if maximum is None else f" from {minimum} to {maximum}"
