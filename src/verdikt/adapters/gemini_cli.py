"""Gemini CLI. Its stdout beats its exit status, and an `ask` hangs it for ever when nobody is there."""

from collections.abc import Mapping

from verdikt.adapters.claude_like import answer
from verdikt.adapters.moment import Moment, MomentKind
from verdikt.adapters.payload import Fields, Keys, read
from verdikt.adapters.reply import Reply
from verdikt.adapters.ruling import Ruling
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.regex import regex

EVENTS: dict[str, MomentKind] = {
    "SessionStart": MomentKind.START,
    "BeforeAgent": MomentKind.PROMPT,
    "BeforeTool": MomentKind.BEFORE,
    "AfterTool": MomentKind.AFTER,
    "AfterAgent": MomentKind.STOP,
    "BeforeModel": MomentKind.NOTICE,
    "AfterModel": MomentKind.NOTICE,
    "BeforeToolSelection": MomentKind.NOTICE,
    "PreCompress": MomentKind.NOTICE,
    "Notification": MomentKind.NOTICE,
    "SessionEnd": MomentKind.END,
}

_CONTEXT = {"SessionStart", "BeforeAgent", "AfterTool"}

_TRAILER = regex(
    r"(?:\n(?:Exit Code: (?P<code>\d{1,3})|Signal: (?P<signal>\d{1,3})))?"
    r"(?:\nBackground PIDs: [\d, ]+)?\nProcess Group PGID: \d+\n</untrusted_context>\s*\Z"
)
"""How the client ends what it tells of a command. What a command prints stands before it and cannot take its place."""


def decode(payload: object, event: str = "", env: Mapping[str, str] | None = None) -> Moment:
    """The moment that a Gemini CLI payload stands for."""
    keys = Keys(message="prompt_response")
    return read(payload, host="gemini", events=EVENTS, outcome=_outcome, event=event, keys=keys)


def encode(moment: Moment, ruling: Ruling) -> Reply:
    """What Gemini CLI must be told for the ruling to hold."""
    return answer(moment, ruling, go_on="deny", contexts=_CONTEXT)


def _outcome(fields: Fields, action: Action) -> Outcome:
    response = fields.table("tool_response")
    content = response.get("llmContent")
    text = content if isinstance(content, str) else ""
    error = response.get("error")
    message = error.get("message") if isinstance(error, Mapping) else None
    code = _status(text) if action.kind is ActionKind.BASH and not error else None
    return Outcome(
        success=not error and not code,
        output=text,
        error=message if isinstance(message, str) else "",
        exit_code=code,
        raw=fields.raw,
    )


def _status(text: str) -> int | None:
    """The exit status, which the client writes only when it is not 0; None when the text does not end as it should."""
    found = _TRAILER.search(text)
    if found is None:
        return None
    if found["signal"]:
        return 128 + int(found["signal"])
    return int(found["code"] or 0)
