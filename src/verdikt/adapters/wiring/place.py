"""Where each host keeps the settings that name its hooks, and what an entry there looks like."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from verdikt import adapters
from verdikt.adapters.wiring.registration import CLIENT_SECONDS, Registration
from verdikt.model.value import Value, field

SCOPES = ("project", "user", "managed")


class Place(Value, kw_only=True):
    """One host: its files by scope, the events it is wired for, the shape of an entry there."""

    host: str
    program: str
    """The name of its executable."""
    mark: str
    """What shows in a project that the host is used there."""
    files: Mapping[str, str]
    """Scope → file, below the project or absolute; `{home}` and the like come from the environment."""
    events: tuple[str, ...]
    entry: Callable[[str, bool], dict[str, Any]]
    """(command, closed) → the hook as the host writes it."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What the file must hold beside the hooks, where it does not say otherwise."""

    def entries(self, registration: Registration) -> dict[str, dict[str, Any]]:
        """Event → entry."""
        kinds = adapters.host(self.host).EVENTS
        return {
            event: self.entry(registration.command(self.host, event, closed=kinds[event].closed), kinds[event].closed)
            for event in self.events
        }

    def file(self, scope: str, project: str, env: Mapping[str, str], system: str = "/etc") -> str:
        """The absolute path of the settings file; empty where the host has none of that scope."""
        if scope not in self.files:
            return ""
        home = env.get("HOME") or os.path.expanduser("~")
        path = self.files[scope].format(
            claude=env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"),
            codex=env.get("CODEX_HOME") or os.path.join(home, ".codex"),
            config=env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"),
            home=home,
            system=system,
        )
        return os.path.join(project, path)


def _claude(command: str, closed: bool) -> dict[str, Any]:
    handler: dict[str, Any] = {"type": "command", "command": command, "timeout": CLIENT_SECONDS}
    # Known since 2.1.295 and ignored before.
    return {"matcher": "*", "hooks": [handler | {"onFailure": "block"} if closed else handler]}


def _codex(command: str, closed: bool) -> dict[str, Any]:
    return {"matcher": "*", "hooks": [{"type": "command", "command": command, "timeout": CLIENT_SECONDS}]}


def _gemini(command: str, closed: bool) -> dict[str, Any]:
    # Milliseconds.
    handler = {"name": "verdikt", "type": "command", "command": command, "timeout": CLIENT_SECONDS * 1000}
    return {"matcher": "*", "hooks": [handler]}


def _copilot(command: str, closed: bool) -> dict[str, Any]:
    return {"type": "command", "bash": command, "timeoutSec": CLIENT_SECONDS}


def _cursor(command: str, closed: bool) -> dict[str, Any]:
    entry = {"command": command, "timeout": CLIENT_SECONDS}
    return entry | {"failClosed": True} if closed else entry


PLACES: dict[str, Place] = {
    place.host: place
    for place in (
        Place(
            host="claude",
            program="claude",
            mark=".claude",
            files={
                "project": ".claude/settings.json",
                "user": "{claude}/settings.json",
                "managed": "{system}/claude-code/managed-settings.json",
            },
            events=(
                "SessionStart",
                "UserPromptSubmit",
                "UserPromptExpansion",
                "PreToolUse",
                "PermissionRequest",
                "PostToolUse",
                "PostToolUseFailure",
                "PostToolBatch",
                "Stop",
                "SubagentStop",
                "PreCompact",
                "ConfigChange",
                "SessionEnd",
            ),
            entry=_claude,
        ),
        Place(
            host="codex",
            program="codex",
            mark=".codex",
            files={
                "project": ".codex/hooks.json",
                "user": "{codex}/hooks.json",
                "managed": "{system}/codex/requirements.toml",
            },
            events=(
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "Stop",
                "SubagentStop",
            ),
            entry=_codex,
        ),
        Place(
            host="gemini",
            program="gemini",
            mark=".gemini",
            files={
                "project": ".gemini/settings.json",
                "user": "{home}/.gemini/settings.json",
                "managed": "{system}/gemini-cli/settings.json",
            },
            events=("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"),
            entry=_gemini,
        ),
        Place(
            host="copilot",
            program="copilot",
            mark=".github/hooks",
            files={"project": ".github/hooks/verdikt.json", "user": "{home}/.copilot/hooks/verdikt.json"},
            events=("sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "agentStop", "sessionEnd"),
            entry=_copilot,
            extra={"version": 1},
        ),
        Place(
            host="cursor",
            program="cursor-agent",
            mark=".cursor",
            files={
                "project": ".cursor/hooks.json",
                "user": "{home}/.cursor/hooks.json",
                "managed": "{system}/cursor/hooks.json",
            },
            events=("sessionStart", "beforeSubmitPrompt", "preToolUse", "postToolUse", "postToolUseFailure", "stop"),
            entry=_cursor,
            extra={"version": 1},
        ),
    )
}
"""The hosts whose hooks are entries in a JSON file. OpenCode loads a plugin, git runs a script."""
