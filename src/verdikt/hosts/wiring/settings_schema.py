"""Settings that a client cannot read: it then drops hooks of the file, ours among them, without a word. Measured on the clients."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from verdikt import hosts

ValueCheck = Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_optional_count(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _is_optional_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_one_of(*words: str) -> ValueCheck:
    return lambda value: value in words


_REQUIRED_FIELDS: dict[str, dict[str, dict[str, ValueCheck]]] = {
    "claude": {
        "command": {"command": _is_text},
        "http": {"url": _is_text},
        "mcp_tool": {"server": _is_text, "tool": _is_text},
        "prompt": {"prompt": _is_text},
        "agent": {"prompt": _is_text},
    },
    "codex": {"command": {"command": _is_text}, "prompt": {}, "agent": {}, "mcp_tool": {}},
}
"""Host → type of a hook → what it must have."""

_OPTIONAL_FIELDS: dict[str, dict[str, ValueCheck]] = {
    "claude": {
        "timeout": _is_positive,
        "statusMessage": _is_text,
        "if": _is_text,
        "args": _is_text_list,
        "once": _is_bool,
        "async": _is_bool,
        "asyncRewake": _is_bool,
        "shell": _is_one_of("bash", "powershell"),
        "onFailure": _is_one_of("block", "continue"),
    },
    "codex": {"timeout": _is_optional_count, "statusMessage": _is_optional_text, "async": _is_bool},
}
"""Host → what a hook may have; keys that are not here are passed over."""

_MATCHER_CHECKS: dict[str, ValueCheck] = {"claude": _is_text, "codex": _is_optional_text, "gemini": _is_optional_text}

_TOP_LEVEL_FIELDS: dict[str, dict[str, ValueCheck]] = {
    "codex": {"description": _is_optional_text, "hooks": lambda _: True}
}
"""Host → the only keys that its file may have at the top."""


def find_schema_error(host: str, settings: Mapping[str, Any]) -> str:
    """The first place that makes the host drop hooks of the file, as a path; empty when there is none."""
    return next(_iter_schema_errors(host, settings), "")


def _iter_schema_errors(host: str, settings: Mapping[str, Any]) -> Iterator[str]:
    if host in _TOP_LEVEL_FIELDS:
        yield from (
            key for key, value in settings.items() if not _TOP_LEVEL_FIELDS[host].get(key, _is_never_valid)(value)
        )
    hooks = settings.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        if not isinstance(groups, list):
            yield from [f"hooks.{event}"] if event in hosts.load_adapter(host).EVENTS else []
            continue
        for index, group in enumerate(groups):
            yield from _check_group(host, group, f"hooks.{event}[{index}]")


def _is_never_valid(value: object) -> bool:
    return False


def _check_group(host: str, group: object, path: str) -> Iterator[str]:
    matcher = group.get("matcher") if isinstance(group, dict) and "matcher" in group else ""
    if host in _MATCHER_CHECKS and not _MATCHER_CHECKS[host](matcher):
        yield f"{path}.matcher"
    if host not in _REQUIRED_FIELDS:
        return
    if not isinstance(group, dict):
        yield path
        return
    handlers = group.get("hooks", None if host == "claude" else [])
    if not isinstance(handlers, list):
        yield f"{path}.hooks"
        return
    for index, handler in enumerate(handlers):
        yield from _check_handler(host, handler, f"{path}.hooks[{index}]")


def _check_handler(host: str, handler: object, path: str) -> Iterator[str]:
    if not isinstance(handler, dict):
        yield path
        return
    kind = handler.get("type")
    if not isinstance(kind, str) or kind not in _REQUIRED_FIELDS[host]:
        yield f"{path}.type"
        return
    yield from (f"{path}.{key}" for key, check in _REQUIRED_FIELDS[host][kind].items() if not check(handler.get(key)))
    yield from (
        f"{path}.{key}" for key, check in _OPTIONAL_FIELDS[host].items() if key in handler and not check(handler[key])
    )
