"""Gemini CLI: its payloads and its responses.

It believes stdout and not the exit status, and a headless run waits for the answer to an `ask` without end.
"""

from collections.abc import Mapping

from verdikt.hosts.claude_compatible import encode_claude_compatible
from verdikt.hosts.gemini import HOST
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import HookResponse, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import PayloadFields, read_hook_event
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.lazy_regex import compile_lazily

_CONTEXT_EVENTS = {"SessionStart", "BeforeAgent", "AfterTool"}

# Anchored at the end: what the command itself prints stands before it and cannot pass for a status.
_OUTPUT_TRAILER = compile_lazily(
    r"(?:\n(?:Exit Code: (?P<code>\d{1,3})|Signal: (?P<signal>\d{1,3})))?"
    r"(?:\nBackground PIDs: [\d, ]+)?\nProcess Group PGID: \d+\n</untrusted_context>\s*\Z"
)
"""How the client ends its report of a command."""


def decode(payload: object, event_name: str = "", env: Mapping[str, str] | None = None) -> HookEvent:
    """Return the event that a Gemini CLI payload stands for."""
    return read_hook_event(HOST, _name_like_others(payload), parse_outcome=_parse_outcome, event_name=event_name)


def _name_like_others(payload: object) -> object:
    """Return a payload in which a tool of an MCP server has the name that it has for other hosts and for the relay.

    Gemini CLI's own, `mcp_SERVER_TOOL`, does not tell where the server's name ends.
    """
    context = payload.get("mcp_context") if isinstance(payload, Mapping) else None
    if not isinstance(payload, Mapping) or not isinstance(context, Mapping):
        return payload
    server, tool = context.get("server_name"), context.get("tool_name")
    if not (isinstance(server, str) and server and "__" not in server and isinstance(tool, str) and tool):
        return payload
    return {**payload, "tool_name": f"mcp__{server}__{tool}"}


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """Return the response that makes the decision hold in Gemini CLI."""
    response = encode_claude_compatible(hook_event, host_decision, stop_decision="deny", context_events=_CONTEXT_EVENTS)
    # Its own form of a block: after any status but 0 it tells the person that the hook failed. An unknown event, and a
    # call that could not be read, keep the status that every client understands: there the hook did fail.
    is_read = hook_event.action is not None or hook_event.kind is HookEventKind.PROMPT
    if response.exit_code and is_read and hook_event.name in HOST.events:
        # Of a refused call its terminal shows the person this message alone; of a refused prompt it shows the reason.
        notice = host_decision.how_to_allow if hook_event.action is None else host_decision.person_text
        return build_response({"decision": "deny", "reason": host_decision.reason, "systemMessage": notice})
    return response


def _parse_outcome(fields: PayloadFields, action: Action) -> Outcome:
    response = fields.get_object("tool_response")
    content = response.get("llmContent")
    text = content if isinstance(content, str) else ""
    error = response.get("error")
    message = error.get("message") if isinstance(error, Mapping) else None
    exit_code = _parse_exit_status(text) if action.kind is ActionKind.BASH and not error else None
    return Outcome(
        success=not error and not exit_code,
        output=text,
        error=message if isinstance(message, str) else "",
        exit_code=exit_code,
        raw=fields.raw,
    )


def _parse_exit_status(text: str) -> int | None:
    """Return the exit status, which the client writes only if it is not 0; None when the text has no trailer."""
    trailer = _OUTPUT_TRAILER.search(text)
    if trailer is None:
        return None
    if trailer["signal"]:
        return 128 + int(trailer["signal"])
    return int(trailer["code"] or 0)
