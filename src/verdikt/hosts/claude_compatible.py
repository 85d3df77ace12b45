"""The answers of clients that took over most of Claude Code's words, and not its readings of them."""

from collections.abc import Collection

from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import NO_OPINION, HookResponse, build_block_response, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.model.verdict import VerdictKind


def encode_claude_compatible(
    hook_event: HookEvent, host_decision: HostDecision, *, stop_decision: str, context_events: Collection[str]
) -> HookResponse:
    """What holds there: `go_on` is how a stop is refused, `contexts` are the events whose context reaches the model."""
    text = host_decision.context
    # An ask is none there: Codex would run the tool, Gemini CLI wait without end.
    if host_decision.is_blocked or (host_decision.kind is VerdictKind.ASK and hook_event.kind is HookEventKind.BEFORE):
        if hook_event.kind is HookEventKind.STOP:
            return build_response({"decision": stop_decision, "reason": host_decision.reason})
        if hook_event.kind is not HookEventKind.AFTER:
            return (
                build_block_response(host_decision.reason)
                if hook_event.kind in (HookEventKind.BEFORE, HookEventKind.PROMPT)
                else NO_OPINION
            )
        # A refusal here would take the tool's output away from the model.
        text = "\n".join(part for part in (host_decision.reason, host_decision.context) if part)
    if not text:
        return NO_OPINION
    if hook_event.name in context_events:
        return build_response({"hookSpecificOutput": {"hookEventName": hook_event.name, "additionalContext": text}})
    return build_response({"systemMessage": text})
