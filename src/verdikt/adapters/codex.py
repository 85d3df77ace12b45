"""Codex. Its output schema is closed: a key it does not know, an `ask`, an `allow` by itself, and the tool runs."""

from collections.abc import Mapping
from typing import Any

from verdikt.adapters.claude_like import answer
from verdikt.adapters.moment import Moment, MomentKind
from verdikt.adapters.payload import Fields, read
from verdikt.adapters.reply import NEUTRAL, Reply, say
from verdikt.adapters.ruling import Ruling
from verdikt.model.action import Action, Outcome
from verdikt.model.regex import regex

EVENTS: dict[str, MomentKind] = {
    "SessionStart": MomentKind.START,
    "UserPromptSubmit": MomentKind.PROMPT,
    "PreToolUse": MomentKind.BEFORE,
    "PermissionRequest": MomentKind.PERMISSION,
    "PostToolUse": MomentKind.AFTER,
    "Stop": MomentKind.STOP,
    "SubagentStart": MomentKind.NOTICE,
    "SubagentStop": MomentKind.STOP,
    "PreCompact": MomentKind.COMPACT,
    "PostCompact": MomentKind.NOTICE,
    "Interrupt": MomentKind.NOTICE,
    "SessionEnd": MomentKind.END,
}

_CONTEXT = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"}

_NAMESPACE = regex(r"^multi_agent_v\d+_*(?=[a-z])")
"""What Codex puts before the names of some tools for sub-agents, and not of all."""

_EXIT = regex(r"Exit code: (\d{1,3})\n")


def decode(payload: object, event: str = "", env: Mapping[str, str] | None = None) -> Moment:
    """The moment that a Codex payload stands for."""
    if isinstance(payload, Mapping) and isinstance(tool := payload.get("tool_name"), str):
        payload = {**payload, "tool_name": _NAMESPACE.sub("", tool)}
    return read(payload, host="codex", events=EVENTS, outcome=_outcome, event=event)


def encode(moment: Moment, ruling: Ruling) -> Reply:
    """What Codex must be told for the ruling to hold, and nothing more."""
    if moment.event == "PermissionRequest":
        decision = {"behavior": "deny", "message": ruling.reason}
        specific = {"hookEventName": moment.event, "decision": decision}
        return say({"hookSpecificOutput": specific}) if ruling.blocked else NEUTRAL  # the person is being asked already
    return answer(moment, ruling, go_on="block", contexts=_CONTEXT)


def _outcome(fields: Fields, action: Action) -> Outcome:
    """Codex tells what a command printed and not how it ended; only its own patch tool says so in the text."""
    response: Any = fields.raw.get("tool_response")
    text = response if isinstance(response, str) else ""
    failed = False
    if isinstance(response, Mapping):
        content = response.get("content")
        parts = content if isinstance(content, list) else []
        text = "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))
        failed = response.get("isError") is True
    found = _EXIT.match(text) if action.tool == "apply_patch" else None
    code = int(found[1]) if found else None
    return Outcome(success=not failed and not code, output=text, exit_code=code, raw=fields.raw)
