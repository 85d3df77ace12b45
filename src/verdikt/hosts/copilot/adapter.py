"""Copilot CLI: its payloads, which do not name the event, and its responses."""

from collections.abc import Mapping
from typing import Any

from verdikt.hosts.copilot import HOST
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import NO_OPINION, HookResponse, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import PayloadFields, read_hook_event
from verdikt.model.action import Action, Outcome
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.verdict import VerdictKind

_EXIT_CODE = compile_lazily(r"<shellId: \S+ completed with exit code (\d{1,3})>\s*\Z")


def decode(payload: object, event_name: str = "", env: Mapping[str, str] | None = None) -> HookEvent:
    """Return the event that a Copilot CLI payload stands for."""
    if isinstance(payload, Mapping):
        payload = _normalize_payload(payload)
    return read_hook_event(HOST, payload, parse_outcome=_parse_outcome, event_name=event_name, can_ask=True)


def _normalize_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload with the fields of a sub-agent named as other hosts name them."""
    flat = dict(payload)
    if "toolArgs" not in flat and "toolInput" in flat:
        flat["toolArgs"] = flat["toolInput"]
    if flat.get("agentId"):
        flat |= {"agent_id": flat["agentId"], "agent_type": flat.get("agentType")}
        # `sessionId` is the sub-agent's own id here; the session is named by the parent.
        flat["sessionId"] = flat.get("parentAgentId") or flat.get("sessionId")
        # The last message of a sub-agent is not in the payload, and in the transcript it stands among its parent's.
        flat["last_assistant_message"] = flat.get("response", "")
    return flat


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """Return the response that makes the decision hold in Copilot CLI. Any status but 0 would lose the reason."""
    if hook_event.name == "permissionRequest":
        if not host_decision.is_blocked:
            return NO_OPINION
        return build_response({"behavior": "deny", "message": host_decision.reason})
    if hook_event.kind is HookEventKind.BEFORE and host_decision.kind >= VerdictKind.ASK:
        word = "deny" if host_decision.is_blocked else "ask"
        return build_response({"permissionDecision": word, "permissionDecisionReason": host_decision.reason})
    if hook_event.kind is HookEventKind.BEFORE and host_decision.approved:
        return build_response(
            {
                "permissionDecision": "allow",
                "permissionDecisionReason": "the policy approves this",
                "additionalContext": host_decision.context,
            }
        )
    if hook_event.kind is HookEventKind.STOP and host_decision.is_blocked:
        return build_response({"decision": "block", "reason": host_decision.reason})
    text = host_decision.full_text
    return build_response({"additionalContext": text}) if text else NO_OPINION


def _parse_outcome(fields: PayloadFields, action: Action) -> Outcome:
    result = fields.get_object("toolResult")
    content = result.get("textResultForLlm")
    text = content if isinstance(content, str) else ""
    match = _EXIT_CODE.search(text)
    exit_code = int(match[1]) if match else None
    success = result.get("resultType") == "success" and not exit_code
    return Outcome(success=success, output=text, exit_code=exit_code, raw=fields.raw)
