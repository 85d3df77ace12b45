"""OpenCode, through `plugin.js`, which passes its events on and throws when it gets a block."""

from collections.abc import Mapping
from typing import Any

from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import HookResponse, build_block_response, build_response
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.opencode import HOST
from verdikt.hosts.payload import PayloadFields, read_hook_event
from verdikt.model.action import Action, Outcome
from verdikt.model.verdict import VerdictKind


def decode(payload: object, event_name: str = "", env: Mapping[str, str] | None = None) -> HookEvent:
    """Return the event that the plugin's payload stands for: `ev`, and OpenCode's own `input` and `output`."""
    flat = _flatten_payload(PayloadFields(payload))
    return read_hook_event(HOST, flat, parse_outcome=_parse_outcome, event_name=event_name)


def encode(hook_event: HookEvent, host_decision: HostDecision) -> HookResponse:
    """Return the response for the plugin, which throws on `decision: block` and on any status but 0."""
    if host_decision.is_blocked or (host_decision.kind is VerdictKind.ASK and hook_event.kind is HookEventKind.BEFORE):
        if hook_event.kind in (HookEventKind.STOP, HookEventKind.AFTER):
            return build_response(
                {"decision": "block", "reason": host_decision.reason, "context": host_decision.context}
            )
        return build_block_response(host_decision.reason)
    return build_response({"context": host_decision.context})


def _flatten_payload(fields: PayloadFields) -> dict[str, Any]:
    """Return the plugin's `input`, `output`, `parts` and `properties` as one object."""
    output = fields.get_object("output")
    flat = {
        **fields.get_object("properties"),
        **fields.get_object("input"),
        "ev": fields.get_text("ev") or fields.get_text("type"),
    }
    # An event of OpenCode's bus comes under this name, with its own type beside it.
    if flat["ev"] == "event":
        flat["ev"] = fields.get_text("type")
    flat["cwd"] = fields.get_text("directory")
    if "args" in output:
        flat["args"] = output["args"]
    elif fields.has_any("output"):
        flat["output"] = output
    parts = fields.raw.get("parts")
    if isinstance(parts, list):
        texts = (part.get("text") for part in parts if isinstance(part, Mapping))
        flat["prompt"] = _strip_quotes("\n".join(text for text in texts if isinstance(text, str)))
    if fields.has_any("message"):
        flat["last_assistant_message"] = fields.get_text("message")
    return flat


def _strip_quotes(text: str) -> str:
    """Return the person's prompt without the quotation marks that `opencode run` puts around it."""
    # Text in quotation marks would count as a quotation, and not as the person's own request.
    inside = text.strip()
    return inside[1:-1] if len(inside) > 1 and inside[0] == inside[-1] == '"' else text


def _parse_outcome(fields: PayloadFields, action: Action) -> Outcome:
    output = fields.get_object("output")
    metadata = output.get("metadata")
    code = metadata.get("exit") if isinstance(metadata, Mapping) else None
    exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
    text = output.get("output")
    return Outcome(
        success=not exit_code, output=text if isinstance(text, str) else "", exit_code=exit_code, raw=fields.raw
    )
