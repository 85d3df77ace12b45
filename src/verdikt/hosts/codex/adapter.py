"""Codex. Its output schema is closed: a key it does not know, an `ask`, an `allow` by itself, and the tool runs."""

from collections.abc import Mapping
from typing import Any

from verdikt.hosts.claude_compatible import encode_claude_compatible
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import NO_OPINION, HookResponse, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import PayloadFields, read_hook_event
from verdikt.model.action import Action, Outcome
from verdikt.model.lazy_regex import compile_lazily

EVENTS: dict[str, HookEventKind] = {
    "SessionStart": HookEventKind.START,
    "UserPromptSubmit": HookEventKind.PROMPT,
    "PreToolUse": HookEventKind.BEFORE,
    "PermissionRequest": HookEventKind.PERMISSION,
    "PostToolUse": HookEventKind.AFTER,
    "Stop": HookEventKind.STOP,
    "SubagentStart": HookEventKind.NOTICE,
    "SubagentStop": HookEventKind.STOP,
    "PreCompact": HookEventKind.COMPACT,
    "PostCompact": HookEventKind.NOTICE,
    "Interrupt": HookEventKind.NOTICE,
    "SessionEnd": HookEventKind.END,
}

_CONTEXT_EVENTS = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"}

_SUBAGENT_PREFIX = compile_lazily(r"^multi_agent_v\d+_*(?=[a-z])")
"""What Codex puts before the names of some tools for sub-agents, and not of all."""

_EXIT_CODE = compile_lazily(r"Exit code: (\d{1,3})\n")


def decode(payload: object, event_name: str = "", env: Mapping[str, str] | None = None) -> HookEvent:
    """The moment that a Codex payload stands for."""
    if isinstance(payload, Mapping) and isinstance(tool := payload.get("tool_name"), str):
        payload = {**payload, "tool_name": _SUBAGENT_PREFIX.sub("", tool)}
    return read_hook_event(payload, host="codex", events=EVENTS, parse_outcome=_parse_outcome, event_name=event_name)


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """What Codex must be told for the ruling to hold, and nothing more."""
    if hook_event.name == "PermissionRequest":
        decision = {"behavior": "deny", "message": host_decision.reason}
        specific = {"hookEventName": hook_event.name, "decision": decision}
        return (
            build_response({"hookSpecificOutput": specific}) if host_decision.is_blocked else NO_OPINION
        )  # the person is being asked already
    return encode_claude_compatible(hook_event, host_decision, stop_decision="block", context_events=_CONTEXT_EVENTS)


def _parse_outcome(fields: PayloadFields, action: Action) -> Outcome:
    """Codex tells what a command printed and not how it ended; only its own patch tool says so in the text."""
    response: Any = fields.raw.get("tool_response")
    text = response if isinstance(response, str) else ""
    failed = False
    if isinstance(response, Mapping):
        content = response.get("content")
        parts = content if isinstance(content, list) else []
        text = "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))
        failed = response.get("isError") is True
    found = _EXIT_CODE.match(text) if action.tool == "apply_patch" else None
    code = int(found[1]) if found else None
    return Outcome(success=not failed and not code, output=text, exit_code=code, raw=fields.raw)
