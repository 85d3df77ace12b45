"""Detection of the agent that started this process, by its environment variables."""

from __future__ import annotations

from collections.abc import Mapping

from verdikt.hosts.registry import HOSTS

# Only variables that agents set for their commands: settings that people keep in their shells (CODEX_HOME …)
# would make every terminal look like an agent.
AGENT_VARIABLES: dict[str, tuple[str, ...]] = {
    **{host.title: host.agent_variables for host in HOSTS.values() if host.agent_variables},
    "Cline": ("CLINE_ACTIVE",),
    "Augment": ("AUGMENT_AGENT",),
    "an agent": ("AI_AGENT", "AGENT"),
}
"""Agent → variables that it sets for the commands it runs."""


def detect_agent(env: Mapping[str, str]) -> str:
    """Return the agent whose environment this is; empty when there is none."""
    return next((agent for agent, marks in AGENT_VARIABLES.items() if any(env.get(mark) for mark in marks)), "")
