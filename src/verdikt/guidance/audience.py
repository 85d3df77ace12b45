"""For whom a policy, a provider or a check is meant."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Names of agents, prompts and tools; an empty list stands for all of them. `*` at a name's end stands for any ending."""

    agents: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def covers(self, *, agent: str = "", prompt: str = "", tool: str = "") -> bool:
        """Whether all three are meant."""
        return (
            _matches_any(self.agents, agent) and _matches_any(self.prompts, prompt) and _matches_any(self.tools, tool)
        )


def _matches_any(patterns: tuple[str, ...], value: str) -> bool:
    if not patterns:
        return True
    return any(value.startswith(name[:-1]) if name.endswith("*") else value == name for name in patterns)
