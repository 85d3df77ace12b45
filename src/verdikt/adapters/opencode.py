"""OpenCode, through the plugin `opencode_plugin.js`, which hands its events on and throws when told to."""

from collections.abc import Mapping
from typing import Any

from verdikt.adapters.moment import Moment, MomentKind
from verdikt.adapters.payload import Fields, Keys, read
from verdikt.adapters.reply import Reply, refuse, say
from verdikt.adapters.ruling import Ruling
from verdikt.model.action import Action, Outcome
from verdikt.model.verdict import VerdictKind

EVENTS: dict[str, MomentKind] = {
    "session.created": MomentKind.START,
    "chat.message": MomentKind.PROMPT,
    "tool.execute.before": MomentKind.BEFORE,
    "tool.execute.after": MomentKind.AFTER,
    "session.idle": MomentKind.STOP,
}

_KEYS = Keys(event="ev", session="sessionID", tool="tool", input="args", call="callID", result="output")


def decode(payload: object, event: str = "", env: Mapping[str, str] | None = None) -> Moment:
    """The moment that the plugin's payload stands for: `ev`, and OpenCode's own `input` and `output`."""
    return read(_flat(Fields(payload)), host="opencode", events=EVENTS, outcome=_outcome, event=event, keys=_KEYS)


def encode(moment: Moment, ruling: Ruling) -> Reply:
    """The plugin throws on `decision: block` and on any status but 0; it hands `context` to the model where it can."""
    if ruling.blocked or (ruling.kind is VerdictKind.ASK and moment.kind is MomentKind.BEFORE):
        if moment.kind in (MomentKind.STOP, MomentKind.AFTER):
            return say({"decision": "block", "reason": ruling.reason, "context": ruling.context})
        return refuse(ruling.reason)
    return say({"context": ruling.context})


def _flat(fields: Fields) -> dict[str, Any]:
    """One object out of the plugin's `input`, `output`, `parts` and `properties`."""
    output = fields.table("output")
    flat = {**fields.table("properties"), **fields.table("input"), "ev": fields.text("ev") or fields.text("type")}
    if flat["ev"] == "event":
        flat["ev"] = fields.text("type")
    flat["cwd"] = fields.text("directory")
    if "args" in output:
        flat["args"] = output["args"]
    elif fields.has("output"):
        flat["output"] = output
    parts = fields.raw.get("parts")
    if isinstance(parts, list):
        texts = (part.get("text") for part in parts if isinstance(part, Mapping))
        flat["prompt"] = _unquoted("\n".join(text for text in texts if isinstance(text, str)))
    if fields.has("message"):
        flat["last_assistant_message"] = fields.text("message")
    return flat


def _unquoted(text: str) -> str:
    """What the person said: `opencode run` puts quotes around it, and what stands in quotes counts as somebody else's words."""
    inside = text.strip()
    return inside[1:-1] if len(inside) > 1 and inside[0] == inside[-1] == '"' else text


def _outcome(fields: Fields, action: Action) -> Outcome:
    output = fields.table("output")
    metadata = output.get("metadata")
    code = metadata.get("exit") if isinstance(metadata, Mapping) else None
    exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
    text = output.get("output")
    return Outcome(
        success=not exit_code, output=text if isinstance(text, str) else "", exit_code=exit_code, raw=fields.raw
    )
