"""Gemini CLI. Its stdout beats its exit status, and an `ask` hangs it for ever when nobody is there."""

from collections.abc import Mapping

from verdikt.hosts.claude_compatible import encode_claude_compatible
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import HookResponse
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import FieldNames, PayloadFields, read_hook_event
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.lazy_regex import compile_lazily

EVENTS: dict[str, HookEventKind] = {
    "SessionStart": HookEventKind.START,
    "BeforeAgent": HookEventKind.PROMPT,
    "BeforeTool": HookEventKind.BEFORE,
    "AfterTool": HookEventKind.AFTER,
    "AfterAgent": HookEventKind.STOP,
    "BeforeModel": HookEventKind.NOTICE,
    "AfterModel": HookEventKind.NOTICE,
    "BeforeToolSelection": HookEventKind.NOTICE,
    "PreCompress": HookEventKind.NOTICE,
    "Notification": HookEventKind.NOTICE,
    "SessionEnd": HookEventKind.END,
}

_CONTEXT_EVENTS = {"SessionStart", "BeforeAgent", "AfterTool"}

_OUTPUT_TRAILER = compile_lazily(
    r"(?:\n(?:Exit Code: (?P<code>\d{1,3})|Signal: (?P<signal>\d{1,3})))?"
    r"(?:\nBackground PIDs: [\d, ]+)?\nProcess Group PGID: \d+\n</untrusted_context>\s*\Z"
)
"""How the client ends what it tells of a command. What a command prints stands before it and cannot take its place."""


def decode(payload: object, event_name: str = "", env: Mapping[str, str] | None = None) -> HookEvent:
    """The moment that a Gemini CLI payload stands for."""
    keys = FieldNames(message="prompt_response")
    return read_hook_event(
        payload, host="gemini", events=EVENTS, parse_outcome=_parse_outcome, event_name=event_name, field_names=keys
    )


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """What Gemini CLI must be told for the ruling to hold."""
    return encode_claude_compatible(hook_event, host_decision, stop_decision="deny", context_events=_CONTEXT_EVENTS)


def _parse_outcome(fields: PayloadFields, action: Action) -> Outcome:
    response = fields.get_object("tool_response")
    content = response.get("llmContent")
    text = content if isinstance(content, str) else ""
    error = response.get("error")
    message = error.get("message") if isinstance(error, Mapping) else None
    code = _parse_exit_status(text) if action.kind is ActionKind.BASH and not error else None
    return Outcome(
        success=not error and not code,
        output=text,
        error=message if isinstance(message, str) else "",
        exit_code=code,
        raw=fields.raw,
    )


def _parse_exit_status(text: str) -> int | None:
    """The exit status, which the client writes only when it is not 0; None when the text does not end as it should."""
    found = _OUTPUT_TRAILER.search(text)
    if found is None:
        return None
    if found["signal"]:
        return 128 + int(found["signal"])
    return int(found["code"] or 0)
