"""Cursor. With `failClosed` silence counts as a failure there, so a pass is always said."""

from collections.abc import Mapping
from typing import Any

from verdikt.errors import HookError
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import NO_OPINION, HookResponse, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import FieldNames, PayloadFields, parse_payload, read_hook_event
from verdikt.model.action import Action, Outcome
from verdikt.model.verdict import VerdictKind

EVENTS: dict[str, HookEventKind] = {
    "sessionStart": HookEventKind.START,
    "beforeSubmitPrompt": HookEventKind.PROMPT,
    "preToolUse": HookEventKind.BEFORE,
    "beforeShellExecution": HookEventKind.BEFORE,
    "beforeMCPExecution": HookEventKind.BEFORE,
    "beforeReadFile": HookEventKind.BEFORE,
    "postToolUse": HookEventKind.AFTER,
    "postToolUseFailure": HookEventKind.AFTER,
    "afterShellExecution": HookEventKind.NOTICE,
    "afterMCPExecution": HookEventKind.NOTICE,
    "afterFileEdit": HookEventKind.NOTICE,
    "stop": HookEventKind.STOP,
    "subagentStop": HookEventKind.STOP,
    "sessionEnd": HookEventKind.END,
}

_ASK_EVENTS = {"beforeShellExecution", "beforeMCPExecution"}
"""Where Cursor shows an `ask` to the person."""

_TOOLS_BY_EVENT = {"beforeShellExecution": ("Shell", "command"), "beforeReadFile": ("Read", "file_path")}
"""The events that are about one tool and do not name it, and what they must tell."""

_FIELD_NAMES = FieldNames(session="conversation_id", result="tool_output", call="tool_use_id")


def decode(payload: object, event_name: str = "", env: Mapping[str, str] | None = None) -> HookEvent:
    """The moment that a Cursor payload stands for."""
    fields = PayloadFields(payload)
    name = event_name or fields.get_text("hook_event_name")
    flat: dict[str, Any] = dict(fields.raw)
    if name in _TOOLS_BY_EVENT:
        tool, wanted = _TOOLS_BY_EVENT[name]
        kept = ("command", "file_path", "cwd", "content", "sandbox")
        flat |= {
            "tool_name": _require_text(fields, wanted) and tool,
            "tool_input": {key: flat[key] for key in kept if key in flat},
        }
    elif name == "beforeMCPExecution":
        flat |= {
            "tool_name": f"MCP:{_require_text(fields, 'tool_name')}",
            "tool_input": _parse_object(fields, "tool_input"),
        }
    if not fields.get_text("cwd"):
        roots = fields.raw.get("workspace_roots")
        flat["cwd"] = roots[0] if isinstance(roots, list) and roots else ""
    return read_hook_event(
        flat,
        host="cursor",
        events=EVENTS,
        parse_outcome=_parse_outcome,
        event_name=event_name,
        field_names=_FIELD_NAMES,
        can_ask=name in _ASK_EVENTS,
    )


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """What Cursor must be told for the ruling to hold: flat documents with status 0."""
    if hook_event.kind is HookEventKind.BEFORE:
        if host_decision.kind < VerdictKind.ASK:
            return build_response({"permission": "allow", "agent_message": host_decision.context})
        word = "deny" if host_decision.is_blocked else "ask"
        return build_response(
            {"permission": word, "user_message": host_decision.reason, "agent_message": host_decision.reason}
        )
    if hook_event.kind is HookEventKind.PROMPT:
        return build_response(
            {
                "continue": not host_decision.is_blocked,
                "user_message": host_decision.reason if host_decision.is_blocked else "",
            }
        )
    if hook_event.kind is HookEventKind.STOP:
        return build_response({"followup_message": host_decision.reason}) if host_decision.is_blocked else NO_OPINION
    text = "\n".join(part for part in (host_decision.reason, host_decision.context) if part)
    return build_response({"additional_context": text}) if text else NO_OPINION


def _require_text(fields: PayloadFields, key: str) -> str:
    text = fields.get_text(key)
    if not text:
        raise HookError(f"expected `{key}` to be told, found nothing")
    return text


def _parse_object(fields: PayloadFields, key: str) -> Mapping[str, Any]:
    """A field that Cursor sends as an object or as the JSON text of one."""
    if isinstance(fields.raw.get(key), str):
        return PayloadFields(parse_payload(fields.get_text(key).encode("utf-8", "surrogatepass"))).raw
    return fields.get_object(key)


def _parse_outcome(fields: PayloadFields, action: Action) -> Outcome:
    error = fields.raw.get("error_message")
    output = fields.raw.get("tool_output")
    return Outcome(
        success=not error,
        output=output if isinstance(output, str) else "",
        error=error if isinstance(error, str) else "",
        raw=fields.raw,
    )
