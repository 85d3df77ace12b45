"""Copilot CLI. Its payloads do not name the event, so the wiring does."""

from collections.abc import Mapping
from typing import Any

from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import NO_OPINION, HookResponse, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import FieldNames, PayloadFields, read_hook_event
from verdikt.model.action import Action, Outcome
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.verdict import VerdictKind

EVENTS: dict[str, HookEventKind] = {
    "sessionStart": HookEventKind.START,
    "userPromptSubmitted": HookEventKind.PROMPT,
    "preToolUse": HookEventKind.BEFORE,
    "permissionRequest": HookEventKind.PERMISSION,
    "postToolUse": HookEventKind.AFTER,
    "agentStop": HookEventKind.STOP,
    "subagentStop": HookEventKind.STOP,
    "errorOccurred": HookEventKind.NOTICE,
    "sessionEnd": HookEventKind.END,
}

_FIELD_NAMES = FieldNames(
    event="hookName",
    session="sessionId",
    tool="toolName",
    input="toolArgs",
    call="toolCallId",
    result="toolResult",
    transcript="transcriptPath",
)

_EXIT_CODE = compile_lazily(r"<shellId: \S+ completed with exit code (\d{1,3})>\s*\Z")


def decode(payload: object, event_name: str = "", env: Mapping[str, str] | None = None) -> HookEvent:
    """The moment that a Copilot CLI payload stands for."""
    if isinstance(payload, Mapping):
        payload = _normalize_payload(payload)
    return read_hook_event(
        payload,
        host="copilot",
        events=EVENTS,
        parse_outcome=_parse_outcome,
        event_name=event_name,
        field_names=_FIELD_NAMES,
        can_ask=True,
    )


def _normalize_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload with a sub-agent named as other hosts name it: its own id goes by the name of a session there."""
    flat = dict(payload)
    if "toolArgs" not in flat and "toolInput" in flat:
        flat["toolArgs"] = flat["toolInput"]
    if flat.get("agentId"):
        flat |= {"agent_id": flat["agentId"], "agent_type": flat.get("agentType")}
        flat["sessionId"] = flat.get("parentAgentId") or flat.get("sessionId")
        # What a sub-agent said last is not told when it stops, and stands in its parent's transcript among other words.
        flat["last_assistant_message"] = flat.get("response", "")
    return flat


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """What Copilot CLI must be told for the ruling to hold. A status other than 0 would block and lose the reason."""
    if hook_event.name == "permissionRequest":
        return (
            build_response({"behavior": "deny", "message": host_decision.reason})
            if host_decision.is_blocked
            else NO_OPINION
        )
    if hook_event.kind is HookEventKind.BEFORE and host_decision.kind >= VerdictKind.ASK:
        word = "deny" if host_decision.is_blocked else "ask"
        return build_response({"permissionDecision": word, "permissionDecisionReason": host_decision.reason})
    if hook_event.kind is HookEventKind.BEFORE and host_decision.approved:
        why = "the policy approves this"
        return build_response(
            {"permissionDecision": "allow", "permissionDecisionReason": why, "additionalContext": host_decision.context}
        )
    if hook_event.kind is HookEventKind.STOP and host_decision.is_blocked:
        return build_response({"decision": "block", "reason": host_decision.reason})
    text = "\n".join(part for part in (host_decision.reason, host_decision.context) if part)
    return build_response({"additionalContext": text}) if text else NO_OPINION


def _parse_outcome(fields: PayloadFields, action: Action) -> Outcome:
    result = fields.get_object("toolResult")
    content = result.get("textResultForLlm")
    text = content if isinstance(content, str) else ""
    found = _EXIT_CODE.search(text)
    code = int(found[1]) if found else None
    success = result.get("resultType") == "success" and not code
    return Outcome(success=success, output=text, exit_code=code, raw=fields.raw)
