"""The relay: what becomes of each message between a client and a server, whichever transport carries it.

A message that came in leaves as a `Reaction`: messages for the server, messages for the client, and work that may wait
until they are sent. The relay passes on what it does not decide about, so that new methods keep working.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from verdikt.errors import McpError
from verdikt.hosts.host_decision import TEXT_MARK, HostDecision
from verdikt.mcp.call_governor import CHANNEL
from verdikt.mcp.input_required import (
    ABOUT_APPROVED,
    ABOUT_WISHES,
    build_call_state,
    build_input_required,
    build_wishes_state,
    mark_approved,
)
from verdikt.mcp.message import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    REFUSED,
    Message,
    MessageError,
    MessageKind,
    RequestId,
    build_error,
    build_notification,
    build_request,
    build_result,
    build_tool_refusal,
    guess_response_id,
    refuse_lookalike_keys,
)
from verdikt.mcp.protocol_era import is_modern, read_capabilities
from verdikt.mcp.question import QUESTION_KEY, build_question, can_elicit, is_allowed
from verdikt.mcp.reaction import HeldRequest, PendingRequest, Reaction
from verdikt.mcp.request_review import (
    WISH_REJECTED,
    RequestReview,
    digest_call,
    explain_pin,
    explain_rejection,
    explain_swap,
    explain_wish,
    is_new_tool,
    read_outcome,
    refuse_unasked,
    require_acceptance,
    restore_params,
    shorten_json,
)
from verdikt.mcp.sealed_state import STATE_PREFIX, StateSealer
from verdikt.mcp.server_wish import DECLARED_READS, POLICY_NAMES, decide_wish, decide_wishes
from verdikt.mcp.tool_screening import note_server_version, screen_tools
from verdikt.model.action import Action, Outcome
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.mcp.call_governor import CallGovernor
    from verdikt.mcp.pin_store import ServerPins

MAX_PENDING = 4096
"""Requests of one side that wait for an answer of the other."""

MAX_ASKS = 32
"""Questions that wait for a person at the same time."""

_CALL_PARAMS = frozenset({"name", "arguments", "_meta", "task", "inputResponses", "requestState"})
_READ_METHODS = {"resources/read": "resources/read", "prompts/get": "prompts/get", "completion/complete": "complete"}
"""Requests that read something of a server → the name under which the policy sees them."""

_UNRECORDED = "a person was asked, and the answer could not be recorded"


class Relay:
    """One conversation of a client with a server."""

    def __init__(
        self,
        governor: CallGovernor,
        pins: ServerPins,
        *,
        trust_first: bool = False,
        sealer: StateSealer | None = None,
    ) -> None:
        self._governor = governor
        self._pins = pins
        self._trust_first = trust_first
        self._sealer = sealer or StateSealer(governor.clock)
        self._capabilities: Mapping[str, Any] = {}
        self._pending: dict[RequestId, PendingRequest] = {}
        self._server_requests: set[RequestId] = set()
        self._asks: dict[str, HeldRequest] = {}
        self._dropped = 0
        # Decisions are made one at a time: the two directions share the tables above.
        self._lock = threading.RLock()

    # From the client.

    def receive_from_client(self, message: Message) -> Reaction:
        """Return what becomes of a client's message."""
        with self._lock:
            try:
                if message.kind is MessageKind.RESPONSE:
                    return self._handle_client_response(message)
                if message.kind is MessageKind.NOTIFICATION:
                    return self._handle_client_notification(message)
                return self._handle_client_request(message)
            except MessageError as error:
                return Reaction(to_client=[build_error(message.id, error.code, str(error))])

    def _handle_client_request(self, message: Message) -> Reaction:
        assert message.id is not None
        is_held = any(held.request_id == message.id for held in self._asks.values())
        if message.id in self._pending or is_held:
            raise MessageError("expected an id that is not in use, found one whose request still runs")
        if len(self._pending) >= MAX_PENDING:
            raise MessageError(f"expected at most {MAX_PENDING} requests at once, found more")
        if message.method == "initialize":
            capabilities = message.params.get("capabilities")
            self._capabilities = capabilities if isinstance(capabilities, Mapping) else {}
        elif message.method == "tools/call":
            return self._review_tool_call(message)
        elif message.method in _READ_METHODS:
            return self._review_read(message)
        return self._forward_request(PendingRequest(message=message))

    def _forward_request(self, pending: PendingRequest) -> Reaction:
        assert pending.message.id is not None
        self._pending[pending.message.id] = pending
        return Reaction(to_server=[pending.message])

    def _handle_client_notification(self, message: Message) -> Reaction:
        if message.method == "notifications/cancelled":
            request_id = message.params.get("requestId")
            for ask_id, held in list(self._asks.items()):
                if held.request_id == request_id:
                    # The server has never seen this request; only the person is still being asked about it.
                    del self._asks[ask_id]
                    params = {"requestId": ask_id, "reason": "the call was cancelled"}
                    return Reaction(to_client=[build_notification("notifications/cancelled", params)], ask_id=ask_id)
        if message.method == "tools/call" or message.method in _READ_METHODS:
            # Without an id there would be no answer that says no, and a server may run it all the same.
            self._record_drop("a request without an id", message.method)
            return Reaction()
        return Reaction(to_server=[message])

    def _handle_client_response(self, message: Message) -> Reaction:
        held = self._asks.pop(message.id, None) if isinstance(message.id, str) else None
        if held is not None:
            reaction = held.on_answer(is_allowed(message.result))
            reaction.ask_id = str(message.id)
            return reaction
        if message.id not in self._server_requests:
            self._record_drop("a client's answer that nothing asked for", str(message.id))
            return Reaction()
        self._server_requests.discard(message.id)
        return Reaction(to_server=[message])

    # Calls.

    def _review_tool_call(self, message: Message) -> Reaction:
        params = message.params
        refuse_lookalike_keys(params, _CALL_PARAMS, message.id)
        tool, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(tool, str) or not isinstance(arguments, dict):
            raise MessageError("expected the name of a tool and an object of arguments, found something else")
        refuse_lookalike_keys(arguments, frozenset(), message.id)
        pin = self._pins.book.find(tool)
        refusal = explain_pin(pin, tool, self._governor.server)
        if refusal:
            self._governor.record_event("", "refused", tool=tool, reason=refusal)
            return self._refuse_request(message, HostDecision.block(refusal))
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

    def _review_read(self, message: Message) -> Reaction:
        name = _READ_METHODS[message.method]
        payload = {key: value for key, value in message.params.items() if key != "_meta"}
        action = self._governor.build_action(name, payload, hints=DECLARED_READS)
        review = RequestReview(message=message, action=action, what=message.method, subject=payload)
        return self._decide_request(review)

    def _decide_request(self, review: RequestReview) -> Reaction:
        """Decide a request of the client, by itself or with the answer that it carries to an earlier question."""
        state = review.message.params.get("requestState")
        if isinstance(state, str) and state.startswith(STATE_PREFIX):
            return self._continue_request(review, state)
        ruling = self._governor.decide(review.action)
        decision = ruling.decision
        if decision.kind is VerdictKind.BLOCK:
            return self._refuse_request(review.message, decision)
        review = replace(review, is_policy_ask=decision.kind is VerdictKind.ASK)
        # Also where the hook has decided: it knows nothing of definitions.
        if review.is_new:
            decision = require_acceptance(decision, review.what, self._governor.server)
        if decision.kind is VerdictKind.ASK:
            return self._ask_client(review, decision)
        return self._pass_request(review, is_covered=ruling.is_covered)

    def _pass_request(
        self,
        review: RequestReview,
        *,
        is_approved: bool = False,
        is_covered: bool = False,
        message: Message | None = None,
    ) -> Reaction:
        pending = PendingRequest(
            message=message or review.message,
            action=review.action,
            is_approved=is_approved,
            is_covered=is_covered,
        )
        return self._forward_request(pending)

    def _refuse_request(self, message: Message, decision: HostDecision) -> Reaction:
        """Answer a client's request with the text of a decision; the server never sees the request."""
        assert message.id is not None
        if message.method == "tools/call":
            refusal = build_tool_refusal(message.id, decision.full_text, is_modern=is_modern(message))
        else:
            refusal = build_error(message.id, REFUSED, decision.full_text)
        return Reaction(to_client=[refusal])

    # Questions.

    def _ask_client(self, review: RequestReview, decision: HostDecision) -> Reaction:
        """Ask a person through the client, in the way of its era; refuse where no person can be asked.

        The one place that chooses how a person is asked. Whatever the way, the answer goes through `_settle_request`.
        """
        message = review.message
        modern = is_modern(message)
        capabilities = read_capabilities(message) if modern else self._capabilities
        if not can_elicit(capabilities) or not self._governor.is_attended or len(self._asks) >= MAX_ASKS:
            return self._refuse_request(message, refuse_unasked(decision))
        question = build_question(decision.reason, review.what, review.render_subject())
        if modern:
            return self._ask_in_result(message, question, build_call_state(review))

        def settle_call(allowed: bool) -> Reaction:
            return self._settle_request(review, allowed)

        return self._ask_by_request(question, message.id, settle_call)

    def _ask_by_request(
        self, question: Mapping[str, Any], request_id: RequestId | None, on_answer: Callable[[bool], Reaction]
    ) -> Reaction:
        # Unguessable, so that a server cannot have the client answer in our place.
        ask_id = f"verdikt-{token_hex(16)}"
        self._asks[ask_id] = HeldRequest(request_id=request_id if request_id is not None else "", on_answer=on_answer)
        return Reaction(to_client=[build_request(ask_id, "elicitation/create", question)], ask_id=ask_id)

    def _settle_request(self, review: RequestReview, allowed: bool, message: Message | None = None) -> Reaction:
        """Record what the person said, and decide again: a policy that became stricter has the last word."""
        if review.is_policy_ask and not self._governor.record_answer(review.action, allowed=allowed):
            return self._refuse_request(review.message, HostDecision.block(_UNRECORDED))
        if review.is_new:
            self._governor.record_event(
                review.action.session_id, "pin_answer", tool=review.action.tool, allowed=allowed, channel=CHANNEL
            )
        if not allowed:
            return self._refuse_request(review.message, self._explain_rejection(review))
        if review.definition:
            pin = self._pins.book.find(review.what)
            if pin is None or pin.seen_digest != review.definition:
                swap = explain_swap(self._governor.server, review.what)
                return self._refuse_request(review.message, HostDecision.block(swap))
        ruling = self._governor.decide(review.action)
        if ruling.decision.kind >= VerdictKind.ASK:
            return self._refuse_request(review.message, ruling.decision)
        if review.is_new:
            self._pins.accept(review.what, by=CHANNEL)
        return self._pass_request(review, is_approved=True, is_covered=ruling.is_covered, message=message)

    def _explain_rejection(self, review: RequestReview) -> HostDecision:
        """Return the block after a person's no. Where the policy asked, it is decided and recorded, with its reason."""
        decision = self._governor.decide(review.action).decision if review.is_policy_ask else HostDecision()
        if decision.kind is VerdictKind.BLOCK:
            return decision
        return HostDecision.block(explain_rejection(self._governor.server, review.what))

    def _ask_in_result(self, message: Message, question: Mapping[str, Any], state: Mapping[str, Any]) -> Reaction:
        """Answer with `input_required`; the client repeats the request with the person's answer and our state."""
        try:
            return Reaction(to_client=[build_input_required(self._sealer, message, question, state)])
        except McpError as error:
            return self._refuse_request(message, HostDecision.block(str(error)))

    def _continue_request(self, review: RequestReview, token: str) -> Reaction:
        """Go on with a request that the client repeats with a state of ours."""
        message = review.message
        try:
            state = self._sealer.open(token, call=digest_call(message))
        except McpError as error:
            self._record_drop(str(error), message.method)
            return self._refuse_request(message, HostDecision.block(str(error)))
        # The client may give the repetition another id; the question stands under the first one.
        review = review.with_call_id(state["call_id"])
        responses = message.params.get("inputResponses")
        answers = dict(responses) if isinstance(responses, Mapping) else {}
        allowed = is_allowed(answers.pop(QUESTION_KEY, None))
        if state["about"] == ABOUT_WISHES:
            return self._settle_wishes(review, state, allowed)
        if state["about"] == ABOUT_APPROVED:
            ruling = self._governor.decide(review.action)
            if ruling.decision.kind >= VerdictKind.ASK:
                return self._refuse_request(message, ruling.decision)
            inner = restore_params(message, state["state"], answers)
            return self._pass_request(review, is_approved=True, is_covered=ruling.is_covered, message=inner)
        inner = restore_params(message, state["state"], state["responses"])
        asked = replace(review, is_policy_ask=state["is_policy_ask"], definition=state["definition"])
        return self._settle_request(asked, allowed, message=inner)

    def _settle_wishes(self, review: RequestReview, state: Mapping[str, Any], allowed: bool) -> Reaction:
        """Record what the person said about a server's wishes, and show them to the client if they may be."""
        message, result = review.message, state["result"]
        assert message.id is not None
        for call_id in state["wishes"].values():
            wish = replace(review.action, call_id=call_id)
            if not self._governor.record_answer(wish, allowed=allowed):
                return self._refuse_request(message, HostDecision.block(_UNRECORDED))
        if not allowed:
            return self._refuse_request(message, HostDecision.block(WISH_REJECTED))
        decision, _ = decide_wishes(self._governor, result.get("inputRequests"), state["wishes"])
        if decision.kind >= VerdictKind.ASK:
            return self._refuse_request(message, decision)
        approved = mark_approved(self._sealer, result, message, review.action)
        return Reaction(to_client=[build_result(message.id, approved)])

    # From the server.

    def receive_from_server(self, message: Message) -> Reaction:
        """Return what becomes of a server's message."""
        with self._lock:
            if message.kind is MessageKind.RESPONSE:
                return self._handle_server_response(message)
            if message.kind is MessageKind.REQUEST:
                return self._handle_server_request(message)
            return Reaction(to_client=[message])

    def _handle_server_response(self, message: Message) -> Reaction:
        pending = self._pending.pop(message.id, None) if message.id is not None else None
        if pending is None:
            # A second result for one call, or one that was never asked for, would be taken for another call's.
            self._record_drop("a server's answer that nothing asked for", str(message.id))
            return Reaction()
        if isinstance(message.result, Mapping) and message.result.get("resultType") == "input_required":
            return self._review_input_requests(message, pending)
        if pending.message.method == "tools/list":
            screened = screen_tools(message, self._governor, self._pins, trust_first=self._trust_first)
            return Reaction(to_client=[screened])
        if pending.action is not None:
            return self._finish_call(message, pending)
        if pending.message.method == "initialize":
            note_server_version(message.result, self._governor, self._pins)
        return Reaction(to_client=[message])

    def _handle_server_request(self, message: Message) -> Reaction:
        assert message.id is not None
        if len(self._server_requests) >= MAX_PENDING or message.id in self._server_requests:
            error = build_error(message.id, INVALID_REQUEST, "expected an id that is not in use, and fewer requests")
            return Reaction(to_server=[error])
        if message.method not in POLICY_NAMES:
            self._server_requests.add(message.id)
            return Reaction(to_client=[message])
        decision, action = decide_wish(self._governor, message.method, message.params)
        if decision.kind is VerdictKind.BLOCK:
            return Reaction(to_server=[build_error(message.id, REFUSED, decision.full_text)])
        if decision.kind is not VerdictKind.ASK:
            return self._pass_wish(message, action)
        if not can_elicit(self._capabilities) or len(self._asks) >= MAX_ASKS:
            return Reaction(to_server=[build_error(message.id, REFUSED, refuse_unasked(decision).full_text)])

        def settle_wish(allowed: bool) -> Reaction:
            is_recorded = self._governor.record_answer(action, allowed=allowed)
            if not allowed or not is_recorded:
                text = WISH_REJECTED if is_recorded else _UNRECORDED
                return Reaction(to_server=[build_error(message.id, REFUSED, f"{TEXT_MARK} {text}")])
            decision_after_answer, _ = decide_wish(self._governor, message.method, message.params, action.call_id)
            if decision_after_answer.kind >= VerdictKind.ASK:
                return Reaction(to_server=[build_error(message.id, REFUSED, decision_after_answer.full_text)])
            return self._pass_wish(message, action)

        shortened = shorten_json(message.params)
        question = build_question(explain_wish(self._governor.server, message.method), message.method, shortened)
        return self._ask_by_request(question, None, settle_wish)

    def _pass_wish(self, message: Message, action: Action) -> Reaction:
        """Pass a server's request on to the client; that is all that comes of it here."""
        assert message.id is not None
        self._server_requests.add(message.id)
        outcome = Outcome(success=True)
        return Reaction(to_client=[message], deferred=lambda: self._governor.record_outcome_later(action, outcome))

    def _review_input_requests(self, message: Message, pending: PendingRequest) -> Reaction:
        """Decide on what a server of the new era wants before it answers; all of it passes, or nothing."""
        result = message.result
        decision, asks = decide_wishes(self._governor, result.get("inputRequests"), {})
        if decision.kind is VerdictKind.BLOCK:
            return self._refuse_request(pending.message, decision)
        if not asks:
            if not pending.is_approved or pending.action is None:
                return Reaction(to_client=[message])
            approved = mark_approved(self._sealer, result, pending.message, pending.action)
            return Reaction(to_client=[message.replace_result(approved)])
        if not can_elicit(read_capabilities(pending.message)):
            return self._refuse_request(pending.message, refuse_unasked(decision))
        methods = ", ".join(dict.fromkeys(method for method, _ in asks.values()))
        shortened = shorten_json(result.get("inputRequests"))
        question = build_question(explain_wish(self._governor.server, methods), methods, shortened)
        state = build_wishes_state(pending.message, pending.action, asks, result)
        return self._ask_in_result(pending.message, question, state)

    def _finish_call(self, message: Message, pending: PendingRequest) -> Reaction:
        """Record the outcome of a call, and add what the policy has to say about it to the result."""
        if pending.action is None or pending.is_covered:
            return Reaction(to_client=[message])
        action, outcome = pending.action, read_outcome(message)
        if not self._governor.has_feedback:
            # Nothing will be added, so the client need not wait for the log.
            return Reaction(to_client=[message], deferred=lambda: self._governor.record_outcome_later(action, outcome))
        context = self._governor.record_outcome(action, outcome)
        content = message.result.get("content") if isinstance(message.result, Mapping) else None
        if not context or not isinstance(content, list):
            return Reaction(to_client=[message])
        block = {"type": "text", "text": context}
        return Reaction(to_client=[message.replace_result({**message.result, "content": [*content, block]})])

    def sync_log(self) -> None:
        """Wait until what was deferred is on the disk."""
        self._governor.sync_log()

    def record_failure(self, error: BaseException) -> None:
        """Note in the crash file what ended the relay itself."""
        self._governor.record_failure(error)

    def close(self) -> None:
        """Write what was deferred, and close the log."""
        self._governor.close()

    def reject_broken(self, line: bytes | None, error: str) -> Reaction:
        """Record a server's message that cannot be decoded; return an error for the request that it would answer."""
        with self._lock:
            self.note_broken("server", error)
            request_id = guess_response_id(line) if line is not None else None
            if request_id is None or self._pending.pop(request_id, None) is None:
                return Reaction()
            text = f"{TEXT_MARK} the server's answer cannot be read: {error}"
            return Reaction(to_client=[build_error(request_id, INTERNAL_ERROR, text)])

    def note_broken(self, side: str, error: str) -> None:
        """Record a message of one side that could not be decoded and was dropped."""
        self._record_drop(f"a message of the {side} that cannot be read", error)

    def _record_drop(self, what: str, detail: str) -> None:
        """Record that something was dropped; a flood of it is counted and not recorded line by line."""
        self._dropped += 1
        if self._dropped <= 20 or self._dropped % 1000 == 0:
            self._governor.record_event("", "dropped", what=what, detail=detail[:200], count=self._dropped)
