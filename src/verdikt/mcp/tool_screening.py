"""What of a server's list of tools the client may see: no tool whose definition changed since it was accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from verdikt.errors import McpError
from verdikt.hosts.host_decision import TEXT_MARK
from verdikt.mcp.message import REFUSED, Message, build_error
from verdikt.mcp.tool_pin import PinState

if TYPE_CHECKING:
    from verdikt.mcp.call_governor import CallGovernor
    from verdikt.mcp.pin_store import ServerPins

_MAX_RECORDED_TOOLS = 100


def screen_tools(message: Message, governor: CallGovernor, pins: ServerPins, *, trust_first: bool) -> Message:
    """Return the response to `tools/list` without the tools whose definition changed, and pin the others.

    With `trust_first`, the tools of a server that is seen for the first time count as accepted.
    """
    result = message.result
    tools = result.get("tools") if isinstance(result, Mapping) else None
    if not isinstance(tools, list):
        return message
    tools_by_name: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        # Of two tools with one name, a client may show the first and call the second.
        if isinstance(tool, dict) and isinstance(tool.get("name"), str) and tool["name"] not in tools_by_name:
            tools_by_name[tool["name"]] = tool
    try:
        is_trusted = trust_first and pins.is_first_sight
        pins_by_name = pins.record_tools(list(tools_by_name.values()), trust=is_trusted)
        if "nextCursor" not in result:
            pins.end_first_sight()
    except McpError as error:
        governor.record_event("", "refused", reason=str(error))
        return build_error(message.id, REFUSED, f"{TEXT_MARK} {error}")
    hidden = [name for name, pin in pins_by_name.items() if pin.state is PinState.CHANGED]
    hidden += [name for name in tools_by_name if name not in pins_by_name]
    findings_by_name = {name: list(pin.findings) for name, pin in pins_by_name.items() if pin.findings}
    if hidden or findings_by_name:
        governor.record_event(
            "",
            "pins",
            hidden=sorted(hidden)[:_MAX_RECORDED_TOOLS],
            findings=dict(list(findings_by_name.items())[:_MAX_RECORDED_TOOLS]),
        )
    visible = [tool for name, tool in tools_by_name.items() if name not in hidden]
    return message.replace_result({**result, "tools": visible})


def note_server_version(result: object, governor: CallGovernor, pins: ServerPins) -> None:
    """Record that a server names itself, in its result of `initialize`, otherwise than the last time."""
    info = result.get("serverInfo") if isinstance(result, Mapping) else None
    if not isinstance(info, Mapping):
        return
    now = f"{info.get('name', '')} {info.get('version', '')}"[:200]
    before = pins.note_server(now)
    if before:
        governor.record_event("", "server", before=before, now=now)
