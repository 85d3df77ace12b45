"""Detection of the agent that started this process, by its environment variables."""

from __future__ import annotations

from collections.abc import Mapping

# Only variables that agents set for their commands: settings that people keep in their shells (CODEX_HOME …)
# would make every terminal look like an agent.
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
"""Agent → variables that it sets for the commands it runs."""


def detect_agent(env: Mapping[str, str]) -> str:
    """Return the agent whose environment this is; empty when there is none."""
    return next((agent for agent, marks in AGENT_VARIABLES.items() if any(env.get(mark) for mark in marks)), "")
