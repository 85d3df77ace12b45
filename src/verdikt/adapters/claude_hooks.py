"""Claude Code. Also `python -m verdikt.adapters.claude_hooks read|write|bash`, the wiring of a settings file by hand."""

from __future__ import annotations

from collections.abc import Mapping

from verdikt.adapters.moment import MomentKind
from verdikt.adapters.payload import read
from verdikt.adapters.reply import NEUTRAL, refuse, say
from verdikt.model.action import ActionKind, Outcome
from verdikt.model.posture import Posture
from verdikt.model.regex import regex
from verdikt.model.value import replace
from verdikt.model.verdict import VerdictKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from verdikt.adapters.moment import Moment
    from verdikt.adapters.payload import Fields
    from verdikt.adapters.reply import Reply
    from verdikt.adapters.ruling import Ruling
    from verdikt.model.action import Action

EVENTS: dict[str, MomentKind] = {
    "SessionStart": MomentKind.START,
    "UserPromptSubmit": MomentKind.PROMPT,
    "UserPromptExpansion": MomentKind.PROMPT,
    "PreToolUse": MomentKind.BEFORE,
    "PermissionRequest": MomentKind.PERMISSION,
    "PostToolUse": MomentKind.AFTER,
    "PostToolUseFailure": MomentKind.AFTER,
    "PostToolBatch": MomentKind.BATCH,
    "PermissionDenied": MomentKind.NOTICE,
    "Stop": MomentKind.STOP,
    "SubagentStop": MomentKind.STOP,
    "ConfigChange": MomentKind.CONFIG,
    "PreCompact": MomentKind.COMPACT,
    "SessionEnd": MomentKind.END,
}

# Where `hookSpecificOutput.additionalContext` reaches the model without more happening. At Stop it would force a turn.
_CONTEXT = {
    "SessionStart",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
}

_EXIT = regex(r"Exit code (\d{1,3})\b")


def decode(payload: object, event: str = "", env: Mapping[str, str] | None = None) -> Moment:
    """The moment that a Claude Code payload stands for."""
    moment = read(payload, host="claude", events=EVENTS, outcome=_outcome, event=event, asks=_attended(env or {}))
    if moment.asks or moment.posture is not None:
        return moment
    return replace(moment, posture=Posture.AUTONOMOUS)


def encode(moment: Moment, ruling: Ruling) -> Reply:
    """What Claude Code must be told for the ruling to hold."""
    if moment.event == "PermissionRequest":
        return _permission(ruling)
    if ruling.blocked:
        return _refused(moment, ruling)
    if moment.kind is MomentKind.BEFORE and ruling.kind is VerdictKind.ASK:
        return say(_specific(moment, ruling, permissionDecision="ask", permissionDecisionReason=ruling.reason))
    if moment.kind is MomentKind.BEFORE and ruling.approved:
        why = "the policy approves this"
        return say(_specific(moment, ruling, permissionDecision="allow", permissionDecisionReason=why))
    return say(_specific(moment, ruling))


def _refused(moment: Moment, ruling: Ruling) -> Reply:
    if moment.kind in (MomentKind.BEFORE, MomentKind.CONFIG, MomentKind.PROMPT):
        return refuse(ruling.reason)
    text = "\n".join(part for part in (ruling.reason, ruling.context) if part)
    if moment.kind is MomentKind.STOP and moment.turn and moment.turn.stop_hook_active:
        return say({"decision": "block", "reason": text})
    if moment.kind in (MomentKind.STOP, MomentKind.AFTER):
        # `decision: block` would show the model the hook's whole command line; a context does not. At Stop it makes the
        # agent go on once, and after that only a block does.
        return say({"hookSpecificOutput": {"hookEventName": moment.event, "additionalContext": text}})
    return NEUTRAL


def _specific(moment: Moment, ruling: Ruling, **words: str) -> dict[str, Any]:
    if moment.event in _CONTEXT:
        if ruling.context:
            words["additionalContext"] = ruling.context
        return {"hookSpecificOutput": {"hookEventName": moment.event, **words}} if words else {}
    return {"systemMessage": ruling.context} if ruling.context else {}


def _permission(ruling: Ruling) -> Reply:
    if ruling.blocked:
        decision = {"behavior": "deny", "message": ruling.reason}
    elif ruling.approved:
        decision = {"behavior": "allow"}
    else:
        return NEUTRAL  # the person is being asked already
    return say({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})


def _attended(env: Mapping[str, str]) -> bool:
    """Whether a person sits in front of the session."""
    attended = env.get("CLAUDE_CODE_SESSION_ATTENDED")
    if attended is not None:
        return attended == "1"
    # Older versions only tell by which door the session was opened.
    return env.get("CLAUDE_CODE_ENTRYPOINT", "cli") == "cli"


def _outcome(fields: Fields, action: Action) -> Outcome:
    duration = fields.raw.get("duration_ms")
    seconds = duration / 1000 if isinstance(duration, int) and not isinstance(duration, bool) else None
    error = fields.text("error")
    if fields.has("error") or fields.text("hook_event_name") == "PostToolUseFailure":
        found = _EXIT.match(error)
        return Outcome(
            success=False,
            error=error,
            exit_code=int(found[1]) if found else None,
            duration_seconds=seconds,
            raw=fields.raw,
        )
    response = fields.raw.get("tool_response")
    finished = False
    if isinstance(response, Mapping):
        # A command that failed is reported as PostToolUseFailure, so this one ended with 0 unless it is still running
        # or the client says that it read another status kindly.
        finished = action.kind is ActionKind.BASH and not any(
            response.get(key) for key in ("backgroundTaskId", "interrupted", "returnCodeInterpretation")
        )
    return Outcome(
        success=True,
        output=_output(response),
        error=_text(response, "stderr"),
        exit_code=0 if finished else None,
        duration_seconds=seconds,
        raw=fields.raw,
    )


def _text(response: object, key: str) -> str:
    value = response.get(key) if isinstance(response, Mapping) else None
    return value if isinstance(value, str) else ""


def _output(response: object) -> str:
    """The text that the tool gave back, wherever this tool puts it."""
    if isinstance(response, str):
        return response
    if isinstance(response, list):
        return "\n".join(_text(part, "text") for part in response)
    if isinstance(response, Mapping):
        file = response.get("file")
        return _text(response, "stdout") or _text(response, "result") or _text(file, "content")
    return ""


if __name__ == "__main__":
    import sys

    from verdikt.adapters.entry import main

    main(["claude", *sys.argv[1:]])
