"""What a call was about, in the terms in which an exception can let it through."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CallScope:
    """The exact command, the directories of the paths it touches, or else the tool of a call, and its project."""

    command: str = ""
    directories: tuple[str, ...] = ()
    tool: str = ""
    project: str = ""


def read_scope(receipt: Mapping[str, Any]) -> CallScope:
    """Return the scope of a recorded call; empty when it holds a secret, because the log has only a token of it."""
    action = receipt.get("action")
    action = action if isinstance(action, Mapping) else {}
    facts = receipt.get("facts")
    facts = facts if isinstance(facts, Mapping) else {}
    place = facts.get("place")
    project = str(place.get("project_root") or "") if isinstance(place, Mapping) else ""
    if facts.get("secrets"):
        return CallScope(project=project)
    payload = action.get("payload")
    command = payload.get("command") if isinstance(payload, Mapping) else None
    effects = receipt.get("effects")
    paths = [
        str(target.get("text", ""))
        for effect in (effects if isinstance(effects, list) else ())
        if isinstance(effect, Mapping) and effect.get("class") != "read"
        for target in effect.get("targets") or ()
        if isinstance(target, Mapping) and target.get("kind") == "path"
    ]
    return CallScope(
        command=command.strip() if isinstance(command, str) else "",
        directories=tuple(sorted({path.rpartition("/")[0] for path in paths if path.count("/") > 2})),
        tool=str(action.get("tool") or ""),
        project=project,
    )


def is_in_scope(receipt: Mapping[str, Any], scope: tuple[str, str]) -> bool:
    """Return whether a recorded call is about a command, a directory (`DIR/**`) or a tool."""
    call, (kind, value) = read_scope(receipt), scope
    if kind == "path":
        return value.removesuffix("/**") in call.directories
    return value == (call.command if kind == "command" else call.tool)
