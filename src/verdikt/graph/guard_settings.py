"""A guard's settings, told from the signature of its constructor: the same for reading, for editors and for the docs."""

import collections.abc
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
    """Setting → its shape, from the keyword arguments that `make` takes; None when it takes any.

    An annotation `Annotated[type, "meaning"]` says what the setting is for. Functions cannot be written in a file.
    """
    import inspect  # loads a lot, and most policies name no guard

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
            shape = _type_from_hint(hint)
            fields[parameter.name] = Field(shape, meaning or shape.description, parameter.default is parameter.empty)
    return fields


def _resolve_hints(factory: Callable[..., Any]) -> dict[str, Any]:
    target: Any = factory
    if isinstance(factory, type) and not is_dataclass(factory):  # the fields of a value are what it is made from
        target = getattr(factory, "__init__", factory)
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:
        # A guard of a user's own may have hints that do not resolve here; its constructor still checks the values.
        return {}


def _unwrap_annotated(hint: Any) -> tuple[Any, str]:
    """A type without its annotation, and the annotation's text."""
    if typing.get_origin(hint) is typing.Annotated:
        inner, *notes = typing.get_args(hint)
        return inner, next((note for note in notes if isinstance(note, str)), "")
    return hint, ""


def _is_code(hint: Any) -> bool:
    """Whether a value of this type is, or contains, a function."""
    return typing.get_origin(hint) is collections.abc.Callable or any(map(_is_code, typing.get_args(hint)))


def _type_from_hint(hint: Any) -> SchemaType:
    """How a setting of this type is written in YAML; any plain value where the type does not tell."""
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
        shape = text_list_type(allow_empty=True)
        return SchemaType(lambda node: as_type(shape.read(node)), shape.json_schema, shape.description)
    inner = _type_from_hint(item)

    def read_list(node: Any) -> Any:
        values = [inner.read(child) for child in node.read_items()]
        return as_type(value for value in values if value is not None)

    return SchemaType(read_list, {"type": "array", "items": inner.json_schema}, f"a list, each: {inner.description}")


def _mapping_type(inner: SchemaType) -> SchemaType:
    def read_mapping(node: Any) -> Any:
        values = {key: inner.read(child) for key, child in node.read_mapping().items()}
        return {key: value for key, value in values.items() if value is not None}

    schema = {"type": "object", "additionalProperties": inner.json_schema}
    return SchemaType(read_mapping, schema, f"mapping of name to {inner.description}")
