"""A call that every policy forbids and that would do no harm: writing into verdikt's own data directory."""

import os
import shlex
from typing import Any

from verdikt.model.value import Value

_SHELLS = {
    "claude": "Bash",
    "codex": "Bash",
    "gemini": "run_shell_command",
    "cursor": "Shell",
    "copilot": "bash",
    "opencode": "bash",
}


SESSION = "verdikt-doctor"
"""Whose calls these are; no agent has it."""


class Canary(Value, kw_only=True):
    """The forbidden command, and the file that would be there if it had run."""

    data: str

    @property
    def file(self) -> str:
        """What the command would leave behind."""
        return os.path.join(self.data, "canary")

    @property
    def command(self) -> str:
        """The command."""
        return shlex.join(["touch", self.file])

    def payload(self, host: str, event: str, cwd: str) -> dict[str, Any]:
        """The command as a host would hand it to its hook."""
        call = {"command": self.command}
        session = SESSION
        if host == "copilot":
            return {"sessionId": session, "cwd": cwd, "toolName": _SHELLS[host], "toolArgs": call}
        if host == "opencode":
            tool = {"tool": _SHELLS[host], "sessionID": session, "callID": "canary"}
            return {"ev": event, "input": tool, "output": {"args": call}, "directory": cwd}
        common = {"hook_event_name": event, "cwd": cwd, "tool_name": _SHELLS[host], "tool_input": call}
        return common | {"conversation_id" if host == "cursor" else "session_id": session}

    def remove(self) -> None:
        """Takes away what a command that ran left behind."""
        if os.path.exists(self.file):
            os.unlink(self.file)
