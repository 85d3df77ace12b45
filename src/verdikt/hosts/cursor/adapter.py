"""Cursor: its payloads and its responses.

With `failClosed` it treats a response without a decision as a failure, so a pass is always sent.
"""

from collections.abc import Mapping
from typing import Any

from verdikt.errors import HookError
from verdikt.hosts.cursor import HOST
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import NO_OPINION, HookResponse, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import PayloadFields, parse_payload, read_hook_event
from verdikt.model.action import Action, Outcome
from verdikt.model.verdict import VerdictKind

_ASK_EVENTS = {"beforeShellExecution", "beforeMCPExecution"}
"""Where Cursor shows an `ask` to the person."""

_TOOLS_BY_EVENT = {"beforeShellExecution": ("Shell", "command"), "beforeReadFile": ("Read", "file_path")}
"""The events that are about one tool and do not name it, and the field that they must have."""

_INPUT_FIELDS = ("command", "file_path", "cwd", "content", "sandbox")
"""The fields of those events that belong to the input of the tool."""


def decode(payload: object, event_name: str = "", env: Mapping[str, str] | None = None) -> HookEvent:
    """Return the event that a Cursor payload stands for."""
    fields = PayloadFields(payload)
    name = event_name or fields.get_text("hook_event_name")
    flat: dict[str, Any] = dict(fields.raw)
    if name in _TOOLS_BY_EVENT:
        tool, required_field = _TOOLS_BY_EVENT[name]
        _require_text(fields, required_field)
        flat |= {"tool_name": tool, "tool_input": {key: flat[key] for key in _INPUT_FIELDS if key in flat}}
    elif name == "beforeMCPExecution":
        flat |= {
            "tool_name": f"MCP:{_require_text(fields, 'tool_name')}",
            "tool_input": _parse_object(fields, "tool_input"),
        }
    # Not every event has a directory; the first root of the workspace is the project.
    if not fields.get_text("cwd"):
        roots = fields.raw.get("workspace_roots")
        flat["cwd"] = roots[0] if isinstance(roots, list) and roots else ""
    return read_hook_event(HOST, flat, parse_outcome=_parse_outcome, event_name=event_name, can_ask=name in _ASK_EVENTS)


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """Return the response that makes the decision hold in Cursor: a flat document with status 0."""
    if hook_event.kind is HookEventKind.BEFORE:
        # An explicit pass: with `failClosed` Cursor blocks after a response without a decision.
        if host_decision.kind < VerdictKind.ASK:
            return build_response({"permission": "allow", "agent_message": host_decision.context})
        word = "deny" if host_decision.is_blocked else "ask"
        return build_response(
            {"permission": word, "user_message": host_decision.person_text, "agent_message": host_decision.reason}
        )
    if hook_event.kind is HookEventKind.PROMPT:
        message = host_decision.reason if host_decision.is_blocked else ""
        return build_response({"continue": not host_decision.is_blocked, "user_message": message})
    if hook_event.kind is HookEventKind.STOP:
        return build_response({"followup_message": host_decision.reason}) if host_decision.is_blocked else NO_OPINION
    text = host_decision.full_text
    return build_response({"additional_context": text}) if text else NO_OPINION


def _require_text(fields: PayloadFields, key: str) -> str:
    text = fields.get_text(key)
    if not text:
        raise HookError(f"expected `{key}` to be set, found nothing")
    return text


def _parse_object(fields: PayloadFields, key: str) -> Mapping[str, Any]:
    """Return a field that Cursor sends as an object or as the JSON text of one."""
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
