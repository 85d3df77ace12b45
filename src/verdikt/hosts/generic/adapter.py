"""Any other host: neutral JSON in, and out the response that holds on every client that was measured."""

from collections.abc import Mapping
from typing import Any

from verdikt.hosts.generic import HOST
from verdikt.hosts.hook_event import HookEvent
from verdikt.hosts.hook_response import HookResponse, build_block_response, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import PayloadFields, read_hook_event
from verdikt.model.action import Action, Outcome

_FIELD_ALIASES: dict[str, tuple[str, ...]] = {
    "hook_event_name": ("event", "moment", "hookName"),
    "session_id": ("session", "sessionId", "sessionID", "conversation_id"),
    "tool_name": ("tool", "toolName"),
    "tool_input": ("arguments", "args", "toolArgs", "parameters", "input"),
    "tool_use_id": ("call_id", "callId", "callID", "id"),
    "tool_response": ("outcome", "result", "toolResult"),
    "prompt": ("text",),
    "last_assistant_message": ("message",),
}
"""The name of a field → other names for it."""


def decode(payload: object, event_name: str = "", env: Mapping[str, str] | None = None) -> HookEvent:
    """Return the event that a neutral payload stands for. An unknown event is judged by what it holds."""
    flat: dict[str, Any] = dict(PayloadFields(payload).raw)
    # The first alias that is present wins, and never replaces the field itself.
    for name, aliases in _FIELD_ALIASES.items():
        for alias in aliases:
            if name not in flat and alias in flat:
                flat[name] = flat[alias]
    can_ask = PayloadFields(flat).get_bool("attended")
    return read_hook_event(HOST, flat, parse_outcome=_parse_outcome, event_name=event_name, can_ask=can_ask)


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """Return a block that holds everywhere; an ask only where the payload said that a person watches."""
    if host_decision.is_blocked:
        return build_block_response(host_decision.reason)
    if host_decision.reason:
        return build_response({"decision": "ask", "reason": host_decision.reason, "context": host_decision.context})
    return build_response({"context": host_decision.context})


def _parse_outcome(fields: PayloadFields, action: Action) -> Outcome:
    result = fields.raw.get("tool_response")
    if not isinstance(result, Mapping):
        text = result if isinstance(result, str) else ""
        return Outcome(success=not fields.has_any("error"), output=text, raw=fields.raw)
    code, output = result.get("exit_code"), result.get("output")
    exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
    return Outcome(
        success=result.get("success") is not False and not exit_code,
        output=output if isinstance(output, str) else "",
        exit_code=exit_code,
        raw=fields.raw,
    )
