"""What an agent wants to do, and what came of it; the same from every host."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from verdikt.model.value import Value, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ActionKind(enum.StrEnum):
    """What sort of thing is about to happen."""

    READ = "read"
    WRITE = "write"
    BASH = "bash"
    EXECUTE_CODE = "execute_code"
    SUBMIT_TASK = "submit_task"
    FETCH = "fetch"
    MCP = "mcp"
    AGENT = "agent"
    OTHER = "other"


_PATHS = ("file_path", "path", "notebook_path", "absolute_path", "filename", "dir_path")


def named_path(payload: object) -> str:
    """The file that a tool input names, when it names one."""
    if type(payload) is dict and payload.keys().isdisjoint(_PATHS):
        return ""
    return _text(payload, _PATHS)


def _text(payload: object, keys: tuple[str, ...]) -> str:
    if type(payload) is not dict and not isinstance(payload, Mapping):
        return ""
    for key in keys:
        value = payload.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


class Action(Value, kw_only=True):
    """One tool call that an agent wants to make. `payload` is the host's tool input as it came, of any shape."""

    kind: ActionKind
    tool: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    session_id: str = "default"
    task_type: str = ""
    cwd: str = ""
    host: str = ""
    agent: str = ""
    call_id: str = ""

    def text(self, *keys: str) -> str:
        """The first of these payload fields that is a non-empty string, or an empty string."""
        return _text(self.payload, keys)

    @property
    def command(self) -> str:
        """The shell command, when there is one."""
        return self.text("command", "cmd", "script")

    @property
    def path(self) -> str:
        """The file that the action names, when there is one."""
        return named_path(self.payload)


class Outcome(Value, kw_only=True):
    """What came of an action. `exit_code` is None where the host does not tell it."""

    success: bool
    output: str = ""
    error: str = ""
    exit_code: int | None = None
    duration_seconds: float | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
