"""What a value in a policy file must look like: how it is read, and the same as JSON Schema for editors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verdikt.model.document import plain
from verdikt.model.node import Node
from verdikt.model.value import Value, field


class Shape(Value):
    """`read` gives a value, or None after recording a fault; `schema` says the same to an editor, `words` to a reader."""

    read: Callable[[Node], Any]
    schema: Mapping[str, Any]
    words: str


class Field(Value):
    """One key of a mapping: its shape and what it is for."""

    shape: Shape
    about: str
    required: bool = False


_TEXT = {"type": "string", "minLength": 1}


def text(words: str = "text") -> Shape:
    """A text that is not empty."""
    return Shape(lambda node: node.text(), _TEXT, words)


def texts(
    words: str = "text, or a list of them", each: Callable[[Node], Any] | None = None, *, empty: bool = False
) -> Shape:
    """One text, or a list of them (`empty`: perhaps of none), of which each passes `each`."""

    def read(node: Node) -> tuple[str, ...]:
        if empty and node.value == []:
            return ()
        found = []
        for item in node.one_or_more(what="a text or a list of texts"):
            value = item.text()
            if value is not None and (each is None or each(item) is not None):
                found.append(value)
        return tuple(found)

    return Shape(read, {"oneOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 0 if empty else 1}]}, words)


def flag() -> Shape:
    """True or false."""
    return Shape(lambda node: node.flag(), {"type": "boolean"}, "true or false")


def whole(least: int | None = None, most: int | None = None) -> Shape:
    """A whole number within bounds."""
    return Shape(
        lambda node: node.whole(least=least, most=most), {"type": "integer", **_range(least, most)}, "whole number"
    )


def number(least: float | None = None, most: float | None = None) -> Shape:
    """A number within bounds."""
    return Shape(lambda node: node.number(least=least, most=most), {"type": "number", **_range(least, most)}, "number")


def choice(names: Sequence[str]) -> Shape:
    """One of these names."""
    names = tuple(map(str, names))
    return Shape(lambda node: node.choice(names), {"enum": list(names)}, " or ".join(f"`{name}`" for name in names))


def choices(names: Sequence[str]) -> Shape:
    """One of these names, or a list of them."""
    names = tuple(map(str, names))
    one = {"enum": list(names)}
    schema = {"oneOf": [one, {"type": "array", "items": one, "minItems": 1}]}
    return Shape(lambda node: node.choices(names), schema, "one or more of " + ", ".join(f"`{name}`" for name in names))


def anything(words: str = "any value") -> Shape:
    """Plain data as it stands."""
    return Shape(lambda node: plain(node.value), {}, words)


def items(shape: Shape, words: str = "") -> Shape:
    """A list, of which each item has this shape; at least one."""

    def read(node: Node) -> list[Any]:
        found = node.items()
        if isinstance(node.value, list) and not found:
            node.expected("at least one")
        values = [shape.read(item) for item in found]
        return [value for value in values if value is not None]

    return Shape(read, {"type": "array", "items": shape.schema, "minItems": 1}, words or f"a list, each: {shape.words}")


def record(fields: Mapping[str, Field], words: str = "mapping") -> Shape:
    """A mapping with these keys and no others; what is absent or wrong is left out of the value."""

    def read(node: Node) -> dict[str, Any] | None:
        return read_fields(node, fields) if isinstance(node.value, Mapping) or node.mapping() else None

    return Shape(read, record_schema(fields), words)


def read_fields(node: Node, fields: Mapping[str, Field]) -> dict[str, Any]:
    """The values of a mapping by key, without those that are absent or wrong."""
    given = node.mapping(fields)
    values = {key: value for key, inner in given.items() if (value := fields[key].shape.read(inner)) is not None}
    if isinstance(node.value, Mapping):
        for key, wanted in fields.items():
            if wanted.required and key not in node.value:
                node.fault(f"expected the key `{key}` ({wanted.about}), found {_keys(node.value)}")
    return values


def record_schema(fields: Mapping[str, Field]) -> dict[str, Any]:
    """JSON Schema of a mapping with these keys and no others."""
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {key: {**wanted.shape.schema, "description": wanted.about} for key, wanted in fields.items()},
    }
    if required := [key for key, wanted in fields.items() if wanted.required]:
        schema["required"] = required
    return schema


def _range(least: float | None, most: float | None) -> dict[str, float]:
    found = {"minimum": least, "maximum": most}
    return {key: value for key, value in found.items() if value is not None}


def _keys(value: Mapping[str, Any]) -> str:
    return "only " + ", ".join(f"`{key}`" for key in value) if value else "none"


Merge = Callable[[Sequence[Any]], Any]


def keep_highest(values: Sequence[Any]) -> Any:
    """The value of the highest layer that has one: a lower layer changes nothing."""
    return values[0]


class Section(Value):
    """A section of the policy file that another room owns.

    `merge` gets the values of the layers that have the section, the highest first, and must never loosen what a higher
    one says. `guards` gives the nodes of the policy graph that the merged value stands for.
    """

    shape: Shape
    about: str
    merge: Merge = field(default=keep_highest)
    guards: Callable[[Any], tuple[Any, ...]] = field(default=lambda value: ())
