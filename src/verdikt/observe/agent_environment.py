"""Whether an agent started this process, and where that agent was started."""

from __future__ import annotations

import os
from collections.abc import Mapping

from verdikt.hosts.registry import HOSTS

AGENT_VARIABLES: dict[str, tuple[str, ...]] = {
    **{host.title: host.agent_variables for host in HOSTS.values() if host.agent_variables},
    "Cline": ("CLINE_ACTIVE",),
    "Augment": ("AUGMENT_AGENT",),
    "an agent": ("AI_AGENT", "AGENT"),
}
"""Agent → variables that it sets for the commands it runs. Settings that people keep in their shells are not among them."""


HOST_PROJECT_VARIABLES = tuple(host.project_variable for host in HOSTS.values() if host.project_variable)
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
