"""Claude Code: its payloads and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verdikt.hosts.hook_event import HookEventKind
from verdikt.hosts.hook_response import NO_OPINION, build_block_response, build_response
from verdikt.hosts.payload import read_hook_event
from verdikt.model.action import ActionKind, Outcome
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.posture import Posture
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.hosts.hook_event import HookEvent
    from verdikt.hosts.hook_response import HookResponse
    from verdikt.hosts.host_decision import HostDecision
    from verdikt.hosts.payload import PayloadFields
    from verdikt.model.action import Action

EVENTS: dict[str, HookEventKind] = {
    "SessionStart": HookEventKind.START,
    "UserPromptSubmit": HookEventKind.PROMPT,
    "UserPromptExpansion": HookEventKind.PROMPT,
    "PreToolUse": HookEventKind.BEFORE,
    "PermissionRequest": HookEventKind.PERMISSION,
    "PostToolUse": HookEventKind.AFTER,
    "PostToolUseFailure": HookEventKind.AFTER,
    "PostToolBatch": HookEventKind.BATCH,
    "PermissionDenied": HookEventKind.NOTICE,
    "Stop": HookEventKind.STOP,
    "SubagentStop": HookEventKind.STOP,
    "ConfigChange": HookEventKind.CONFIG,
    "PreCompact": HookEventKind.COMPACT,
    "SessionEnd": HookEventKind.END,
}

# Where `hookSpecificOutput.additionalContext` reaches the model without more happening. At Stop it would force a turn.
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
    """The moment that a Claude Code payload stands for."""
    moment = read_hook_event(
        payload,
        host="claude",
        events=EVENTS,
        parse_outcome=_parse_outcome,
        event_name=event_name,
        can_ask=_is_attended(env or {}),
    )
    if moment.can_ask or moment.posture is not None:
        return moment
    return replace(moment, posture=Posture.AUTONOMOUS)


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """What Claude Code must be told for the ruling to hold."""
    if hook_event.name == "PermissionRequest":
        return _encode_permission(host_decision)
    if host_decision.is_blocked:
        return _encode_block(hook_event, host_decision)
    if hook_event.kind is HookEventKind.BEFORE and host_decision.kind is VerdictKind.ASK:
        return build_response(
            _build_hook_output(
                hook_event, host_decision, permissionDecision="ask", permissionDecisionReason=host_decision.reason
            )
        )
    if hook_event.kind is HookEventKind.BEFORE and host_decision.approved:
        why = "the policy approves this"
        return build_response(
            _build_hook_output(hook_event, host_decision, permissionDecision="allow", permissionDecisionReason=why)
        )
    return build_response(_build_hook_output(hook_event, host_decision))


def _encode_block(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    if hook_event.kind in (HookEventKind.BEFORE, HookEventKind.CONFIG, HookEventKind.PROMPT):
        return build_block_response(host_decision.reason)
    text = "\n".join(part for part in (host_decision.reason, host_decision.context) if part)
    if hook_event.kind is HookEventKind.STOP and hook_event.turn and hook_event.turn.stop_hook_active:
        return build_response({"decision": "block", "reason": text})
    if hook_event.kind in (HookEventKind.STOP, HookEventKind.AFTER):
        # `decision: block` would show the model the hook's whole command line; a context does not. At Stop it makes the
        # agent go on once, and after that only a block does.
        return build_response({"hookSpecificOutput": {"hookEventName": hook_event.name, "additionalContext": text}})
    return NO_OPINION


def _build_hook_output(hook_event: HookEvent, host_decision: HostDecision, **output_fields: str) -> dict[str, Any]:
    if hook_event.name in _CONTEXT_EVENTS:
        if host_decision.context:
            output_fields["additionalContext"] = host_decision.context
        return {"hookSpecificOutput": {"hookEventName": hook_event.name, **output_fields}} if output_fields else {}
    return {"systemMessage": host_decision.context} if host_decision.context else {}


def _encode_permission(host_decision: HostDecision) -> HookResponse:
    if host_decision.is_blocked:
        decision = {"behavior": "deny", "message": host_decision.reason}
    elif host_decision.approved:
        decision = {"behavior": "allow"}
    else:
        return NO_OPINION  # the person is being asked already
    return build_response({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})


def _is_attended(env: Mapping[str, str]) -> bool:
    """Whether a person sits in front of the session."""
    attended = env.get("CLAUDE_CODE_SESSION_ATTENDED")
    if attended is not None:
        return attended == "1"
    # Older versions only tell by which door the session was opened.
    return env.get("CLAUDE_CODE_ENTRYPOINT", "cli") == "cli"


def _parse_outcome(fields: PayloadFields, action: Action) -> Outcome:
    duration = fields.raw.get("duration_ms")
    seconds = duration / 1000 if isinstance(duration, int) and not isinstance(duration, bool) else None
    error = fields.get_text("error")
    if fields.has_any("error") or fields.get_text("hook_event_name") == "PostToolUseFailure":
        found = _EXIT_CODE.match(error)
        return Outcome(
            success=False,
            error=error,
            exit_code=int(found[1]) if found else None,
            duration_seconds=seconds,
            raw=fields.raw,
        )
    response = fields.raw.get("tool_response")
    finished = False
    if isinstance(response, Mapping):
        # A command that failed is reported as PostToolUseFailure, so this one ended with 0 unless it is still running
        # or the client says that it read another status kindly.
        finished = action.kind is ActionKind.BASH and not any(
            response.get(key) for key in ("backgroundTaskId", "interrupted", "returnCodeInterpretation")
        )
    return Outcome(
        success=True,
        output=_extract_output(response),
        error=_get_text(response, "stderr"),
        exit_code=0 if finished else None,
        duration_seconds=seconds,
        raw=fields.raw,
    )


def _get_text(response: object, key: str) -> str:
    value = response.get(key) if isinstance(response, Mapping) else None
    return value if isinstance(value, str) else ""


def _extract_output(response: object) -> str:
    """The text that the tool gave back, wherever this tool puts it."""
    if isinstance(response, str):
        return response
    if isinstance(response, list):
        return "\n".join(_get_text(part, "text") for part in response)
    if isinstance(response, Mapping):
        file = response.get("file")
        return _get_text(response, "stdout") or _get_text(response, "result") or _get_text(file, "content")
    return ""
