"""The agents, prompts and tools that a policy, a provider or a check applies to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Names of agents, prompts and tools; empty means all. A name that ends in `*` matches by its beginning."""

    agents: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def covers(self, *, agent: str = "", prompt: str = "", tool: str = "") -> bool:
        """Return whether agent, prompt and tool all match."""
        return (
            _matches_any(self.agents, agent) and _matches_any(self.prompts, prompt) and _matches_any(self.tools, tool)
        )


def _matches_any(patterns: tuple[str, ...], value: str) -> bool:
    # An empty list in a policy file means that the setting was left out.
    if not patterns:
        return True
    return any(value.startswith(name[:-1]) if name.endswith("*") else value == name for name in patterns)
