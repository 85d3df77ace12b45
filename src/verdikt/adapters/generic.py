"""Any other host: neutral JSON in, the answer that holds on every client that was measured out."""

from collections.abc import Mapping
from typing import Any

from verdikt.adapters.moment import Moment, MomentKind
from verdikt.adapters.payload import Fields, read
from verdikt.adapters.reply import Reply, refuse, say
from verdikt.adapters.ruling import Ruling
from verdikt.model.action import Action, Outcome

EVENTS: dict[str, MomentKind] = {kind.value: kind for kind in MomentKind}

_NAMES: dict[str, tuple[str, ...]] = {
    "hook_event_name": ("event", "moment", "hookName"),
    "session_id": ("session", "sessionId", "sessionID", "conversation_id"),
    "tool_name": ("tool", "toolName"),
    "tool_input": ("arguments", "args", "toolArgs", "parameters", "input"),
    "tool_use_id": ("call_id", "callId", "callID", "id"),
    "tool_response": ("outcome", "result", "toolResult"),
    "prompt": ("text",),
    "last_assistant_message": ("message",),
}
"""The field as it is read → what else hosts call it."""


def decode(payload: object, event: str = "", env: Mapping[str, str] | None = None) -> Moment:
    """The moment that a neutral payload stands for. An event that is not one of ours is judged by what it holds."""
    flat: dict[str, Any] = dict(Fields(payload).raw)
    for name, others in _NAMES.items():
        for other in others:
            if name not in flat and other in flat:
                flat[name] = flat[other]
    asks = Fields(flat).flag("attended")
    return read(flat, host="generic", events=EVENTS, outcome=_outcome, event=event, asks=asks)


def encode(moment: Moment, ruling: Ruling) -> Reply:
    """A refusal that blocks everywhere; a question only where the payload said that somebody is there."""
    if ruling.blocked:
        return refuse(ruling.reason)
    if ruling.reason:
        return say({"decision": "ask", "reason": ruling.reason, "context": ruling.context})
    return say({"context": ruling.context})


def _outcome(fields: Fields, action: Action) -> Outcome:
    result = fields.raw.get("tool_response")
    if not isinstance(result, Mapping):
        return Outcome(
            success=not fields.has("error"), output=result if isinstance(result, str) else "", raw=fields.raw
        )
    code, output = result.get("exit_code"), result.get("output")
    exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
    return Outcome(
        success=result.get("success") is not False and not exit_code,
        output=output if isinstance(output, str) else "",
        exit_code=exit_code,
        raw=fields.raw,
    )
