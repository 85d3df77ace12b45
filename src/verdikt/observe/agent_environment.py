"""Whether an agent started this process, and where that agent was started."""

from __future__ import annotations

import os
from collections.abc import Mapping

AGENT_VARIABLES: dict[str, tuple[str, ...]] = {
    "Claude Code": ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION"),
    "Codex": (
        "CODEX_SANDBOX",
        "CODEX_SANDBOX_NETWORK_DISABLED",
        "CODEX_THREAD_ID",
        "CODEX_SESSION_ID",
        "CODEX_MANAGED_BY_NPM",
        "CODEX_CI",
    ),
    "Gemini CLI": ("GEMINI_CLI", "GEMINI_SESSION_ID"),
    "Copilot CLI": ("COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"),
    "OpenCode": ("OPENCODE", "OPENCODE_PID", "OPENCODE_SESSION_ID"),
    "Cursor": ("CURSOR_AGENT", "CURSOR_TRACE_ID"),
    "Cline": ("CLINE_ACTIVE",),
    "Augment": ("AUGMENT_AGENT",),
    "an agent": ("AI_AGENT", "AGENT"),
}
"""Agent → variables that it sets for the commands it runs. Settings that people keep in their shells (CODEX_HOME …) are not among them."""


HOST_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")
"""Variables in which hosts tell their hooks where the session was started."""


def find_host_project(env: Mapping[str, str]) -> str:
    """The project that the host was started in, when it says so and it is there."""
    for name in HOST_PROJECT_VARIABLES:
        place = env.get(name)
        if place and os.path.isdir(place):
            return place
    return ""


def detect_agent(env: Mapping[str, str]) -> str:
    """The agent whose environment this is, or nothing."""
    return next((agent for agent, marks in AGENT_VARIABLES.items() if any(env.get(mark) for mark in marks)), "")
