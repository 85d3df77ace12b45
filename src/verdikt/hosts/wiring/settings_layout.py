"""Where each host keeps the settings that name its hooks, and what an entry there looks like."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt import hosts
from verdikt.hosts.wiring.registration import CLIENT_TIMEOUT_SECONDS, Registration

SCOPES = ("project", "user", "managed")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsLayout:
    """One host: its files by scope, the events it is wired for, the shape of an entry there."""

    host: str
    program: str
    """The name of its executable."""
    project_marker: str
    """What shows in a project that the host is used there."""
    paths_by_scope: Mapping[str, str]
    """Scope → file, below the project or absolute; `{home}` and the like come from the environment."""
    events: tuple[str, ...]
    build_entry: Callable[[str, bool], dict[str, Any]]
    """(command, closed) → the hook as the host writes it."""
    extra_settings: Mapping[str, Any] = field(default_factory=dict)
    """What the file must hold beside the hooks, where it does not say otherwise."""

    def build_entries(self, registration: Registration) -> dict[str, dict[str, Any]]:
        """Event → entry."""
        kinds = hosts.load_adapter(self.host).EVENTS
        return {
            event: self.build_entry(
                registration.build_command_line(self.host, event, fail_closed=kinds[event].fails_closed),
                kinds[event].fails_closed,
            )
            for event in self.events
        }

    def get_path(self, scope: str, project: str, env: Mapping[str, str], system_directory: str = "/etc") -> str:
        """The absolute path of the settings file; empty where the host has none of that scope."""
        if scope not in self.paths_by_scope:
            return ""
        home = env.get("HOME") or os.path.expanduser("~")
        path = self.paths_by_scope[scope].format(
            claude=env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"),
            codex=env.get("CODEX_HOME") or os.path.join(home, ".codex"),
            config=env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"),
            home=home,
            system=system_directory,
        )
        return os.path.join(project, path)


def _build_claude_entry(command: str, fail_closed: bool) -> dict[str, Any]:
    handler: dict[str, Any] = {"type": "command", "command": command, "timeout": CLIENT_TIMEOUT_SECONDS}
    # Known since 2.1.295 and ignored before.
    return {"matcher": "*", "hooks": [handler | {"onFailure": "block"} if fail_closed else handler]}


def _build_codex_entry(command: str, fail_closed: bool) -> dict[str, Any]:
    return {"matcher": "*", "hooks": [{"type": "command", "command": command, "timeout": CLIENT_TIMEOUT_SECONDS}]}


def _build_gemini_entry(command: str, fail_closed: bool) -> dict[str, Any]:
    # Milliseconds.
    handler = {"name": "verdikt", "type": "command", "command": command, "timeout": CLIENT_TIMEOUT_SECONDS * 1000}
    return {"matcher": "*", "hooks": [handler]}


def _build_copilot_entry(command: str, fail_closed: bool) -> dict[str, Any]:
    return {"type": "command", "bash": command, "timeoutSec": CLIENT_TIMEOUT_SECONDS}


def _build_cursor_entry(command: str, fail_closed: bool) -> dict[str, Any]:
    entry = {"command": command, "timeout": CLIENT_TIMEOUT_SECONDS}
    return entry | {"failClosed": True} if fail_closed else entry


SETTINGS_LAYOUTS: dict[str, SettingsLayout] = {
    place.host: place
    for place in (
        SettingsLayout(
            host="claude",
            program="claude",
            project_marker=".claude",
            paths_by_scope={
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
            build_entry=_build_claude_entry,
        ),
        SettingsLayout(
            host="codex",
            program="codex",
            project_marker=".codex",
            paths_by_scope={
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
            build_entry=_build_codex_entry,
        ),
        SettingsLayout(
            host="gemini",
            program="gemini",
            project_marker=".gemini",
            paths_by_scope={
                "project": ".gemini/settings.json",
                "user": "{home}/.gemini/settings.json",
                "managed": "{system}/gemini-cli/settings.json",
            },
            events=("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"),
            build_entry=_build_gemini_entry,
        ),
        SettingsLayout(
            host="copilot",
            program="copilot",
            project_marker=".github/hooks",
            paths_by_scope={"project": ".github/hooks/verdikt.json", "user": "{home}/.copilot/hooks/verdikt.json"},
            events=("sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "agentStop", "sessionEnd"),
            build_entry=_build_copilot_entry,
            extra_settings={"version": 1},
        ),
        SettingsLayout(
            host="cursor",
            program="cursor-agent",
            project_marker=".cursor",
            paths_by_scope={
                "project": ".cursor/hooks.json",
                "user": "{home}/.cursor/hooks.json",
                "managed": "{system}/cursor/hooks.json",
            },
            events=("sessionStart", "beforeSubmitPrompt", "preToolUse", "postToolUse", "postToolUseFailure", "stop"),
            build_entry=_build_cursor_entry,
            extra_settings={"version": 1},
        ),
    )
}
"""The hosts whose hooks are entries in a JSON file. OpenCode loads a plugin, git runs a script."""
