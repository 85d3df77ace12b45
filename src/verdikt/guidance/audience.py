"""For whom a policy, a provider or a check is meant."""

from verdikt.model.value import Value


class Audience(Value, kw_only=True):
    """Names of agents, prompts and tools; an empty list stands for all of them. `*` at a name's end stands for any ending."""

    agents: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def covers(self, *, agent: str = "", prompt: str = "", tool: str = "") -> bool:
        """Whether all three are meant."""
        return _fits(self.agents, agent) and _fits(self.prompts, prompt) and _fits(self.tools, tool)


def _fits(names: tuple[str, ...], found: str) -> bool:
    if not names:
        return True
    return any(found.startswith(name[:-1]) if name.endswith("*") else found == name for name in names)
