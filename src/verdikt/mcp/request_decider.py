"""What becomes of a client's requests that the policy sees: passed on, refused, or asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from verdikt.errors import McpError
from verdikt.hosts.host_decision import HostDecision
from verdikt.mcp.call_governor import CHANNEL
from verdikt.mcp.conversation import UNRECORDED, refuse_request
from verdikt.mcp.input_required import ABOUT_APPROVED, ABOUT_WISHES, build_call_state
from verdikt.mcp.message import Message, MessageError, refuse_lookalike_keys
from verdikt.mcp.protocol_era import is_modern
from verdikt.mcp.question import QUESTION_KEY, build_question, is_allowed
from verdikt.mcp.reaction import PendingRequest, Reaction
from verdikt.mcp.request_review import (
    THIS_CLIENT,
    RequestReview,
    digest_call,
    explain_pin,
    explain_rejection,
    explain_swap,
    is_new_tool,
    require_acceptance,
    restore_params,
)
from verdikt.mcp.sealed_state import STATE_PREFIX
from verdikt.mcp.server_wish import DECLARED_READS
from verdikt.mcp.tool_pin import MAX_NAME_LENGTH
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.mcp.call_governor import CallGovernor, LogPositions
    from verdikt.mcp.conversation import Conversation
    from verdikt.mcp.pin_store import ServerPins
    from verdikt.mcp.wish_decider import WishDecider

READ_METHODS = {"resources/read": "resources/read", "prompts/get": "prompts/get", "completion/complete": "complete"}
"""Requests that read something of a server → the name under which the policy sees them."""

GOVERNED_METHODS = frozenset({"tools/call", "tools/list", *READ_METHODS})
"""What of a client's requests is decided on; no other method may look like one of them."""

_REPETITION_PARAMS = frozenset({"_meta", "inputResponses", "requestState"})
_READ_PARAMS = frozenset({"uri", "name", "arguments", "ref", "argument", "context"}) | _REPETITION_PARAMS
_CALL_PARAMS = frozenset({"name", "arguments", "task"}) | _REPETITION_PARAMS


