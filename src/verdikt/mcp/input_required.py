"""The result `input_required`, which asks a person in the new era; our state travels in it through the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from verdikt.mcp.message import Message, build_result, refuse_lookalike_keys
from verdikt.mcp.question import QUESTION_KEY
from verdikt.mcp.request_review import digest_call
from verdikt.model.canonical_json import stringify_big_integers

if TYPE_CHECKING:
    from verdikt.mcp.request_review import RequestReview
    from verdikt.mcp.sealed_state import StateSealer
    from verdikt.model.action import Action

# What a state is about; it says how the repeated request goes on.
ABOUT_CALL = "call"
ABOUT_WISHES = "request"
ABOUT_APPROVED = "approved"

_INPUT_FIELDS = frozenset({"resultType", "inputRequests", "requestState", "_meta"})


def is_input_required(message: Message) -> bool:
    """Whether a server's response asks for something before it answers; raise `MessageError` if that is ambiguous."""
    result = message.result
    if not isinstance(result, Mapping):
        return False
    refuse_lookalike_keys(result, _INPUT_FIELDS, message.id)
    # A client may go by either of the two.
    return result.get("resultType") == "input_required" or "inputRequests" in result


def keep_input_fields(message: Message) -> Message:
    """Return such a response without anything else: tools or content beside the wishes would reach a client unseen."""
    kept = {key: value for key, value in message.result.items() if key in _INPUT_FIELDS}
    return message.replace_result({**kept, "resultType": "input_required"})


def build_call_state(review: RequestReview) -> dict[str, Any]:
    """Return what must be known again when the client repeats a request with the answer to our question about it."""
    params = review.message.params
    return {
        "about": ABOUT_CALL,
        "call": digest_call(review.message),
        "call_id": review.action.call_id,
        "is_policy_ask": review.is_policy_ask,
        "definition": review.definition,
        "state": params.get("requestState"),
        "responses": params.get("inputResponses"),
    }


def build_wishes_state(
    request: Message, action: Action | None, asks: Mapping[str, tuple[str, Action]], result: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what must be known again when the client answers our question about a server's wishes."""
    return {
        "about": ABOUT_WISHES,
        "call": digest_call(request),
        "call_id": action.call_id if action is not None else "",
        "wishes": {key: wish.call_id for key, (_, wish) in asks.items()},
        "result": result,
    }


def build_input_required(
    sealer: StateSealer, message: Message, question: Mapping[str, Any], state: Mapping[str, Any]
) -> Message:
    """Return the response that asks our question; raise `McpError` if the state is too long for a client to carry."""
    assert message.id is not None
    token = sealer.seal(stringify_big_integers(state))
    request = {"method": "elicitation/create", "params": {"mode": "form", **question}}
    result = {"resultType": "input_required", "inputRequests": {QUESTION_KEY: request}, "requestState": token}
    return build_result(message.id, result)


def mark_approved(sealer: StateSealer, result: Mapping[str, Any], message: Message, action: Action) -> dict[str, Any]:
    """Return a server's `input_required` with our state around its own: the call is not asked about again."""
    state = {
        "about": ABOUT_APPROVED,
        "call": digest_call(message),
        "call_id": action.call_id,
        "state": result.get("requestState"),
    }
    return {**result, "requestState": sealer.seal(stringify_big_integers(state))}
