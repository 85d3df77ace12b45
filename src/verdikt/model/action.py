"""What an agent wants to do, and the outcome; the same from every host."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.errors import CanonicalError
from verdikt.model.canonical_json import hash_canonical, stringify_big_integers

# U+FFFC is no letter that a command could contain for a purpose of its own, and it survives string operations.
UNKNOWN = "\ufffc"
"""Placeholder in a text for each part whose value is not known: a variable's, a redacted secret's."""


class ActionKind(enum.StrEnum):
    """The kind of a tool call."""

    READ = "read"
    WRITE = "write"
    BASH = "bash"
    EXECUTE_CODE = "execute_code"
    SUBMIT_TASK = "submit_task"
    FETCH = "fetch"
    MCP = "mcp"
    AGENT = "agent"
    OTHER = "other"


# The hosts name the file of a tool call differently: Claude Code `file_path`, Gemini CLI `absolute_path`, and so on.
_PATH_KEYS = ("file_path", "path", "notebook_path", "absolute_path", "filename", "dir_path")
_COMMAND_KEYS = ("command", "cmd", "script")


def extract_path(payload: object) -> str:
    """Return the file that a tool input names, or an empty string."""
    # Most calls are shell commands, which name no file.
    if type(payload) is dict and payload.keys().isdisjoint(_PATH_KEYS):
        return ""
    return _first_text(payload, _PATH_KEYS)


def extract_subject(payload: object) -> str:
    """Return what a call is about, for people: its command, its file or its address; an empty string otherwise."""
    return _first_text(payload, _COMMAND_KEYS) or extract_path(payload) or _first_text(payload, ("url",))


def describe_payload(payload: object) -> str:
    """Return what a call is about in a list of many calls: its subject, or the first text of its input."""
    if type(payload) is not dict and not isinstance(payload, Mapping):
        return payload if isinstance(payload, str) else ""
    return extract_subject(payload) or _first_text(payload, tuple(payload))


def _first_text(payload: object, keys: tuple[str, ...]) -> str:
    if type(payload) is not dict and not isinstance(payload, Mapping):
        return ""
    for key in keys:
        value = payload.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One tool call that an agent wants to make. `payload` is the host's tool input as received, of any shape."""

    kind: ActionKind
    tool: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    session_id: str = "default"
    task_type: str = ""
    cwd: str = ""
    host: str = ""
    agent: str = ""
    call_id: str = ""
    hints: Mapping[str, Any] = field(default_factory=dict)
    """What is known of the tool besides its name: confirmed and proposed effects, kinds of arguments."""

    def text(self, *keys: str) -> str:
        """Return the first of these payload fields that is a non-empty string, or an empty string."""
        return _first_text(self.payload, keys)

    @property
    def command(self) -> str:
        """The shell command, or an empty string."""
        return self.text(*_COMMAND_KEYS)

    @property
    def path(self) -> str:
        """The file that the action names, or an empty string."""
        return extract_path(self.payload)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of an action. `exit_code` is None where the host does not report it."""

    success: bool
    output: str = ""
    error: str = ""
    exit_code: int | None = None
    duration_seconds: float | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)


def action_to_record(action: Action) -> dict[str, Any]:
    """Return an action as plain data, without the host's id of the call: equal calls have equal records."""
    record = {
        "kind": action.kind._value_,
        "tool": action.tool,
        "payload": action.payload,
        "session_id": action.session_id,
        "task_type": action.task_type,
        "cwd": action.cwd,
        "host": action.host,
        "agent": action.agent,
    }
    # Only where there are any: the receipts of every other action stay as they were.
    return record | {"hints": action.hints} if action.hints else record


def action_from_record(record: Mapping[str, Any]) -> Action:
    """Return the action that `action_to_record` wrote."""
    return Action(**{**record, "kind": ActionKind(record["kind"])})


def hash_call(tool: str, payload: Any) -> str:
    """Return a digest of a tool and its redacted input, or an empty string when they cannot be recorded."""
    try:
        return hash_canonical([tool, payload])[:32]
    except CanonicalError:
        pass
    try:
        # As in a receipt, which has integers beyond 53 bits as text.
        return hash_canonical([tool, stringify_big_integers(payload)])[:32]
    except CanonicalError:
        return ""
