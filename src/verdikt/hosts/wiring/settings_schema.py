"""Settings that a client cannot read: it then drops the hooks of the file, ours among them, without a message.

The rules of each client were measured; they stand in its `wiring.py`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

ValueCheck = Callable[[object], bool]


def is_text(value: object) -> bool:
    """Whether the value is text."""
    return isinstance(value, str)


def is_bool(value: object) -> bool:
    """Whether the value is a truth value."""
    return isinstance(value, bool)


def is_positive(value: object) -> bool:
    """Whether the value is a number above zero."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def is_optional_count(value: object) -> bool:
    """Whether the value is null or a whole number that is not negative."""
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def is_optional_text(value: object) -> bool:
    """Whether the value is null or text."""
    return value is None or isinstance(value, str)


def is_text_list(value: object) -> bool:
    """Whether the value is a list of texts."""
    return isinstance(value, list) and all(isinstance(element, str) for element in value)


def is_one_of(*words: str) -> ValueCheck:
    """Return a check for one of these words."""
    return lambda value: value in words


def is_anything(value: object) -> bool:
    """Accept every value."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSchema:
    """What one client requires of the hooks in its settings. Without any rule it accepts everything."""

    required_fields: Mapping[str, Mapping[str, ValueCheck]] = field(default_factory=dict)
    """Type of a hook → the fields that it must have. Empty: hooks are not checked."""
    optional_fields: Mapping[str, ValueCheck] = field(default_factory=dict)
    """The fields that a hook may have. Unknown fields are ignored."""
    matcher: ValueCheck = is_anything
    needs_hook_list: bool = False
    """Whether a group without `hooks` is an error."""
    top_level_fields: Mapping[str, ValueCheck] | None = None
    """The only fields that the file may have at the top; None when the client ignores unknown ones."""


def find_schema_error(schema: SettingsSchema, events: Collection[str], settings: Mapping[str, Any]) -> str:
    """Return the path of the first place that makes the client drop hooks of the file; empty when there is none."""
    return next(_iter_schema_errors(schema, events, settings), "")


def _iter_schema_errors(schema: SettingsSchema, events: Collection[str], settings: Mapping[str, Any]) -> Iterator[str]:
    if schema.top_level_fields is not None:
        for key, value in settings.items():
            check = schema.top_level_fields.get(key)
            if check is None or not check(value):
                yield key
    hooks = settings.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        if not isinstance(groups, list):
            # The clients ignore an event that they do not know, whatever stands there.
            yield from [f"hooks.{event}"] if event in events else []
            continue
        for index, group in enumerate(groups):
            yield from _check_group(schema, group, f"hooks.{event}[{index}]")


def _check_group(schema: SettingsSchema, group: object, path: str) -> Iterator[str]:
    matcher = group.get("matcher") if isinstance(group, dict) and "matcher" in group else ""
    if not schema.matcher(matcher):
        yield f"{path}.matcher"
    if not schema.required_fields:
        return
    if not isinstance(group, dict):
        yield path
        return
    handlers = group.get("hooks", None if schema.needs_hook_list else [])
    if not isinstance(handlers, list):
        yield f"{path}.hooks"
        return
    for index, handler in enumerate(handlers):
        yield from _check_handler(schema, handler, f"{path}.hooks[{index}]")


def _check_handler(schema: SettingsSchema, handler: object, path: str) -> Iterator[str]:
    if not isinstance(handler, dict):
        yield path
        return
    kind = handler.get("type")
    if not isinstance(kind, str) or kind not in schema.required_fields:
        yield f"{path}.type"
        return
    required_fields = schema.required_fields[kind].items()
    yield from (f"{path}.{key}" for key, check in required_fields if not check(handler.get(key)))
    optional_fields = schema.optional_fields.items()
    yield from (f"{path}.{key}" for key, check in optional_fields if key in handler and not check(handler[key]))
