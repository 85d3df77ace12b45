"""A request under review: the words in which it is refused or asked about, what identifies it, what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from verdikt.hosts.host_decision import TEXT_MARK, HostDecision
from verdikt.mcp.tool_pin import PinState
from verdikt.model.action import Action, Outcome
from verdikt.model.canonical_json import hash_canonical, stringify_big_integers
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.mcp.message import Message
    from verdikt.mcp.tool_pin import ToolPin

THIS_CLIENT = "through this client"
"""Where a person would be asked, in the words of a refusal."""

WISH_REJECTED = "a person was asked about what the server wants and did not allow it"

_BLOCK_FIELDS = ("content", "contents", "messages")

SHOWN_FIELDS = (*_BLOCK_FIELDS, "structuredContent")
"""The fields of a result that a client shows to its model."""

_MAX_OUTPUT_LENGTH = 1024 * 1024
_MAX_SHOWN_ARGUMENTS = 600
_REPETITION_KEYS = ("inputResponses", "requestState")
"""What a repeated request of the new era carries besides the request itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReview:
    """A request under review, with what a person is shown of it."""

    message: Message
    action: Action
    what: str
    subject: object
    is_new: bool = False
    """Whether it calls a tool whose definition no person has accepted."""
    definition: str = ""
    """The digest of the tool's definition when it was decided or asked about; empty for what is no tool."""
    is_policy_ask: bool = False
    """Whether the policy asks, so that the log holds the question; the question about a new tool is the relay's own."""

    def render_subject(self) -> str:
        """Return the arguments as a person sees them; only when asked: most calls pass, and some are long."""
        return shorten_json(self.subject)

    def with_call_id(self, call_id: str) -> RequestReview:
        """Return the review of the same request under the id with which a person was asked about it."""
        return replace(self, action=replace(self.action, call_id=call_id))


def is_new_tool(pin: ToolPin | None) -> bool:
    """Whether a tool was listed and not accepted yet."""
    return pin is not None and pin.state is PinState.NEW


def explain_pin(pin: ToolPin | None, tool: str, server: str) -> str:
    """Return why a tool must not be called at all; empty when it may be decided on."""
    if pin is None:
        return (
            f"blocked (pin): `{tool}` was never listed by the server `{server}`\n"
            "Instead: list the tools and call one of them"
        )
    if pin.state is PinState.CHANGED:
        return (
            f"blocked (pin): the definition of `{tool}` changed since it was reviewed\n"
            f"Instead: use another tool; a person can look at the change with `verdikt mcp pins show {server}`"
        )
    return ""


def require_acceptance(decision: HostDecision, what: str, server: str) -> HostDecision:
    """Return an ask for a tool that no person has accepted yet."""
    if decision.kind is VerdictKind.ASK:
        return decision
    reason = (
        f"{TEXT_MARK} wants a person to confirm this (pin): `{what}` of the server `{server}` is used for the "
        f"first time\nInstead: have a person accept it: `verdikt mcp pins accept {server} {what}`"
    )
    return HostDecision(kind=VerdictKind.ASK, reason=reason, context=decision.context)


def explain_swap(server: str, tool: str) -> str:
    """Return the text after a yes to a tool whose definition is another one by now."""
    return (
        f"blocked (pin): the definition of `{tool}` changed while a person was asked about it\n"
        f"Instead: list the tools and call it again; a person can look at it with `verdikt mcp pins show {server}`"
    )


def explain_rejection(server: str, tool: str) -> str:
    """Return the text after a person's no to a tool that is used for the first time."""
    return (
        f"blocked (pin): a person was asked about `{tool}` of the server `{server}`, and said no\n"
        f"Instead: do it another way; `verdikt mcp pins accept {server} {tool}` is for the person"
    )


def explain_wish(server: str, method: str) -> str:
    """Return what a server wants of the client, in words for a person."""
    wish = "have the model write something for it" if method == "sampling/createMessage" else f"use `{method}`"
    return f"The server `{server}` wants to {wish}."


def digest_call(message: Message) -> str:
    """Return what identifies a call, without its id, its metadata and what a repetition adds."""
    params = {key: value for key, value in message.params.items() if key not in ("_meta", *_REPETITION_KEYS)}
    return hash_canonical(stringify_big_integers([message.method, params]))


def restore_params(message: Message, state: object, responses: object) -> Message:
    """Return a repeated request as the server must see it: with its own state and answers, without ours."""
    params = {key: value for key, value in message.params.items() if key not in _REPETITION_KEYS}
    if state is not None:
        params["requestState"] = state
    if responses:
        params["inputResponses"] = responses
    return message.replace_params(params)


def read_outcome(message: Message) -> Outcome:
    """Return the outcome that a server's response stands for."""
    result = message.result
    if not isinstance(result, Mapping):
        error = message.body.get("error")
        return Outcome(success=False, error=str(error.get("message", "") if isinstance(error, Mapping) else "")[:4000])
    text = "\n".join(_iter_texts(result))[:_MAX_OUTPUT_LENGTH]
    failed = result.get("isError") is True
    return Outcome(success=not failed, output="" if failed else text, error=text if failed else "")


def _iter_texts(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a result shows to a model: its blocks, what a resource or a prompt holds, and its data."""
    texts = []
    for field in _BLOCK_FIELDS:
        blocks = result.get(field)
        for block in blocks if isinstance(blocks, list) else ():
            inner = (block.get("resource"), block.get("content")) if isinstance(block, Mapping) else ()
            texts += [
                holder["text"]
                for holder in (block, *inner)
                if isinstance(holder, Mapping) and isinstance(holder.get("text"), str)
            ]
    yield from texts
    # Most servers say the same as a text; one that does not would hide it from the log.
    data = result.get("structuredContent")
    if data is not None and not any(_is_json_of(text, data) for text in texts):
        yield dumps(data, ensure_ascii=False)


def _is_json_of(text: str, value: object) -> bool:
    try:
        return bool(loads(text) == value)
    except (ValueError, RecursionError):
        return False


def shorten_json(value: Any) -> str:
    """Return a value as JSON that is short enough for a question."""
    text = dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN_ARGUMENTS else f"{text[:_MAX_SHOWN_ARGUMENTS]}…"
