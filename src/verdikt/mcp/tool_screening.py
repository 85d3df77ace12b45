"""What the client may see of a server's tools and instructions: nothing that changed since it was accepted."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from verdikt.errors import McpError
from verdikt.hosts.host_decision import TEXT_MARK
from verdikt.mcp.message import REFUSED, Message, MessageError, build_error, refuse_lookalike_keys
from verdikt.mcp.protocol_era import read_server_info
from verdikt.mcp.tool_pin import INSTRUCTIONS, KNOWN_FIELDS, MAX_NAME_LENGTH, PinState

if TYPE_CHECKING:
    from verdikt.mcp.call_governor import CallGovernor
    from verdikt.mcp.pin_store import ServerPins

_MAX_RECORDED_TOOLS = 100
_LIST_FIELDS = frozenset({"tools", "nextCursor"})
_HANDSHAKE_FIELDS = frozenset({"instructions"})


def screen_tools(
    message: Message, request: Message, governor: CallGovernor, pins: ServerPins, *, trust_first: bool
) -> Message:
    """Return the response to `tools/list` without the tools whose definition changed, and pin the others.

    With `trust_first`, the tools of a server that is seen for the first time count as accepted.
    """
    result = message.result
    if not isinstance(result, Mapping):
        return message
    try:
        refuse_lookalike_keys(result, _LIST_FIELDS, message.id)
        tools_by_name = _collect_tools(result.get("tools"))
        note_server_version(result, governor, pins)
        # A second list that begins from its start ends the first one: a server that always announces one more page
        # would be trusted for ever.
        if pins.book.has_tools and not request.params.get("cursor"):
            pins.end_first_sight()
        is_trusted = trust_first and pins.is_first_sight
        pins_by_name = pins.record_tools(list(tools_by_name.values()), trust=is_trusted)
        if not result.get("nextCursor"):
            pins.end_first_sight()
    except McpError as error:
        governor.record_event("", "refused", reason=str(error))
        return build_error(message.id, REFUSED, f"{TEXT_MARK} {error}")
    hidden = [name for name, pin in pins_by_name.items() if pin.state is PinState.CHANGED]
    hidden += [name for name in tools_by_name if name not in pins_by_name]
    findings_by_name = {name: list(pin.findings) for name, pin in pins_by_name.items() if pin.findings}
    if hidden or findings_by_name:
        _record_pins(governor, hidden, findings_by_name)
    visible = [tool for name, tool in tools_by_name.items() if name not in hidden]
    return message.replace_result({**result, "tools": visible})


def screen_handshake(message: Message, governor: CallGovernor, pins: ServerPins, *, trust_first: bool) -> Message:
    """Return the result of a handshake without instructions that no person has accepted as they are.

    Clients show them to the model. They are not used as a tool is, so they are withheld where a tool is asked about.
    """
    result = message.result
    if not isinstance(result, Mapping):
        return message
    try:
        refuse_lookalike_keys(result, _HANDSHAKE_FIELDS, message.id)
        note_server_version(result, governor, pins)
        text = result.get("instructions")
        if not text:
            return message
        definition = {"name": INSTRUCTIONS, "description": text}
        pin = pins.record_tools([definition], trust=trust_first and pins.is_first_sight).get(INSTRUCTIONS)
    except McpError as error:
        governor.record_event("", "refused", reason=str(error))
        return build_error(message.id, REFUSED, f"{TEXT_MARK} {error}")
    if pin is not None and pin.state is PinState.ACCEPTED:
        return message
    _record_pins(governor, [INSTRUCTIONS], {INSTRUCTIONS: list(pin.findings)} if pin is not None else {})
    return message.replace_result({key: value for key, value in result.items() if key != "instructions"})


def _record_pins(governor: CallGovernor, hidden: list[str], findings_by_name: dict[str, list[str]]) -> None:
    governor.record_event(
        "",
        "pins",
        hidden=[name[:MAX_NAME_LENGTH] for name in sorted(hidden)[:_MAX_RECORDED_TOOLS]],
        findings=dict(list(findings_by_name.items())[:_MAX_RECORDED_TOOLS]),
    )


def _collect_tools(tools: object) -> dict[str, Mapping[str, Any]]:
    """Return the tools of a list that can be read in one way only, by name."""
    tools_by_name: dict[str, Mapping[str, Any]] = {}
    for tool in tools if isinstance(tools, list) else ():
        # Of two tools with one name, a client may show the first and call the second.
        if isinstance(tool, dict) and _is_name(tool.get("name")) and tool["name"] not in tools_by_name:
            # Of `description` and `Description`, a client may show the second, which no person has looked at.
            with suppress(MessageError):
                refuse_lookalike_keys(tool, KNOWN_FIELDS, None)
                tools_by_name[tool["name"]] = tool
    return tools_by_name


def _is_name(name: object) -> bool:
    # A line break in a name would write lines of its own into the question that a person reads.
    return isinstance(name, str) and name not in ("", INSTRUCTIONS) and name.isprintable()


def note_server_version(result: object, governor: CallGovernor, pins: ServerPins) -> None:
    """Record that a server names itself otherwise than the last time."""
    info = read_server_info(result)
    if not info:
        return
    now = f"{info.get('name', '')} {info.get('version', '')}"[:200]
    before = pins.note_server(now)
    if before:
        governor.record_event("", "server", before=before, now=now)
