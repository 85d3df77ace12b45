"""Hooks in JSON settings: added to what is there and removed again, everything else left as it is."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from verdikt.errors import WiringError
from verdikt.hosts.wiring.registration import is_hook_command, join_arguments

HookEntry = Mapping[str, Any]

_COMMENT = re.compile(rb"^\s*(//|/\*)", re.MULTILINE)


def parse(data: bytes | None, where: str) -> dict[str, Any]:
    """Return the settings in a file; none if there is no file. Raises `WiringError` for a file that cannot be read."""
    if data is None or not data.strip():
        return {}
    try:
        settings = json.loads(data.decode("utf-8-sig"))
        # Raises for numbers and depths that can be read but not written back.
        json.dumps(settings, indent=2, allow_nan=False)
    except (ValueError, RecursionError) as error:
        expected = "JSON without comments, which would be lost" if _COMMENT.search(data) else "JSON"
        raise WiringError(
            f"{where}: expected {expected}, found something else ({error}); fix the file and run this again"
        ) from error
    if not isinstance(settings, dict):
        raise WiringError(
            f"{where}: expected an object at the top, found something else; fix the file and run this again"
        )
    return settings


def render(settings: Mapping[str, Any]) -> bytes:
    """Return the content of the file."""
    text = json.dumps(settings, indent=2, ensure_ascii=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        # Half of a character outside the basic plane can only be written as an escape.
        return json.dumps(settings, indent=2).encode() + b"\n"


def add_hooks(
    settings: Mapping[str, Any], entries: Mapping[str, HookEntry], where: str, extra_settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings with one entry of ours for each event, after the entries of others."""
    # An entry that is already right keeps its place, so that wiring twice changes nothing.
    merged = remove_hooks(settings, where, keep=entries)
    for key, value in extra_settings.items():
        merged.setdefault(key, value)
    hooks = merged.setdefault("hooks", {})
    for event, entry in entries.items():
        present = hooks.setdefault(event, [])
        if entry not in present:
            present.append(entry)
    return merged


def remove_hooks(
    settings: Mapping[str, Any], where: str, keep: Mapping[str, HookEntry] | None = None
) -> dict[str, Any]:
    """Return the settings without our entries, except those in `keep`; lists that only held ours are removed too."""
    present = settings.get("hooks", {})
    if not isinstance(present, dict) or not all(isinstance(groups, list) for groups in present.values()):
        raise WiringError(
            f"{where}: expected lists of hooks under `hooks`, found something else; fix the file and run this again"
        )
    hooks: dict[str, list[Any]] = {}
    for event, groups in present.items():
        entry_to_keep = (keep or {}).get(event)
        remaining_groups = [
            group if group == entry_to_keep else _drop_own_handlers(group)
            for group in groups
            if group == entry_to_keep or not _is_own_group(group)
        ]
        # An event whose list was empty before stays: it is not ours to remove.
        if remaining_groups or not groups:
            hooks[event] = remaining_groups
    if hooks or not present:
        return {**settings, "hooks": hooks} if "hooks" in settings else dict(settings)
    return {key: value for key, value in settings.items() if key != "hooks"}


def find_hook_commands(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every (event, command) of ours in the settings, in any of the forms that hosts use for entries."""
    for event, group in _iter_groups(settings):
        for command in _iter_commands(group):
            if is_hook_command(command):
                yield event, str(command)


def _iter_groups(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    hooks = settings.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            yield str(event), group


def _iter_commands(group: object) -> Iterator[object]:
    if isinstance(group, dict):
        yield _get_command_line(group)
        # Copilot CLI names the command after the shell.
        yield group.get("bash")
        handlers = group.get("hooks")
        for handler in handlers if isinstance(handlers, list) else ():
            if isinstance(handler, dict):
                yield _get_command_line(handler)


def _get_command_line(handler: Mapping[str, Any]) -> object:
    """Return the command of a handler as a line, also where its words are given one by one."""
    command, arguments = handler.get("command"), handler.get("args")
    if not isinstance(command, str) or not isinstance(arguments, list):
        return command
    return join_arguments(command, [*map(str, arguments)], blocks_on_failure=handler.get("onFailure") == "block")


def _is_own_group(group: object) -> bool:
    """Whether every command in the group is ours."""
    commands = [command for command in _iter_commands(group) if command is not None]
    return bool(commands) and all(is_hook_command(command) for command in commands)


def _drop_own_handlers(group: Any) -> Any:
    if isinstance(group, dict) and isinstance(group.get("hooks"), list):
        other_handlers = [
            handler
            for handler in group["hooks"]
            if not any(is_hook_command(command) for command in _iter_commands(handler))
        ]
        return {**group, "hooks": other_handlers}
    return group