class RequestDecider:
    """Decides on tool calls and reads of the client."""

    def __init__(
        self, governor: CallGovernor, pins: ServerPins, conversation: Conversation, wishes: WishDecider
    ) -> None:
        self._governor = governor
        self._pins = pins
        self._conversation = conversation
        self._wishes = wishes

    def review_tool_call(self, message: Message) -> Reaction:
        """Return what becomes of a tool call."""
        params = message.params
        refuse_lookalike_keys(params, _CALL_PARAMS, message.id)
        tool, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(tool, str) or not isinstance(arguments, dict):
            raise MessageError("expected the name of a tool and an object of arguments, found something else")
        if len(tool) > MAX_NAME_LENGTH:
            raise MessageError(f"expected the name of a tool of at most {MAX_NAME_LENGTH} characters, found more")
        refuse_lookalike_keys(arguments, frozenset(), message.id)
        pin = self._pins.book.find(tool)
        refusal = explain_pin(pin, tool, self._governor.server)
        if refusal:
            self._governor.record_event("", "refused", tool=tool, reason=refusal)
            return refuse_request(message, HostDecision.block(refusal))
        action = self._governor.build_action(tool, arguments, hints=self._pins.get_hints(pin), meta=params.get("_meta"))
        review = RequestReview(
            message=message,
            action=action,
            what=tool,
            subject=arguments,
            is_new=is_new_tool(pin),
            definition=pin.seen_digest if pin is not None else "",
        )
        return self._decide_request(review)

    def review_read(self, message: Message) -> Reaction:
        """Return what becomes of a request that reads something of the server."""
        name = READ_METHODS[message.method]
        refuse_lookalike_keys(message.params, _READ_PARAMS, message.id)
        for inner in message.params.values():
            if isinstance(inner, Mapping):
                refuse_lookalike_keys(inner, frozenset(), message.id)
        payload = {key: value for key, value in message.params.items() if key != "_meta"}
        action = self._governor.build_action(name, payload, hints=DECLARED_READS)
        return self._decide_request(RequestReview(message=message, action=action, what=message.method, subject=payload))

    def _decide_request(self, review: RequestReview) -> Reaction:
        """Decide a request of the client, by itself or with the answer that it carries to an earlier question."""
        state = review.message.params.get("requestState")
        if isinstance(state, str) and state.startswith(STATE_PREFIX):
            return self._continue_request(review, state)
        # A tool that is new is asked about: whatever becomes of it, its decision is on the disk first.
        call_decision = self._governor.decide(
            review.action, can_ask=self._conversation.can_ask(review.message), withholds_result=not review.is_new
        )
        decision = call_decision.decision
        if decision.kind is VerdictKind.BLOCK:
            return refuse_request(review.message, decision)
        if decision.kind is VerdictKind.ASK:
            review = replace(review, is_policy_ask=True)
        # Also where the hook has decided: it knows nothing of definitions.
        if review.is_new:
            decision = require_acceptance(decision, review.what, self._governor.server)
        if decision.kind is VerdictKind.ASK:
            return self._ask_client(review, decision)
        positions = call_decision.log_positions
        reaction = self._pass_request(review, is_covered=call_decision.is_covered, log_positions=positions)
        if positions:
            # The disk works while the server does.
            reaction.deferred = partial(self._governor.sync_decision, positions)
        return reaction

    def _pass_request(
        self,
        review: RequestReview,
        *,
        is_approved: bool = False,
        is_covered: bool = False,
        message: Message | None = None,
        log_positions: LogPositions = (),
    ) -> Reaction:
        pending = PendingRequest(
            message=message or review.message,
            action=review.action,
            is_approved=is_approved,
            is_covered=is_covered,
            log_positions=log_positions,
        )
        return self._conversation.forward_request(pending)

    def _ask_client(self, review: RequestReview, decision: HostDecision) -> Reaction:
        """Ask a person through the client, in the way of its era; refuse where no person can be asked.

        The one place that chooses how a person is asked. Whatever the way, the answer goes through `_settle_request`.
        """
        message = review.message
        if not self._conversation.can_ask(message):
            return refuse_request(message, decision.refuse_ask(THIS_CLIENT))
        question = build_question(decision.reason, review.what, review.render_subject())
        if is_modern(message):
            return self._conversation.ask_in_result(message, question, build_call_state(review))

        def settle_call(allowed: bool) -> Reaction:
            return self._settle_request(review, allowed)

        return self._conversation.ask_by_request(question, message.id, settle_call)

    def _settle_request(self, review: RequestReview, allowed: bool, message: Message | None = None) -> Reaction:
        """Record what the person said, and decide again: a policy that became stricter has the last word."""
        if review.is_policy_ask and not self._governor.record_answer(review.action, allowed=allowed):
            return refuse_request(review.message, HostDecision.block(UNRECORDED))
        if review.is_new:
            self._governor.record_event(
                review.action.session_id, "pin_answer", tool=review.action.tool, allowed=allowed, channel=CHANNEL
            )
        if not allowed:
            return refuse_request(review.message, self._explain_rejection(review))
        if review.definition:
            pin = self._pins.book.find(review.what)
            if pin is None or pin.seen_digest != review.definition:
                swap = explain_swap(self._governor.server, review.what)
                return refuse_request(review.message, HostDecision.block(swap))
        call_decision = self._governor.decide(review.action)
        if call_decision.decision.kind >= VerdictKind.ASK:
            return refuse_request(review.message, call_decision.decision)
        if review.is_new:
            try:
                self._pins.accept(review.what, by=CHANNEL, shown_digest=review.definition)
            except McpError as error:
                return refuse_request(review.message, HostDecision.block(str(error)))
        return self._pass_request(review, is_approved=True, is_covered=call_decision.is_covered, message=message)

    def _explain_rejection(self, review: RequestReview) -> HostDecision:
        """Return the block after a person's no. Where the policy asked, it is decided and recorded, with its reason."""
        decision = self._governor.decide(review.action).decision if review.is_policy_ask else HostDecision()
        if decision.kind is VerdictKind.BLOCK:
            return decision
        return HostDecision.block(explain_rejection(self._governor.server, review.what))

    def _continue_request(self, review: RequestReview, token: str) -> Reaction:
        """Go on with a request that the client repeats with a state of ours."""
        message = review.message
        try:
            state = self._conversation.sealer.open(token, call=digest_call(message))
        except McpError as error:
            self._conversation.record_drop(str(error), message.method)
            return refuse_request(message, HostDecision.block(str(error)))
        # The client may give the repetition another id; the question stands under the first one.
        review = review.with_call_id(state["call_id"])
        responses = message.params.get("inputResponses")
        answers = dict(responses) if isinstance(responses, Mapping) else {}
        allowed = is_allowed(answers.pop(QUESTION_KEY, None))
        if state["about"] == ABOUT_WISHES:
            return self._wishes.settle_wishes(review, state, allowed)
        if state["about"] == ABOUT_APPROVED:
            call_decision = self._governor.decide(review.action)
            if call_decision.decision.kind >= VerdictKind.ASK:
                return refuse_request(message, call_decision.decision)
            inner = restore_params(message, state["state"], answers)
            return self._pass_request(review, is_approved=True, is_covered=call_decision.is_covered, message=inner)
        inner = restore_params(message, state["state"], state["responses"])
        asked = replace(review, is_policy_ask=state["is_policy_ask"], definition=state["definition"])
        return self._settle_request(asked, allowed, message=inner)
