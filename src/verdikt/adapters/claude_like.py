"""The answers of clients that took over most of Claude Code's words, and not its readings of them."""

from collections.abc import Collection

from verdikt.adapters.moment import Moment, MomentKind
from verdikt.adapters.reply import NEUTRAL, Reply, refuse, say
from verdikt.adapters.ruling import Ruling
from verdikt.model.verdict import VerdictKind


def answer(moment: Moment, ruling: Ruling, *, go_on: str, contexts: Collection[str]) -> Reply:
    """What holds there: `go_on` is how a stop is refused, `contexts` are the events whose context reaches the model."""
    text = ruling.context
    # An ask is none there: Codex would run the tool, Gemini CLI wait without end.
    if ruling.blocked or (ruling.kind is VerdictKind.ASK and moment.kind is MomentKind.BEFORE):
        if moment.kind is MomentKind.STOP:
            return say({"decision": go_on, "reason": ruling.reason})
        if moment.kind is not MomentKind.AFTER:
            return refuse(ruling.reason) if moment.kind in (MomentKind.BEFORE, MomentKind.PROMPT) else NEUTRAL
        # A refusal here would take the tool's output away from the model.
        text = "\n".join(part for part in (ruling.reason, ruling.context) if part)
    if not text:
        return NEUTRAL
    if moment.event in contexts:
        return say({"hookSpecificOutput": {"hookEventName": moment.event, "additionalContext": text}})
    return say({"systemMessage": text})
