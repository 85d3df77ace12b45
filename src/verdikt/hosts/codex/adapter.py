"""Codex: its payloads and its responses.

Its output schema is closed: after a key that it does not know, an `ask` or an `allow` by itself, the tool runs.
"""

from collections.abc import Mapping
from typing import Any

from verdikt.hosts.claude_compatible import encode_claude_compatible
from verdikt.hosts.codex import HOST
from verdikt.hosts.hook_event import HookEvent
from verdikt.hosts.hook_response import NO_OPINION, HookResponse, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import PayloadFields, read_hook_event
from verdikt.model.action import Action, Outcome
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.verdict import VerdictKind

_CONTEXT_EVENTS = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"}

_SUBAGENT_PREFIX = compile_lazily(r"^multi_agent_v\d+_*(?=[a-z])")
"""What Codex puts before the names of some of its tools for sub-agents."""

_EXIT_CODE = compile_lazily(r"Exit code: (\d{1,3})\n")


def decode(payload: object, event_name: str = "", env: Mapping[str, str] | None = None) -> HookEvent:
    """Return the event that a Codex payload stands for."""
    if isinstance(payload, Mapping) and isinstance(tool := payload.get("tool_name"), str):
        payload = {**payload, "tool_name": _SUBAGENT_PREFIX.sub("", tool)}
    return read_hook_event(HOST, payload, parse_outcome=_parse_outcome, event_name=event_name)


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """Return the response that makes the decision hold in Codex, without any key that it does not know."""
    if hook_event.name == "PermissionRequest":
        if not host_decision.is_blocked:
            return NO_OPINION  # the person is being asked already
        decision = {"behavior": "deny", "message": host_decision.reason}
        return build_response({"hookSpecificOutput": {"hookEventName": hook_event.name, "decision": decision}})
    if hook_event.name == "PreToolUse" and host_decision.kind >= VerdictKind.ASK and host_decision.how_to_allow:
        return _encode_liftable_block(hook_event, host_decision)
    return encode_claude_compatible(hook_event, host_decision, stop_decision="block", context_events=_CONTEXT_EVENTS)


def _encode_liftable_block(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """Return a block with a line for the person alone, which Codex reads from a document with status 0 only.

    Red lines and failures keep status 2: nothing allows them, and that form needs no agreement about a document.
    """
    output = {
        "hookEventName": hook_event.name,
        "permissionDecision": "deny",
        "permissionDecisionReason": host_decision.reason,
    }
    return build_response({"systemMessage": host_decision.how_to_allow, "hookSpecificOutput": output})


def _parse_outcome(fields: PayloadFields, action: Action) -> Outcome:
    """Return the outcome of a call. Only Codex's own patch tool reports a status, in its text."""
    response: Any = fields.raw.get("tool_response")
    text = response if isinstance(response, str) else ""
    is_error = False
    if isinstance(response, Mapping):
        content = response.get("content")
        parts = content if isinstance(content, list) else []
        text = "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))
        is_error = response.get("isError") is True
    # In the output of any other tool the same line could have been printed by the command itself.
    match = _EXIT_CODE.match(text) if action.tool == "apply_patch" else None
    exit_code = int(match[1]) if match else None
    return Outcome(success=not is_error and not exit_code, output=text, exit_code=exit_code, raw=fields.raw)
