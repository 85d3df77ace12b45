"""Settings that a client cannot read: it then drops hooks of the file, ours among them, without a word. Measured on the clients."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from verdikt import adapters

Check = Callable[[object], bool]


def _text(value: object) -> bool:
    return isinstance(value, str)


def _truth(value: object) -> bool:
    return isinstance(value, bool)


def _above_zero(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _whole(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _text_or_null(value: object) -> bool:
    return value is None or isinstance(value, str)


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _one_of(*words: str) -> Check:
    return lambda value: value in words


_NEEDED: dict[str, dict[str, dict[str, Check]]] = {
    "claude": {
        "command": {"command": _text},
        "http": {"url": _text},
        "mcp_tool": {"server": _text, "tool": _text},
        "prompt": {"prompt": _text},
        "agent": {"prompt": _text},
    },
    "codex": {"command": {"command": _text}, "prompt": {}, "agent": {}, "mcp_tool": {}},
}
"""Host → type of a hook → what it must have."""

_OPTIONAL: dict[str, dict[str, Check]] = {
    "claude": {
        "timeout": _above_zero,
        "statusMessage": _text,
        "if": _text,
        "args": _texts,
        "once": _truth,
        "async": _truth,
        "asyncRewake": _truth,
        "shell": _one_of("bash", "powershell"),
        "onFailure": _one_of("block", "continue"),
    },
    "codex": {"timeout": _whole, "statusMessage": _text_or_null, "async": _truth},
}
"""Host → what a hook may have; keys that are not here are passed over."""

_MATCHER: dict[str, Check] = {"claude": _text, "codex": _text_or_null, "gemini": _text_or_null}

_TOP: dict[str, dict[str, Check]] = {"codex": {"description": _text_or_null, "hooks": lambda _: True}}
"""Host → the only keys that its file may have at the top."""


def flaw(host: str, settings: Mapping[str, Any]) -> str:
    """The first place that makes the host drop hooks of the file, as a path; empty when there is none."""
    return next(_flaws(host, settings), "")


def _flaws(host: str, settings: Mapping[str, Any]) -> Iterator[str]:
    if host in _TOP:
        yield from (key for key, value in settings.items() if not _TOP[host].get(key, _never)(value))
    hooks = settings.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        if not isinstance(groups, list):
            yield from [f"hooks.{event}"] if event in adapters.host(host).EVENTS else []
            continue
        for index, group in enumerate(groups):
            yield from _in_group(host, group, f"hooks.{event}[{index}]")


def _never(value: object) -> bool:
    return False


def _in_group(host: str, group: object, path: str) -> Iterator[str]:
    matcher = group.get("matcher") if isinstance(group, dict) and "matcher" in group else ""
    if host in _MATCHER and not _MATCHER[host](matcher):
        yield f"{path}.matcher"
    if host not in _NEEDED:
        return
    if not isinstance(group, dict):
        yield path
        return
    handlers = group.get("hooks", None if host == "claude" else [])
    if not isinstance(handlers, list):
        yield f"{path}.hooks"
        return
    for index, handler in enumerate(handlers):
        yield from _in_handler(host, handler, f"{path}.hooks[{index}]")


def _in_handler(host: str, handler: object, path: str) -> Iterator[str]:
    if not isinstance(handler, dict):
        yield path
        return
    kind = handler.get("type")
    if not isinstance(kind, str) or kind not in _NEEDED[host]:
        yield f"{path}.type"
        return
    yield from (f"{path}.{key}" for key, check in _NEEDED[host][kind].items() if not check(handler.get(key)))
    yield from (f"{path}.{key}" for key, check in _OPTIONAL[host].items() if key in handler and not check(handler[key]))
