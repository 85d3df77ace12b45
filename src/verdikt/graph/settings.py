"""A guard's settings, told from the signature of its constructor: the same for reading, for editors and for the docs."""

import collections.abc
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from verdikt.model.shape import Field, Shape, anything, choice, flag, number, text, texts, whole
from verdikt.model.value import Value

_LISTS = (list, tuple, set, frozenset)


def settings_of(make: Callable[..., Any]) -> dict[str, Field] | None:
    """Setting → its shape, from the keyword arguments that `make` takes; None when it takes any.

    An annotation `Annotated[type, "meaning"]` says what the setting is for. Functions cannot be written in a file.
    """
    import inspect  # loads a lot, and most policies name no guard

    try:
        parameters = list(inspect.signature(make).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    hints = _hints(make)
    fields: dict[str, Field] = {}
    for parameter in parameters:
        hint, meaning = _unwrapped(hints.get(parameter.name, Any))
        by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if by_name and not _is_code(hint):
            shape = _shape(hint)
            fields[parameter.name] = Field(shape, meaning or shape.words, parameter.default is parameter.empty)
    return fields


def _hints(make: Callable[..., Any]) -> dict[str, Any]:
    target: Any = make
    if isinstance(make, type) and not issubclass(make, Value):  # the fields of a value are what it is made from
        target = getattr(make, "__init__", make)
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:
        # A guard of a user's own may have hints that do not resolve here; its constructor still checks the values.
        return {}


def _unwrapped(hint: Any) -> tuple[Any, str]:
    """A type without its annotation, and the annotation's text."""
    if typing.get_origin(hint) is typing.Annotated:
        inner, *notes = typing.get_args(hint)
        return inner, next((note for note in notes if isinstance(note, str)), "")
    return hint, ""


def _is_code(hint: Any) -> bool:
    """Whether a value of this type is, or contains, a function."""
    return typing.get_origin(hint) is collections.abc.Callable or any(map(_is_code, typing.get_args(hint)))


def _shape(hint: Any) -> Shape:
    """How a setting of this type is written in YAML; any plain value where the type does not tell."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [argument for argument in arguments if argument is not type(None)]
        return _shape(inner[0]) if len(inner) == 1 else anything()
    if origin is typing.Literal:
        return choice(arguments)
    simple = {bool: flag, int: whole, float: number, str: text}
    if hint in simple:
        return simple[hint]()
    if isinstance(origin or hint, type) and issubclass(origin or hint, Mapping):
        return _mapping(_shape(arguments[1]) if len(arguments) == 2 else anything())
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return _list(origin, arguments[0] if arguments else Any)
    return anything()


def _list(origin: type, item: Any) -> Shape:
    as_type: Callable[[Iterable[Any]], Any] = origin if origin in _LISTS else tuple
    if item is str:
        shape = texts(empty=True)
        return Shape(lambda node: as_type(shape.read(node)), shape.schema, shape.words)
    inner = _shape(item)

    def read(node: Any) -> Any:
        values = [inner.read(child) for child in node.items()]
        return as_type(value for value in values if value is not None)

    return Shape(read, {"type": "array", "items": inner.schema}, f"a list, each: {inner.words}")


def _mapping(inner: Shape) -> Shape:
    def read(node: Any) -> Any:
        values = {key: inner.read(child) for key, child in node.mapping().items()}
        return {key: value for key, value in values.items() if value is not None}

    schema = {"type": "object", "additionalProperties": inner.schema}
    return Shape(read, schema, f"mapping of name to {inner.words}")
