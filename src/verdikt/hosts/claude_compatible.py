"""The responses of clients that adopted most of Claude Code's protocol but interpret parts of it differently."""

from collections.abc import Collection

from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import NO_OPINION, HookResponse, build_block_response, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.model.verdict import VerdictKind


def encode_claude_compatible(
    hook_event: HookEvent, host_decision: HostDecision, *, stop_decision: str, context_events: Collection[str]
) -> HookResponse:
    """Return the response to an event.

    `stop_decision` is the word that refuses a stop; `context_events` are the events whose context reaches the model.
    """
    text = host_decision.context
    # An ask is turned into a block here: Codex would run the tool, Gemini CLI would wait without end.
    if host_decision.is_blocked or (host_decision.kind is VerdictKind.ASK and hook_event.kind is HookEventKind.BEFORE):
        if hook_event.kind is HookEventKind.STOP:
            return build_response({"decision": stop_decision, "reason": host_decision.reason})
        if hook_event.kind in (HookEventKind.BEFORE, HookEventKind.PROMPT):
            return build_block_response(host_decision.reason)
        if hook_event.kind is not HookEventKind.AFTER:
            return NO_OPINION
        # After a call both clients replace the tool's output by the reason of a block, so it goes out as context.
        text = host_decision.full_text
    if not text:
        return NO_OPINION
    if hook_event.name in context_events:
        return build_response({"hookSpecificOutput": {"hookEventName": hook_event.name, "additionalContext": text}})
    return build_response({"systemMessage": text})
