"""What a value in a policy file must look like: how it is read, and the same as JSON Schema for editors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from verdikt.model.yaml_document import to_plain
from verdikt.model.yaml_node import YamlNode


@dataclass(frozen=True, slots=True)
class SchemaType:
    """`read` gives a value, or None after recording a fault; `schema` says the same to an editor, `words` to a reader."""

    read: Callable[[YamlNode], Any]
    json_schema: Mapping[str, Any]
    description: str


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a mapping: its shape and what it is for."""

    schema_type: SchemaType
    description: str
    required: bool = False


_TEXT_SCHEMA = {"type": "string", "minLength": 1}


def text_type(description: str = "text") -> SchemaType:
    """A text that is not empty."""
    return SchemaType(lambda node: node.read_text(), _TEXT_SCHEMA, description)


def text_list_type(
    description: str = "text, or a list of them",
    check_item: Callable[[YamlNode], Any] | None = None,
    *,
    allow_empty: bool = False,
) -> SchemaType:
    """One text, or a list of them (`empty`: perhaps of none), of which each passes `each`."""

    def read_texts(node: YamlNode) -> tuple[str, ...]:
        if allow_empty and node.value == []:
            return ()
        found = []
        for item in node.read_one_or_more(what="a text or a list of texts"):
            value = item.read_text()
            if value is not None and (check_item is None or check_item(item) is not None):
                found.append(value)
        return tuple(found)

    return SchemaType(
        read_texts,
        {"oneOf": [_TEXT_SCHEMA, {"type": "array", "items": _TEXT_SCHEMA, "minItems": 0 if allow_empty else 1}]},
        description,
    )


def bool_type() -> SchemaType:
    """True or false."""
    return SchemaType(lambda node: node.read_bool(), {"type": "boolean"}, "true or false")


def int_type(least: int | None = None, most: int | None = None) -> SchemaType:
    """A whole number within bounds."""
    return SchemaType(
        lambda node: node.read_int(least=least, most=most),
        {"type": "integer", **_range_schema(least, most)},
        "whole number",
    )


def number_type(least: float | None = None, most: float | None = None) -> SchemaType:
    """A number within bounds."""
    return SchemaType(
        lambda node: node.read_number(least=least, most=most),
        {"type": "number", **_range_schema(least, most)},
        "number",
    )


def choice_type(names: Sequence[str]) -> SchemaType:
    """One of these names."""
    names = tuple(map(str, names))
    return SchemaType(
        lambda node: node.read_choice(names), {"enum": list(names)}, " or ".join(f"`{name}`" for name in names)
    )


def choice_list_type(names: Sequence[str]) -> SchemaType:
    """One of these names, or a list of them."""
    names = tuple(map(str, names))
    one = {"enum": list(names)}
    schema = {"oneOf": [one, {"type": "array", "items": one, "minItems": 1}]}
    return SchemaType(
        lambda node: node.read_choices(names), schema, "one or more of " + ", ".join(f"`{name}`" for name in names)
    )


def any_type(description: str = "any value") -> SchemaType:
    """Plain data as it stands."""
    return SchemaType(lambda node: to_plain(node.value), {}, description)


def list_type(item_type: SchemaType, description: str = "") -> SchemaType:
    """A list, of which each item has this shape; at least one."""

    def read_list(node: YamlNode) -> list[Any]:
        found = node.read_items()
        if isinstance(node.value, list) and not found:
            node.add_mismatch("at least one")
        values = [item_type.read(item) for item in found]
        return [value for value in values if value is not None]

    return SchemaType(
        read_list,
        {"type": "array", "items": item_type.json_schema, "minItems": 1},
        description or f"a list, each: {item_type.description}",
    )


def mapping_type(fields: Mapping[str, Field], description: str = "mapping") -> SchemaType:
    """A mapping with these keys and no others; what is absent or wrong is left out of the value."""

    def read_mapping(node: YamlNode) -> dict[str, Any] | None:
        return read_fields(node, fields) if isinstance(node.value, Mapping) or node.read_mapping() else None

    return SchemaType(read_mapping, mapping_schema(fields), description)


def read_fields(node: YamlNode, fields: Mapping[str, Field]) -> dict[str, Any]:
    """The values of a mapping by key, without those that are absent or wrong."""
    given = node.read_mapping(fields)
    values = {key: value for key, inner in given.items() if (value := fields[key].schema_type.read(inner)) is not None}
    if isinstance(node.value, Mapping):
        for key, wanted in fields.items():
            if wanted.required and key not in node.value:
                node.add_error(f"expected the key `{key}` ({wanted.description}), found {_describe_keys(node.value)}")
    return values


def mapping_schema(fields: Mapping[str, Field]) -> dict[str, Any]:
    """JSON Schema of a mapping with these keys and no others."""
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            key: {**wanted.schema_type.json_schema, "description": wanted.description} for key, wanted in fields.items()
        },
    }
    if required := [key for key, wanted in fields.items() if wanted.required]:
        schema["required"] = required
    return schema


def _range_schema(least: float | None, most: float | None) -> dict[str, float]:
    found = {"minimum": least, "maximum": most}
    return {key: value for key, value in found.items() if value is not None}


def _describe_keys(value: Mapping[str, Any]) -> str:
    return "only " + ", ".join(f"`{key}`" for key in value) if value else "none"


MergeLayers = Callable[[Sequence[Any]], Any]


def keep_highest(values: Sequence[Any]) -> Any:
    """The value of the highest layer that has one: a lower layer changes nothing."""
    return values[0]


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the policy file that another room owns.

    `merge` gets the values of the layers that have the section, the highest first, and must never loosen what a higher
    one says. `guards` gives the nodes of the policy graph that the merged value stands for.
    """

    schema_type: SchemaType
    description: str
    merge: MergeLayers = field(default=keep_highest)
    guards: Callable[[Any], tuple[Any, ...]] = field(default=lambda value: ())
