"""What the hosts' tools do, by the names that the hosts' descriptions declare."""

from __future__ import annotations

from verdikt.hosts.registry import HOSTS
from verdikt.model.action import ActionKind

_KIND_BY_FIELD: dict[str, ActionKind] = {
    "read": ActionKind.READ,
    "write": ActionKind.WRITE,
    "shell": ActionKind.BASH,
    "code": ActionKind.EXECUTE_CODE,
    "fetch": ActionKind.FETCH,
    "agent": ActionKind.AGENT,
    "task": ActionKind.SUBMIT_TASK,
}
"""Field of `ToolNames` → kind."""

_KIND_BY_TOOL: dict[str, ActionKind] = {
    tool: _KIND_BY_FIELD[field] for host in HOSTS.values() for field, tools in host.tools.items() for tool in tools
}

_MCP_PREFIXES = tuple(dict.fromkeys(prefix for host in HOSTS.values() for prefix in host.mcp_prefixes))


def classify_tool(tool: str) -> ActionKind:
    """Return the kind of action that a host's tool of this name performs; `OTHER` for a name that no host declares."""
    kind = _KIND_BY_TOOL.get(tool)
    if kind is not None:
        return kind
    return ActionKind.MCP if tool.startswith(_MCP_PREFIXES) else ActionKind.OTHER
