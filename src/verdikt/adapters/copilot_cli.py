"""Copilot CLI. Its payloads do not name the event, so the wiring does."""

from collections.abc import Mapping
from typing import Any

from verdikt.adapters.moment import Moment, MomentKind
from verdikt.adapters.payload import Fields, Keys, read
from verdikt.adapters.reply import NEUTRAL, Reply, say
from verdikt.adapters.ruling import Ruling
from verdikt.model.action import Action, Outcome
from verdikt.model.regex import regex
from verdikt.model.verdict import VerdictKind

EVENTS: dict[str, MomentKind] = {
    "sessionStart": MomentKind.START,
    "userPromptSubmitted": MomentKind.PROMPT,
    "preToolUse": MomentKind.BEFORE,
    "permissionRequest": MomentKind.PERMISSION,
    "postToolUse": MomentKind.AFTER,
    "agentStop": MomentKind.STOP,
    "subagentStop": MomentKind.STOP,
    "errorOccurred": MomentKind.NOTICE,
    "sessionEnd": MomentKind.END,
}

_KEYS = Keys(
    event="hookName",
    session="sessionId",
    tool="toolName",
    input="toolArgs",
    call="toolCallId",
    result="toolResult",
    transcript="transcriptPath",
)

_EXIT = regex(r"<shellId: \S+ completed with exit code (\d{1,3})>\s*\Z")


def decode(payload: object, event: str = "", env: Mapping[str, str] | None = None) -> Moment:
    """The moment that a Copilot CLI payload stands for."""
    if isinstance(payload, Mapping):
        payload = _flat(payload)
    return read(payload, host="copilot", events=EVENTS, outcome=_outcome, event=event, keys=_KEYS, asks=True)


def _flat(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload with a sub-agent named as other hosts name it: its own id goes by the name of a session there."""
    flat = dict(payload)
    if "toolArgs" not in flat and "toolInput" in flat:
        flat["toolArgs"] = flat["toolInput"]
    if flat.get("agentId"):
        flat |= {"agent_id": flat["agentId"], "agent_type": flat.get("agentType")}
        flat["sessionId"] = flat.get("parentAgentId") or flat.get("sessionId")
        # What a sub-agent said last is not told when it stops, and stands in its parent's transcript among other words.
        flat["last_assistant_message"] = flat.get("response", "")
    return flat


def encode(moment: Moment, ruling: Ruling) -> Reply:
    """What Copilot CLI must be told for the ruling to hold. A status other than 0 would block and lose the reason."""
    if moment.event == "permissionRequest":
        return say({"behavior": "deny", "message": ruling.reason}) if ruling.blocked else NEUTRAL
    if moment.kind is MomentKind.BEFORE and ruling.kind >= VerdictKind.ASK:
        word = "deny" if ruling.blocked else "ask"
        return say({"permissionDecision": word, "permissionDecisionReason": ruling.reason})
    if moment.kind is MomentKind.BEFORE and ruling.approved:
        why = "the policy approves this"
        return say(
            {"permissionDecision": "allow", "permissionDecisionReason": why, "additionalContext": ruling.context}
        )
    if moment.kind is MomentKind.STOP and ruling.blocked:
        return say({"decision": "block", "reason": ruling.reason})
    text = "\n".join(part for part in (ruling.reason, ruling.context) if part)
    return say({"additionalContext": text}) if text else NEUTRAL


def _outcome(fields: Fields, action: Action) -> Outcome:
    result = fields.table("toolResult")
    content = result.get("textResultForLlm")
    text = content if isinstance(content, str) else ""
    found = _EXIT.search(text)
    code = int(found[1]) if found else None
    success = result.get("resultType") == "success" and not code
    return Outcome(success=success, output=text, exit_code=code, raw=fields.raw)
