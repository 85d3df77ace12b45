"""A guard's settings, inferred from its constructor's signature for reading, for editors and for the docs."""

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any

from verdikt.model.schema_type import (
    Field,
    SchemaType,
    any_type,
    bool_type,
    choice_type,
    int_type,
    number_type,
    text_list_type,
    text_type,
)

_LIST_TYPES = (list, tuple, set, frozenset)


def infer_settings(factory: Callable[..., Any]) -> dict[str, Field] | None:
    """Return each setting's type from the keyword arguments of `factory`; None when it takes any.

    An annotation `Annotated[type, "meaning"]` describes the setting. Functions can't be written in a file and are left
    out.
    """
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    hints = _resolve_hints(factory)
    fields: dict[str, Field] = {}
    for parameter in parameters:
        hint, meaning = _unwrap_annotated(hints.get(parameter.name, Any))
        by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if by_name and not _is_code(hint):
            schema_type = _type_from_hint(hint)
            is_required = parameter.default is parameter.empty
            fields[parameter.name] = Field(schema_type, meaning or schema_type.description, is_required)
    return fields


def _resolve_hints(factory: Callable[..., Any]) -> dict[str, Any]:
    target: Any = factory
    # The hints of a dataclass are those of its fields.
    if isinstance(factory, type) and not is_dataclass(factory):
        target = getattr(factory, "__init__", factory)
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, AttributeError, TypeError, ValueError, SyntaxError):
        # A custom guard may have hints that do not resolve here; its constructor still checks the values.
        return {}


def _unwrap_annotated(hint: Any) -> tuple[Any, str]:
    """Return a type without its annotation, and the annotation's text."""
    if typing.get_origin(hint) is typing.Annotated:
        inner, *notes = typing.get_args(hint)
        return inner, next((note for note in notes if isinstance(note, str)), "")
    return hint, ""


def _is_code(hint: Any) -> bool:
    """Return whether a value of this type is, or contains, a function."""
    return typing.get_origin(hint) is collections.abc.Callable or any(map(_is_code, typing.get_args(hint)))


def _type_from_hint(hint: Any) -> SchemaType:
    """Return how a setting of this type is written in YAML; any plain value where the type is not specific."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [argument for argument in arguments if argument is not type(None)]
        return _type_from_hint(inner[0]) if len(inner) == 1 else any_type()
    if origin is typing.Literal:
        return choice_type(arguments)
    simple = {bool: bool_type, int: int_type, float: number_type, str: text_type}
    if hint in simple:
        return simple[hint]()
    if isinstance(origin or hint, type) and issubclass(origin or hint, Mapping):
        return _mapping_type(_type_from_hint(arguments[1]) if len(arguments) == 2 else any_type())
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return _list_type(origin, arguments[0] if arguments else Any)
    return any_type()


def _list_type(origin: type, item: Any) -> SchemaType:
    as_type: Callable[[Iterable[Any]], Any] = origin if origin in _LIST_TYPES else tuple
    if item is str:
        texts = text_list_type(allow_empty=True)
        return SchemaType(lambda node: as_type(texts.read(node)), texts.json_schema, texts.description)
    item_type = _type_from_hint(item)

    def read_list(node: Any) -> Any:
        values = [item_type.read(child) for child in node.read_items()]
        return as_type(value for value in values if value is not None)

    schema = {"type": "array", "items": item_type.json_schema}
    return SchemaType(read_list, schema, f"a list, each: {item_type.description}")


def _mapping_type(inner: SchemaType) -> SchemaType:
    def read_mapping(node: Any) -> Any:
        values = {key: inner.read(child) for key, child in node.read_mapping().items()}
        return {key: value for key, value in values.items() if value is not None}

    schema = {"type": "object", "additionalProperties": inner.json_schema}
    return SchemaType(read_mapping, schema, f"mapping of name to {inner.description}")
