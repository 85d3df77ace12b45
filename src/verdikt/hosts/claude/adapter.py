"""Claude Code: its payloads and its responses."""

from collections.abc import Mapping
from typing import Any

from verdikt.hosts.claude import HOST
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import NO_OPINION, HookResponse, build_block_response, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import PayloadFields, read_hook_event
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.posture import Posture
from verdikt.model.verdict import VerdictKind

# Where `hookSpecificOutput.additionalContext` reaches the model without further effect. At Stop it would force a turn.
_CONTEXT_EVENTS = {
    "SessionStart",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
}

_EXIT_CODE = compile_lazily(r"Exit code (\d{1,3})\b")


def decode(payload: object, event_name: str = "", env: Mapping[str, str] | None = None) -> HookEvent:
    """Return the event that a Claude Code payload stands for."""
    hook_event = read_hook_event(
        HOST, payload, parse_outcome=_parse_outcome, event_name=event_name, can_ask=_is_attended(env or {})
    )
    if hook_event.can_ask or hook_event.posture is not None:
        return hook_event
    return hook_event._replace(posture=Posture.AUTONOMOUS)


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """Return the response that makes the decision hold in Claude Code."""
    if hook_event.name == "PermissionRequest":
        return _encode_permission(host_decision)
    if host_decision.is_blocked:
        return _encode_block(hook_event, host_decision)
    permission: dict[str, str] = {}
    if hook_event.kind is HookEventKind.BEFORE and host_decision.kind is VerdictKind.ASK:
        permission = {"permissionDecision": "ask", "permissionDecisionReason": host_decision.person_text}
    elif hook_event.kind is HookEventKind.BEFORE and host_decision.approved:
        permission = {"permissionDecision": "allow", "permissionDecisionReason": "the policy approves this"}
    return build_response(_build_hook_output(hook_event, host_decision, permission))


def _encode_block(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    if hook_event.kind in (HookEventKind.BEFORE, HookEventKind.CONFIG, HookEventKind.PROMPT):
        return build_block_response(host_decision.reason, systemMessage=host_decision.how_to_allow)
    text = host_decision.full_text
    if hook_event.kind is HookEventKind.STOP and hook_event.turn and hook_event.turn.stop_hook_active:
        return build_response({"decision": "block", "reason": text})
    if hook_event.kind in (HookEventKind.STOP, HookEventKind.AFTER):
        # `decision: block` would show the model the hook's whole command line; a context does not. At Stop a context
        # makes the agent go on once; after that only a block does.
        return build_response({"hookSpecificOutput": {"hookEventName": hook_event.name, "additionalContext": text}})
    return NO_OPINION


def _build_hook_output(
    hook_event: HookEvent, host_decision: HostDecision, permission: Mapping[str, str]
) -> dict[str, Any]:
    if hook_event.name not in _CONTEXT_EVENTS:
        return {"systemMessage": host_decision.context} if host_decision.context else {}
    output = dict(permission)
    if host_decision.context:
        output["additionalContext"] = host_decision.context
    if not output:
        return {}
    # `systemMessage` is shown to the person; empty members are left out.
    document = {"hookSpecificOutput": {"hookEventName": hook_event.name, **output}}
    return document | {"systemMessage": host_decision.notice}


def _encode_permission(host_decision: HostDecision) -> HookResponse:
    if host_decision.is_blocked:
        decision = {"behavior": "deny", "message": host_decision.reason}
    elif host_decision.approved:
        decision = {"behavior": "allow"}
    else:
        return NO_OPINION  # the person is being asked already
    return build_response({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})


def _is_attended(env: Mapping[str, str]) -> bool:
    """Whether a person watches the session."""
    attended = env.get("CLAUDE_CODE_SESSION_ATTENDED")
    if attended is not None:
        return attended == "1"
    # Older versions only say how the session was started.
    return env.get("CLAUDE_CODE_ENTRYPOINT", "cli") == "cli"


def _parse_outcome(fields: PayloadFields, action: Action) -> Outcome:
    duration = fields.raw.get("duration_ms")
    seconds = duration / 1000 if isinstance(duration, int) and not isinstance(duration, bool) else None
    error = fields.get_text("error")
    if fields.has_any("error") or fields.get_text("hook_event_name") == "PostToolUseFailure":
        exit_code = _EXIT_CODE.match(error)
        return Outcome(
            success=False,
            error=error,
            exit_code=int(exit_code[1]) if exit_code else None,
            duration_seconds=seconds,
            raw=fields.raw,
        )
    response = fields.raw.get("tool_response")
    has_ended = False
    if isinstance(response, Mapping):
        # A command that failed is reported as PostToolUseFailure, so this one ended with 0, unless it still runs or
        # the client says that it interpreted another status as success.
        has_ended = action.kind is ActionKind.BASH and not any(
            response.get(key) for key in ("backgroundTaskId", "interrupted", "returnCodeInterpretation")
        )
    return Outcome(
        success=True,
        output=_extract_output(response),
        error=_get_text(response, "stderr"),
        exit_code=0 if has_ended else None,
        duration_seconds=seconds,
        raw=fields.raw,
    )


def _get_text(response: object, key: str) -> str:
    value = response.get(key) if isinstance(response, Mapping) else None
    return value if isinstance(value, str) else ""


def _extract_output(response: object) -> str:
    """Return the text that the tool returned, wherever this tool puts it."""
    if isinstance(response, str):
        return response
    if isinstance(response, list):
        return "\n".join(_get_text(part, "text") for part in response)
    if isinstance(response, Mapping):
        file = response.get("file")
        return _get_text(response, "stdout") or _get_text(response, "result") or _get_text(file, "content")
    return ""
