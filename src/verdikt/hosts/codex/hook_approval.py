"""The approval of hooks in Codex, which runs only those whose hash a person has approved."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from verdikt.hosts.wiring import json_settings, toml_editor
from verdikt.hosts.wiring.file_change import read_file
from verdikt.hosts.wiring.registration import is_hook_command
from verdikt.model.canonical_json import hash_canonical


def compute_hashes(settings: Mapping[str, Any], file: str) -> dict[str, str]:
    """Return key → hash for every hook of ours. The hash covers the command line, not what it runs."""
    return dict(_iter_hashes(settings, file))


def _iter_hashes(settings: Mapping[str, Any], file: str) -> Iterator[tuple[str, str]]:
    hooks = settings.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        snake = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        for group_index, group in enumerate(groups) if isinstance(groups, list) else ():
            handlers = group.get("hooks") if isinstance(group, dict) else None
            for index, handler in enumerate(handlers) if isinstance(handlers, list) else ():
                if not isinstance(handler, dict) or not is_hook_command(handler.get("command")):
                    continue
                # The form that Codex itself hashes, with its defaults filled in.
                normalized = {
                    "async": False,
                    "command": handler["command"],
                    "timeout": handler.get("timeout", 600),
                    "type": "command",
                }
                subject: dict[str, Any] = {"event_name": snake, "hooks": [normalized]}
                if group.get("matcher") and event in MATCHER_EVENTS:
                    subject["matcher"] = group["matcher"]
                yield f"{file}:{snake}:{group_index}:{index}", f"sha256:{hash_canonical(subject)}"


MATCHER_EVENTS = {
    "PreToolUse",
    "PostToolUse",
    "PermissionRequest",
    "SessionStart",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
}
"""The events whose matcher is part of the hash."""


def approve_hooks(config: bytes | None, hashes: Mapping[str, str], where: str) -> bytes:
    """Return Codex's `config.toml` with these hooks approved."""
    data = config or b""
    for key, value in hashes.items():
        data = toml_editor.set_key(data, ("hooks", "state", key), "trusted_hash", value, where)
    return data


def withdraw_approvals(config: bytes, original: bytes | None, where: str) -> bytes:
    """Return Codex's `config.toml` without the approvals of hooks of ours that are not in the original.

    The hooks themselves must still be in their files: an approval of a person's own hook stays.
    """
    known_state = toml_editor.find_value(toml_editor.parse(original, where), "hooks", "state")
    state = toml_editor.find_value(toml_editor.parse(config, where), "hooks", "state")
    for key in state if isinstance(state, dict) else ():
        file = key.rsplit(":", 3)[0]
        if isinstance(known_state, dict) and key in known_state:
            continue
        if key in compute_hashes(json_settings.parse(read_file(file), file), file):
            config = toml_editor.remove_key(config, ("hooks", "state"), key, where)
    return config


def is_approved(config: bytes | None, hashes: Mapping[str, str], where: str) -> bool:
    """Whether every one of these hooks is approved."""
    tables = toml_editor.parse(config, where)
    return bool(hashes) and all(
        toml_editor.find_value(tables, "hooks", "state", key, "trusted_hash") == value for key, value in hashes.items()
    )
