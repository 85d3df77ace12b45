"""A guard's settings, told from the signature of its constructor: the same for reading, for editors and for the docs."""

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from verdikt.model.shape import Field, Shape, anything, choice, flag, number, text, texts, whole

_LISTS = (list, tuple, set, frozenset)


def settings_of(make: Callable[..., Any]) -> dict[str, Field] | None:
    """Setting → its shape, from the keyword arguments that `make` takes; None when it takes any."""
    try:
        parameters = list(inspect.signature(make).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    hints = _hints(make)
    about: Mapping[str, str] = getattr(make, "settings", None) or {}
    fields: dict[str, Field] = {}
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            shape = _shape(hints.get(parameter.name, Any))
            required = parameter.default is parameter.empty
            default = "" if required or parameter.default is None else f" (default {_shown(parameter.default)})"
            said = str(about.get(parameter.name, "")) if isinstance(about, Mapping) else ""
            fields[parameter.name] = Field(shape, (said or shape.words) + default, required)
    return fields


def _hints(make: Callable[..., Any]) -> dict[str, Any]:
    target = make.__init__ if inspect.isclass(make) else make
    try:
        return typing.get_type_hints(target)
    except Exception:
        # A guard of a user's own may have hints that do not resolve here; its constructor still checks the values.
        return {}


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
    if inspect.isclass(origin) and issubclass(origin, Iterable) and not issubclass(origin, Mapping):
        return _list(origin, arguments[0] if arguments else Any)
    if inspect.isclass(origin or hint) and issubclass(origin or hint, Mapping):
        return Shape(_mapping, {"type": "object"}, "mapping")
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


def _mapping(node: Any) -> Any:
    found = node.mapping()
    return {key: child.value for key, child in found.items()} if isinstance(node.value, Mapping) else None


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return f"`{value}`"
    return "empty" if isinstance(value, list | tuple | dict | set | frozenset) and not value else "built in"
