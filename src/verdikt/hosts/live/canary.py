"""A call that every policy forbids and that would do no harm: writing into verdikt's own data directory."""

import os
import shlex
from dataclasses import dataclass
from typing import Any

_SHELL_TOOLS = {
    "claude": "Bash",
    "codex": "Bash",
    "gemini": "run_shell_command",
    "cursor": "Shell",
    "copilot": "bash",
    "opencode": "bash",
}


CANARY_SESSION = "verdikt-doctor"
"""Whose calls these are; no agent has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """The forbidden command, and the file that would be there if it had run."""

    data_directory: str

    @property
    def file(self) -> str:
        """What the command would leave behind."""
        return os.path.join(self.data_directory, "canary")

    @property
    def command(self) -> str:
        """The command."""
        return shlex.join(["touch", self.file])

    def build_payload(self, host: str, event_name: str, cwd: str) -> dict[str, Any]:
        """The command as a host would hand it to its hook."""
        call = {"command": self.command}
        session = CANARY_SESSION
        if host == "copilot":
            return {"sessionId": session, "cwd": cwd, "toolName": _SHELL_TOOLS[host], "toolArgs": call}
        if host == "opencode":
            tool = {"tool": _SHELL_TOOLS[host], "sessionID": session, "callID": "canary"}
            return {"ev": event_name, "input": tool, "output": {"args": call}, "directory": cwd}
        common = {"hook_event_name": event_name, "cwd": cwd, "tool_name": _SHELL_TOOLS[host], "tool_input": call}
        return common | {"conversation_id" if host == "cursor" else "session_id": session}

    def remove_file(self) -> None:
        """Takes away what a command that ran left behind."""
        if os.path.exists(self.file):
            os.unlink(self.file)
