"""What becomes of a server's wishes: passed on, refused, or shown to the client after a person said yes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verdikt.hosts.host_decision import TEXT_MARK, HostDecision
from verdikt.mcp.conversation import UNRECORDED, refuse_request
from verdikt.mcp.input_required import build_wishes_state, mark_approved
from verdikt.mcp.message import REFUSED, Message, MessageError, build_error, build_result, refuse_lookalike_keys
from verdikt.mcp.protocol_era import is_modern
from verdikt.mcp.question import build_question
from verdikt.mcp.reaction import PendingRequest, Reaction
from verdikt.mcp.request_review import THIS_CLIENT, WISH_REJECTED, RequestReview, explain_wish, shorten_json
from verdikt.mcp.server_wish import decide_wish, decide_wishes, read_error_wishes
from verdikt.model.action import Action, Outcome
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.mcp.call_governor import CallGovernor
    from verdikt.mcp.conversation import Conversation


class WishDecider:
    """Decides on what a server wants of the client, in the ways of both eras."""

    def __init__(self, governor: CallGovernor, conversation: Conversation) -> None:
        self._governor = governor
        self._conversation = conversation

    def review_request(self, message: Message) -> Reaction:
        """Decide on a wish of the old era, which is a request of the server."""
        decision, action = decide_wish(self._governor, message.method, message.params)
        if decision.kind is VerdictKind.BLOCK:
            return _refuse_wish(message, decision.full_text)
        if decision.kind is not VerdictKind.ASK:
            return self._pass_wish(message, action)
        if not self._conversation.can_ask():
            return _refuse_wish(message, decision.refuse_ask(THIS_CLIENT).full_text)

        def settle_wish(allowed: bool) -> Reaction:
            is_recorded = self._governor.record_answer(action, allowed=allowed)
            if not allowed or not is_recorded:
                return _refuse_wish(message, f"{TEXT_MARK} {WISH_REJECTED if is_recorded else UNRECORDED}")
            decision_after_answer, _ = decide_wish(self._governor, message.method, message.params, action.call_id)
            if decision_after_answer.kind >= VerdictKind.ASK:
                return _refuse_wish(message, decision_after_answer.full_text)
            return self._pass_wish(message, action)

        shortened = shorten_json(message.params)
        question = build_question(explain_wish(self._governor.server, message.method), message.method, shortened)
        return self._conversation.ask_by_request(question, message.id, settle_wish, is_wish=True)

    def _pass_wish(self, message: Message, action: Action) -> Reaction:
        """Pass a server's request on to the client; that is all that comes of it here."""
        reaction, outcome = self._conversation.forward_wish(message), Outcome(success=True)
        reaction.deferred = lambda: self._governor.record_outcome_later(action, outcome)
        return reaction

    def review_input_requests(self, message: Message, pending: PendingRequest) -> Reaction:
        """Decide on what a server of the new era wants before it answers; all of it passes, or nothing."""
        result = message.result
        decision, asks = decide_wishes(self._governor, result.get("inputRequests"), {})
        if decision.kind is VerdictKind.BLOCK:
            return refuse_request(pending.message, decision)
        if not asks:
            if not pending.is_approved or pending.action is None:
                return Reaction(to_client=[message])
            approved = mark_approved(self._conversation.sealer, result, pending.message, pending.action)
            return Reaction(to_client=[message.replace_result(approved)])
        # A client of the old era knows no such result, whatever it can show to a person; and what is not decided on,
        # as the state of a task, is not looked at either when the client repeats it with an answer.
        can_ask = pending.action is not None and is_modern(pending.message)
        if not can_ask or not self._conversation.can_ask(pending.message):
            return refuse_request(pending.message, decision.refuse_ask(THIS_CLIENT))
        methods = ", ".join(dict.fromkeys(method for method, _ in asks.values()))
        shortened = shorten_json(result.get("inputRequests"))
        question = build_question(explain_wish(self._governor.server, methods), methods, shortened)
        state = build_wishes_state(pending.message, pending.action, asks, result)
        return self._conversation.ask_in_result(pending.message, question, state)

    def refuse_error(self, message: Message, pending: PendingRequest) -> Reaction | None:
        """Refuse an error with questions that may not be shown: the client would go on to ask them. None for others."""
        try:
            decision, _ = decide_wishes(self._governor, read_error_wishes(message.body.get("error")), {})
        except MessageError as error:
            decision = HostDecision.block(str(error))
        if decision.kind < VerdictKind.ASK:
            return None
        if decision.kind is VerdictKind.ASK:
            decision = decision.refuse_ask(THIS_CLIENT)
        return refuse_request(pending.message, decision)

    def review_notification(self, message: Message) -> Reaction:
        """Pass a notification on unless it wants what may not pass by itself: no answer of a person can reach it."""
        refuse_lookalike_keys(message.params, frozenset({"inputRequests"}), None)
        decision, _ = decide_wishes(self._governor, message.params.get("inputRequests"), {})
        if decision.kind >= VerdictKind.ASK:
            self._conversation.record_drop("a notification that wants something of the client", decision.reason)
            return Reaction()
        return Reaction(to_client=[message])

    def settle_wishes(self, review: RequestReview, state: Mapping[str, Any], allowed: bool) -> Reaction:
        """Record what the person said about a server's wishes, and show them to the client if they may be."""
        message, result = review.message, state["result"]
        assert message.id is not None
        for call_id in state["wishes"].values():
            wish = replace(review.action, call_id=call_id)
            if not self._governor.record_answer(wish, allowed=allowed):
                return refuse_request(message, HostDecision.block(UNRECORDED))
        if not allowed:
            return refuse_request(message, HostDecision.block(WISH_REJECTED))
        decision, _ = decide_wishes(self._governor, result.get("inputRequests"), state["wishes"])
        if decision.kind >= VerdictKind.ASK:
            return refuse_request(message, decision)
        approved = mark_approved(self._conversation.sealer, result, message, review.action)
        return Reaction(to_client=[build_result(message.id, approved)])


def _refuse_wish(message: Message, text: str) -> Reaction:
    return Reaction(to_server=[build_error(message.id, REFUSED, text)])
