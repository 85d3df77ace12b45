"""Echo: its payloads and its responses."""

from collections.abc import Mapping

from verdikt.hosts.echo import HOST

from verdikt.hosts.hook_event import HookEvent
from verdikt.hosts.hook_response import HookResponse, build_block_response, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.payload import PayloadFields, read_hook_event
from verdikt.model.action import Action, Outcome


def decode(payload: object, event_name: str = "", env: Mapping[str, str] | None = None) -> HookEvent:
    """Return the event that an Echo payload stands for."""
    return read_hook_event(HOST, payload, parse_outcome=_parse_outcome, event_name=event_name)


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """Return the response that makes the decision hold in Echo."""
    if host_decision.is_blocked:
        return build_block_response(host_decision.reason)
    return build_response({"note": host_decision.context})


def _parse_outcome(fields: PayloadFields, action: Action) -> Outcome:
    return Outcome(success=True, output=fields.get_text("tool_response"), raw=fields.raw)
