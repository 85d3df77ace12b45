"""Cursor. With `failClosed` silence counts as a failure there, so a pass is always said."""

from collections.abc import Mapping
from typing import Any

from verdikt.adapters.moment import Moment, MomentKind
from verdikt.adapters.payload import Fields, Keys, read
from verdikt.adapters.reply import NEUTRAL, Reply, say
from verdikt.adapters.ruling import Ruling
from verdikt.errors import HookError
from verdikt.model.action import Action, Outcome
from verdikt.model.verdict import VerdictKind

EVENTS: dict[str, MomentKind] = {
    "sessionStart": MomentKind.START,
    "beforeSubmitPrompt": MomentKind.PROMPT,
    "preToolUse": MomentKind.BEFORE,
    "beforeShellExecution": MomentKind.BEFORE,
    "beforeMCPExecution": MomentKind.BEFORE,
    "beforeReadFile": MomentKind.BEFORE,
    "postToolUse": MomentKind.AFTER,
    "postToolUseFailure": MomentKind.AFTER,
    "afterShellExecution": MomentKind.NOTICE,
    "afterMCPExecution": MomentKind.NOTICE,
    "afterFileEdit": MomentKind.NOTICE,
    "stop": MomentKind.STOP,
    "subagentStop": MomentKind.STOP,
    "sessionEnd": MomentKind.END,
}

_ASKS = {"beforeShellExecution", "beforeMCPExecution"}
"""Where Cursor shows an `ask` to the person."""

_TOOLS = {"beforeShellExecution": ("Shell", "command"), "beforeReadFile": ("Read", "file_path")}
"""The events that are about one tool and do not name it, and what they must tell."""

_KEYS = Keys(session="conversation_id", result="tool_output", call="tool_use_id")


def decode(payload: object, event: str = "", env: Mapping[str, str] | None = None) -> Moment:
    """The moment that a Cursor payload stands for."""
    fields = Fields(payload)
    name = event or fields.text("hook_event_name")
    flat: dict[str, Any] = dict(fields.raw)
    if name in _TOOLS:
        tool, wanted = _TOOLS[name]
        kept = ("command", "file_path", "cwd", "content", "sandbox")
        flat |= {
            "tool_name": _told(fields, wanted) and tool,
            "tool_input": {key: flat[key] for key in kept if key in flat},
        }
    elif name == "beforeMCPExecution":
        flat |= {"tool_name": f"MCP:{_told(fields, 'tool_name')}", "tool_input": _object(fields, "tool_input")}
    if not fields.text("cwd"):
        roots = fields.raw.get("workspace_roots")
        flat["cwd"] = roots[0] if isinstance(roots, list) and roots else ""
    return read(flat, host="cursor", events=EVENTS, outcome=_outcome, event=event, keys=_KEYS, asks=name in _ASKS)


def encode(moment: Moment, ruling: Ruling) -> Reply:
    """What Cursor must be told for the ruling to hold: flat documents with status 0."""
    if moment.kind is MomentKind.BEFORE:
        if ruling.kind < VerdictKind.ASK:
            return say({"permission": "allow", "agent_message": ruling.context})
        word = "deny" if ruling.blocked else "ask"
        return say({"permission": word, "user_message": ruling.reason, "agent_message": ruling.reason})
    if moment.kind is MomentKind.PROMPT:
        return say({"continue": not ruling.blocked, "user_message": ruling.reason if ruling.blocked else ""})
    if moment.kind is MomentKind.STOP:
        return say({"followup_message": ruling.reason}) if ruling.blocked else NEUTRAL
    text = "\n".join(part for part in (ruling.reason, ruling.context) if part)
    return say({"additional_context": text}) if text else NEUTRAL


def _told(fields: Fields, key: str) -> str:
    text = fields.text(key)
    if not text:
        raise HookError(f"expected `{key}` to be told, found nothing")
    return text


def _object(fields: Fields, key: str) -> Mapping[str, Any]:
    """A field that Cursor sends as an object or as the JSON text of one."""
    if isinstance(fields.raw.get(key), str):
        from verdikt.adapters.payload import parse

        return Fields(parse(fields.text(key).encode("utf-8", "surrogatepass"))).raw
    return fields.table(key)


def _outcome(fields: Fields, action: Action) -> Outcome:
    error = fields.raw.get("error_message")
    output = fields.raw.get("tool_output")
    return Outcome(
        success=not error,
        output=output if isinstance(output, str) else "",
        error=error if isinstance(error, str) else "",
        raw=fields.raw,
    )
