"""Types of values in a policy file: how each is read, and its JSON Schema for editors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from verdikt.model.yaml_document import to_plain
from verdikt.model.yaml_node import YamlNode


@dataclass(frozen=True, slots=True)
class SchemaType:
    """A type of value. `read` returns a value, or None after recording an error on the node.

    `json_schema` describes the same to an editor, `description` to a reader of the docs.
    """

    read: Callable[[YamlNode], Any]
    json_schema: Mapping[str, Any]
    description: str


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a mapping: its type and its purpose."""

    schema_type: SchemaType
    description: str
    required: bool = False


_TEXT_SCHEMA = {"type": "string", "minLength": 1}


def text_type(description: str = "text") -> SchemaType:
    """Return the type of a text that is not empty."""
    return SchemaType(lambda node: node.read_text(), _TEXT_SCHEMA, description)


def text_list_type(
    description: str = "text, or a list of them",
    check_item: Callable[[YamlNode], Any] | None = None,
    *,
    allow_empty: bool = False,
) -> SchemaType:
    """Return the type of a text or a list of texts, each of which passes `check_item`."""

    def read_texts(node: YamlNode) -> tuple[str, ...]:
        if allow_empty and node.value == []:
            return ()
        texts = []
        for item in node.read_one_or_more(what="a text or a list of texts"):
            value = item.read_text()
            if value is not None and (check_item is None or check_item(item) is not None):
                texts.append(value)
        return tuple(texts)

    return SchemaType(
        read_texts,
        {"oneOf": [_TEXT_SCHEMA, {"type": "array", "items": _TEXT_SCHEMA, "minItems": 0 if allow_empty else 1}]},
        description,
    )


def bool_type() -> SchemaType:
    """Return the type of `true` and `false`."""
    return SchemaType(lambda node: node.read_bool(), {"type": "boolean"}, "true or false")


def int_type(minimum: int | None = None, maximum: int | None = None) -> SchemaType:
    """Return the type of a whole number within bounds."""
    return SchemaType(
        lambda node: node.read_int(minimum=minimum, maximum=maximum),
        {"type": "integer", **_range_schema(minimum, maximum)},
        "whole number",
    )


def number_type(minimum: float | None = None, maximum: float | None = None) -> SchemaType:
    """Return the type of a number within bounds."""
    return SchemaType(
        lambda node: node.read_number(minimum=minimum, maximum=maximum),
        {"type": "number", **_range_schema(minimum, maximum)},
        "number",
    )


def choice_type(names: Sequence[str]) -> SchemaType:
    """Return the type of one of these names."""
    names = tuple(map(str, names))
    return SchemaType(
        lambda node: node.read_choice(names), {"enum": list(names)}, " or ".join(f"`{name}`" for name in names)
    )


def choice_list_type(names: Sequence[str]) -> SchemaType:
    """Return the type of one of these names, or a list of them."""
    names = tuple(map(str, names))
    choice = {"enum": list(names)}
    schema = {"oneOf": [choice, {"type": "array", "items": choice, "minItems": 1}]}
    return SchemaType(
        lambda node: node.read_choices(names), schema, "one or more of " + ", ".join(f"`{name}`" for name in names)
    )


def any_type(description: str = "any value") -> SchemaType:
    """Return the type of any plain data."""
    return SchemaType(lambda node: to_plain(node.value), {}, description)


def mapping_type(fields: Mapping[str, Field], description: str = "mapping") -> SchemaType:
    """Return the type of a mapping with these keys and no others; absent or invalid values are left out."""

    def read_mapping(node: YamlNode) -> dict[str, Any] | None:
        return read_fields(node, fields) if isinstance(node.value, Mapping) or node.read_mapping() else None

    return SchemaType(read_mapping, mapping_schema(fields), description)


def read_fields(node: YamlNode, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the values of a mapping by key, without those that are absent or invalid."""
    nodes = node.read_mapping(fields)
    values = {key: value for key, inner in nodes.items() if (value := fields[key].schema_type.read(inner)) is not None}
    if isinstance(node.value, Mapping):
        for key, field in fields.items():
            if field.required and key not in node.value:
                node.add_error(f"expected the key `{key}` ({field.description}), found {_describe_keys(node.value)}")
    return values


def mapping_schema(fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the JSON Schema of a mapping with these keys and no others."""
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            key: {**field.schema_type.json_schema, "description": field.description} for key, field in fields.items()
        },
    }
    if required := [key for key, field in fields.items() if field.required]:
        schema["required"] = required
    return schema


def mapping_list_type(
    fields: Mapping[str, Field], build: Callable[..., Any], *, items: str, description: str
) -> SchemaType:
    """Return the type of a mapping with these keys, or a list of them; each that has the required keys is built.

    `items` is what messages call them.
    """
    required = [key for key, field in fields.items() if field.required]
    keys = " and ".join(f"`{key}`" for key in required)

    def read_items(node: YamlNode) -> tuple[Any, ...]:
        built_items = []
        for inner in node.read_one_or_more(what=f"{items} with {keys}"):
            if not isinstance(inner.value, Mapping):
                inner.add_mismatch(f"a mapping with {keys}")
                continue
            values = read_fields(inner, fields)
            if values.keys() >= set(required) and (item := inner.try_build(partial(build, **values))) is not None:
                built_items.append(item)
        return tuple(built_items)

    schema = mapping_schema(fields)
    return SchemaType(read_items, {"oneOf": [schema, {"type": "array", "items": schema, "minItems": 1}]}, description)


def _range_schema(minimum: float | None, maximum: float | None) -> dict[str, float]:
    bounds = {"minimum": minimum, "maximum": maximum}
    return {key: value for key, value in bounds.items() if value is not None}


def _describe_keys(value: Mapping[str, Any]) -> str:
    return "only " + ", ".join(f"`{key}`" for key in value) if value else "none"


MergeLayers = Callable[[Sequence[Any]], Any]


def keep_all(values: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the items of all layers, each once: for a section of which every item can only make things stricter."""
    return tuple(dict.fromkeys(item for layer in values for item in layer))


def keep_highest(values: Sequence[Any]) -> Any:
    """Return the value of the highest layer that has one: a lower layer changes nothing."""
    return values[0]


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the policy file that another package defines.

    `merge` gets the values of the layers that have the section, the highest first, and must never loosen what a higher
    one says. `guards` returns the nodes of the policy graph that follow from the merged value. `default` returns what
    is in force where no layer has the section; None when nothing is.
    """

    schema_type: SchemaType
    description: str
    merge: MergeLayers = field(default=keep_highest)
    guards: Callable[[Any], tuple[Any, ...]] = field(default=lambda value: ())
    default: Callable[[], Any] = field(default=lambda: None)
