"""Hooks in JSON settings: merged with what is there, taken out again, everything else left as it is."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from verdikt.errors import WiringError
from verdikt.hosts.wiring.registration import is_hook_command

HookEntry = Mapping[str, Any]


_COMMENT = re.compile(rb"^\s*(//|/\*)", re.MULTILINE)


def parse(data: bytes | None, where: str) -> dict[str, Any]:
    """The settings in a file; no file is no settings. What cannot be read is not touched."""
    if data is None or not data.strip():
        return {}
    try:
        settings = json.loads(data.decode("utf-8-sig"))
        # What could not be written again as it was read, an endless number or endless depth, is not touched either.
        json.dumps(settings, indent=2, allow_nan=False)
    except (ValueError, RecursionError) as error:
        what = "JSON without comments, which would be lost" if _COMMENT.search(data) else "JSON"
        raise WiringError(
            f"{where}: expected {what}, found something else ({error}); mend the file and run this again"
        ) from error
    if not isinstance(settings, dict):
        raise WiringError(
            f"{where}: expected an object at the top, found something else; mend the file and run this again"
        )
    return settings


def render(settings: Mapping[str, Any]) -> bytes:
    """The file's text."""
    text = json.dumps(settings, indent=2, ensure_ascii=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a character, which can only be written as it was: by its number
        return json.dumps(settings, indent=2).encode() + b"\n"


def add_hooks(
    settings: Mapping[str, Any], entries: Mapping[str, HookEntry], where: str, extra_settings: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings with one entry per event of ours, at the end of what others have there."""
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
    """The settings without entries of ours, except those to keep; lists that only held ours go with them."""
    found = settings.get("hooks", {})
    if not isinstance(found, dict) or not all(isinstance(groups, list) for groups in found.values()):
        raise WiringError(
            f"{where}: expected lists of hooks under `hooks`, found something else; mend the file and run this again"
        )
    hooks: dict[str, list[Any]] = {}
    for event, groups in found.items():
        kept = [group for group in groups if group == (keep or {}).get(event) or not _is_own_group(group)]
        kept = [_drop_own_handlers(group) if group != (keep or {}).get(event) else group for group in kept]
        if kept or not groups:
            hooks[event] = kept
    if hooks or not found:
        return {**settings, "hooks": hooks} if "hooks" in settings else dict(settings)
    return {key: value for key, value in settings.items() if key != "hooks"}


def find_hook_commands(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every (event, command) of ours in the settings, whatever shape the host gives its entries."""
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
        yield group.get("command")
        yield group.get("bash")
        handlers = group.get("hooks")
        for handler in handlers if isinstance(handlers, list) else ():
            if isinstance(handler, dict):
                yield handler.get("command")


def _is_own_group(group: object) -> bool:
    """Whether nothing in the group belongs to somebody else."""
    found = [command for command in _iter_commands(group) if command is not None]
    return bool(found) and all(is_hook_command(command) for command in found)


def _drop_own_handlers(group: Any) -> Any:
    if isinstance(group, dict) and isinstance(group.get("hooks"), list):
        kept = [
            handler
            for handler in group["hooks"]
            if not any(is_hook_command(command) for command in _iter_commands(handler))
        ]
        return {**group, "hooks": kept}
    return group
