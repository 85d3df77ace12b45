"""The relay: what becomes of each message between a client and a server, whichever transport carries it.

A message that came in leaves as a `Reaction`: messages for the server, messages for the client, and work that may wait
until they are sent. The relay passes on what it does not decide about, so that new methods keep working.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from verdikt.errors import McpError
from verdikt.hosts.host_decision import TEXT_MARK, HostDecision
from verdikt.mcp.call_governor import CHANNEL
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
from verdikt.mcp.question import QUESTION_KEY, build_question, can_elicit, is_allowed, is_imitation
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
from verdikt.mcp.tool_pin import PinState
from verdikt.model.action import Action, Outcome
from verdikt.model.canonical_json import stringify_big_integers
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.mcp.call_governor import CallGovernor
    from verdikt.mcp.pin_store import ServerPins

MAX_PENDING = 4096
"""Requests of one side that wait for an answer of the other."""

MAX_ASKS = 32
"""Questions that wait for a person at the same time."""

PROTOCOL_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"

_CALL_PARAMS = frozenset({"name", "arguments", "_meta", "task", "inputResponses", "requestState"})
_READ_METHODS = {"resources/read": "resources/read", "prompts/get": "prompts/get", "completion/complete": "complete"}
"""Requests that read something of a server → the name under which the policy sees them."""

_SERVER_REQUESTS = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation", "roots/list": "roots"}
"""What a server may want of the client → the name under which the policy sees it."""

# Questions to the person and the list of open directories pass unless the policy says otherwise; a prompt for the model
# that the server words does not: it has no declared effect and is asked about.
_DECLARED_READS = {"effects": ["read"]}
_UNRECORDED = "a person was asked, and the answer could not be recorded"


@dataclass(slots=True)
class Reaction:
    """What to send now, and what to do once it is sent."""

    to_client: list[Message] = field(default_factory=list)
    to_server: list[Message] = field(default_factory=list)
    deferred: Callable[[], None] | None = None
    ask_id: str = ""
    """The question that this reaction asks or settles; a transport finds the held request by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRequest:
    """A request of the client that the server has, until its response arrives."""

    message: Message
    action: Action | None = None
    is_modern: bool = False
    is_approved: bool = False
    is_covered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRequest:
    """A request that waits for a person, with what follows from either answer."""

    request_id: RequestId
    on_answer: Callable[[bool], Reaction]


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
        return self._forward_request(PendingRequest(message=message, is_modern=is_modern(message)))

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
            self._drop("a request without an id", message.method)
            return Reaction()
        return Reaction(to_server=[message])

    def _handle_client_response(self, message: Message) -> Reaction:
        held = self._asks.pop(message.id, None) if isinstance(message.id, str) else None
        if held is not None:
            reaction = held.on_answer(is_allowed(message.result))
            reaction.ask_id = str(message.id)
            return reaction
        if message.id not in self._server_requests:
            self._drop("a client's answer that nothing asked for", str(message.id))
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
            return Reaction(to_client=[self._refuse(message, HostDecision.block(refusal))])
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
        action = self._governor.build_action(name, payload, hints=_DECLARED_READS)
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
            return Reaction(to_client=[self._refuse(review.message, decision)])
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
            is_modern=is_modern(review.message),
            is_approved=is_approved,
            is_covered=is_covered,
        )
        return self._forward_request(pending)

    def _refuse(self, message: Message, decision: HostDecision) -> Message:
        assert message.id is not None
        if message.method == "tools/call":
            return build_tool_refusal(message.id, decision.full_text, is_modern=is_modern(message))
        return build_error(message.id, REFUSED, decision.full_text)

    # Questions.

    def _ask_client(self, review: RequestReview, decision: HostDecision) -> Reaction:
        """Ask a person through the client, in the way of its era; refuse where no person can be asked.

        The one place that chooses how a person is asked. Whatever the way, the answer goes through `_settle`.
        """
        message = review.message
        modern = is_modern(message)
        meta = message.params.get("_meta")
        capabilities = meta.get(CAPABILITIES_KEY) if modern and isinstance(meta, Mapping) else self._capabilities
        if not can_elicit(capabilities) or not self._governor.is_attended or len(self._asks) >= MAX_ASKS:
            return Reaction(to_client=[self._refuse(message, refuse_unasked(decision))])
        question = build_question(decision.reason, review.what, review.render_subject())
        if modern:
            return self._ask_in_result(review, question)

        def settle(allowed: bool) -> Reaction:
            return self._settle(review, allowed)

        return self._ask_by_request(question, review.message.id, settle)

    def _ask_by_request(
        self, question: Mapping[str, Any], request_id: RequestId | None, on_answer: Callable[[bool], Reaction]
    ) -> Reaction:
        # Unguessable, so that a server cannot have the client answer in our place.
        ask_id = f"verdikt-{token_hex(16)}"
        self._asks[ask_id] = HeldRequest(request_id=request_id if request_id is not None else "", on_answer=on_answer)
        return Reaction(to_client=[build_request(ask_id, "elicitation/create", question)], ask_id=ask_id)

    def _settle(self, review: RequestReview, allowed: bool, message: Message | None = None) -> Reaction:
        """Record what the person said, and decide again: a policy that became stricter has the last word."""
        if review.is_policy_ask and not self._governor.record_answer(review.action, allowed=allowed):
            return Reaction(to_client=[self._refuse(review.message, HostDecision.block(_UNRECORDED))])
        if review.is_new:
            self._governor.record_event(
                review.action.session_id, "pin_answer", tool=review.action.tool, allowed=allowed, channel=CHANNEL
            )
        if not allowed:
            return Reaction(to_client=[self._refuse(review.message, self._explain_rejection(review))])
        if review.definition:
            pin = self._pins.book.find(review.what)
            if pin is None or pin.seen_digest != review.definition:
                swap = explain_swap(self._governor.server, review.what)
                return Reaction(to_client=[self._refuse(review.message, HostDecision.block(swap))])
        ruling = self._governor.decide(review.action)
        if ruling.decision.kind >= VerdictKind.ASK:
            return Reaction(to_client=[self._refuse(review.message, ruling.decision)])
        if review.is_new:
            self._pins.accept(review.what, by=CHANNEL)
        return self._pass_request(review, is_approved=True, is_covered=ruling.is_covered, message=message)

    def _explain_rejection(self, review: RequestReview) -> HostDecision:
        """Return the block after a person's no. Where the policy asked, it is decided and recorded, with its reason."""
        decision = self._governor.decide(review.action).decision if review.is_policy_ask else HostDecision()
        if decision.kind is VerdictKind.BLOCK:
            return decision
        return HostDecision.block(explain_rejection(self._governor.server, review.what))

    def _ask_in_result(self, review: RequestReview, question: Mapping[str, Any]) -> Reaction:
        """Answer with `input_required`; the client repeats the request with the person's answer and our state."""
        params = review.message.params
        state = {
            "about": "call",
            "call": digest_call(review.message),
            "call_id": review.action.call_id,
            "is_policy_ask": review.is_policy_ask,
            "definition": review.definition,
            "state": params.get("requestState"),
            "responses": params.get("inputResponses"),
        }
        return self._build_input_request(review.message, question, state)

    def _build_input_request(self, message: Message, question: Mapping[str, Any], state: Mapping[str, Any]) -> Reaction:
        assert message.id is not None
        try:
            token = self._sealer.seal(stringify_big_integers(state))
        except McpError as error:
            return Reaction(to_client=[self._refuse(message, HostDecision.block(str(error)))])
        request = {"method": "elicitation/create", "params": {"mode": "form", **question}}
        result = {"resultType": "input_required", "inputRequests": {QUESTION_KEY: request}, "requestState": token}
        return Reaction(to_client=[build_result(message.id, result)])

    def _continue_request(self, review: RequestReview, token: str) -> Reaction:
        """Go on with a request that the client repeats with a state of ours."""
        message = review.message
        try:
            state = self._sealer.open(token, call=digest_call(message))
        except McpError as error:
            self._drop(str(error), message.method)
            return Reaction(to_client=[self._refuse(message, HostDecision.block(str(error)))])
        # The client may give the repetition another id; the question stands under the first one.
        review = review.with_call_id(state["call_id"])
        responses = message.params.get("inputResponses")
        answers = dict(responses) if isinstance(responses, Mapping) else {}
        allowed = is_allowed(answers.pop(QUESTION_KEY, None))
        if state["about"] == "request":
            return self._settle_wishes(review, state, allowed)
        if state["about"] == "approved":
            ruling = self._governor.decide(review.action)
            if ruling.decision.kind >= VerdictKind.ASK:
                return Reaction(to_client=[self._refuse(message, ruling.decision)])
            inner = restore_params(message, state["state"], answers)
            return self._pass_request(review, is_approved=True, is_covered=ruling.is_covered, message=inner)
        inner = restore_params(message, state["state"], state["responses"])
        asked = replace(review, is_policy_ask=state["is_policy_ask"], definition=state["definition"])
        return self._settle(asked, allowed, message=inner)

    def _settle_wishes(self, review: RequestReview, state: Mapping[str, Any], allowed: bool) -> Reaction:
        """Record what the person said about a server's wishes, and show them to the client if they may be."""
        message, result = review.message, state["result"]
        assert message.id is not None
        for call_id in state["wishes"].values():
            wish = replace(review.action, call_id=call_id)
            if not self._governor.record_answer(wish, allowed=allowed):
                return Reaction(to_client=[self._refuse(message, HostDecision.block(_UNRECORDED))])
        if not allowed:
            return Reaction(to_client=[self._refuse(message, HostDecision.block(WISH_REJECTED))])
        decision, _ = self._decide_wishes(result.get("inputRequests"), state["wishes"])
        if decision.kind >= VerdictKind.ASK:
            return Reaction(to_client=[self._refuse(message, decision)])
        return Reaction(to_client=[build_result(message.id, self._mark_approved(result, message, review.action))])

    def _mark_approved(self, result: Mapping[str, Any], message: Message, action: Action) -> dict[str, Any]:
        """Return a server's `input_required` with our state around its own: the call is not asked about again."""
        body = {"about": "approved", "call": digest_call(message), "call_id": action.call_id}
        return {
            **result,
            "requestState": self._sealer.seal(stringify_big_integers(body | {"state": result.get("requestState")})),
        }

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
            self._drop("a server's answer that nothing asked for", str(message.id))
            return Reaction()
        if isinstance(message.result, Mapping) and message.result.get("resultType") == "input_required":
            return self._review_input_requests(message, pending)
        if pending.message.method == "tools/list":
            return Reaction(to_client=[self._screen_tools(message)])
        if pending.action is not None:
            return self._finish_call(message, pending)
        if pending.message.method == "initialize":
            self._note_server(message.result)
        return Reaction(to_client=[message])

    def _handle_server_request(self, message: Message) -> Reaction:
        assert message.id is not None
        if len(self._server_requests) >= MAX_PENDING or message.id in self._server_requests:
            error = build_error(message.id, INVALID_REQUEST, "expected an id that is not in use, and fewer requests")
            return Reaction(to_server=[error])
        if message.method not in _SERVER_REQUESTS:
            self._server_requests.add(message.id)
            return Reaction(to_client=[message])
        decision, action = self._decide_wish(message.method, message.params)
        if decision.kind is VerdictKind.BLOCK:
            return Reaction(to_server=[build_error(message.id, REFUSED, decision.full_text)])
        if decision.kind is not VerdictKind.ASK:
            return self._pass_wish(message, action)
        if not can_elicit(self._capabilities) or len(self._asks) >= MAX_ASKS:
            return Reaction(to_server=[build_error(message.id, REFUSED, refuse_unasked(decision).full_text)])

        def settle(allowed: bool) -> Reaction:
            is_recorded = self._governor.record_answer(action, allowed=allowed)
            if not allowed or not is_recorded:
                text = WISH_REJECTED if is_recorded else _UNRECORDED
                return Reaction(to_server=[build_error(message.id, REFUSED, f"{TEXT_MARK} {text}")])
            second, _ = self._decide_wish(message.method, message.params, action.call_id)
            if second.kind >= VerdictKind.ASK:
                return Reaction(to_server=[build_error(message.id, REFUSED, second.full_text)])
            return self._pass_wish(message, action)

        shown = shorten_json(message.params)
        question = build_question(explain_wish(self._governor.server, message.method), message.method, shown)
        return self._ask_by_request(question, None, settle)

    def _pass_wish(self, message: Message, action: Action) -> Reaction:
        """Pass a server's request on to the client; that is all that comes of it here."""
        assert message.id is not None
        self._server_requests.add(message.id)
        outcome = Outcome(success=True)
        return Reaction(to_client=[message], deferred=lambda: self._record_later(action, outcome))

    def _decide_wish(self, method: str, params: Mapping[str, Any], call_id: str = "") -> tuple[HostDecision, Action]:
        """Decide on what a server wants of the model or the person."""
        name = _SERVER_REQUESTS[method]
        hints = {} if name == "sampling" else _DECLARED_READS
        action = self._governor.build_action(name, {k: v for k, v in params.items() if k != "_meta"}, hints=hints)
        action = replace(action, call_id=call_id or action.call_id)
        decision = self._governor.decide(action).decision
        if name == "elicitation" and is_imitation(params):
            decision = HostDecision.block("a server's question must not look like one of verdikt's")
            self._governor.record_event("", "refused", tool=action.tool, reason=decision.reason)
        return decision, action

    def _decide_wishes(
        self, requests: object, call_ids: Mapping[str, str]
    ) -> tuple[HostDecision, dict[str, tuple[str, Action]]]:
        """Decide on the `inputRequests` of a result; return the strictest decision, and by key what is asked about."""
        strictest = HostDecision()
        asked: dict[str, tuple[str, Action]] = {}
        for key, request in requests.items() if isinstance(requests, Mapping) else ():
            method = request.get("method") if isinstance(request, Mapping) else ""
            params = request.get("params", {}) if isinstance(request, Mapping) else {}
            if method not in _SERVER_REQUESTS or not isinstance(params, Mapping):
                continue
            decision, action = self._decide_wish(method, params, call_ids.get(key, ""))
            if decision.kind is VerdictKind.BLOCK:
                return decision, {}
            if decision.kind is VerdictKind.ASK:
                strictest, asked[key] = decision, (method, action)
        return strictest, asked

    def _review_input_requests(self, message: Message, pending: PendingRequest) -> Reaction:
        """Decide on what a server of the new era wants before it answers; all of it passes, or nothing."""
        result = message.result
        decision, asked = self._decide_wishes(result.get("inputRequests"), {})
        if decision.kind is VerdictKind.BLOCK:
            return Reaction(to_client=[self._refuse(pending.message, decision)])
        if not asked:
            if not pending.is_approved or pending.action is None:
                return Reaction(to_client=[message])
            approved = self._mark_approved(result, pending.message, pending.action)
            return Reaction(to_client=[message.replace_result(approved)])
        meta = pending.message.params.get("_meta")
        if not can_elicit(meta.get(CAPABILITIES_KEY) if isinstance(meta, Mapping) else None):
            return Reaction(to_client=[self._refuse(pending.message, refuse_unasked(decision))])
        methods = ", ".join(dict.fromkeys(method for method, _ in asked.values()))
        shown = shorten_json(result.get("inputRequests"))
        question = build_question(explain_wish(self._governor.server, methods), methods, shown)
        state = {
            "about": "request",
            "call": digest_call(pending.message),
            "call_id": pending.action.call_id if pending.action is not None else "",
            "wishes": {key: action.call_id for key, (_, action) in asked.items()},
            "result": result,
        }
        return self._build_input_request(pending.message, question, state)

    def _screen_tools(self, message: Message) -> Message:
        """Return the list without the tools whose definition changed since it was accepted, and pin the others."""
        result = message.result
        tools = result.get("tools") if isinstance(result, Mapping) else None
        if not isinstance(tools, list):
            return message
        named: dict[str, Mapping[str, Any]] = {}
        for tool in tools:
            # Of two tools with one name, a client may show the first and call the second.
            if isinstance(tool, dict) and isinstance(tool.get("name"), str) and tool["name"] not in named:
                named[tool["name"]] = tool
        try:
            is_trusted = self._trust_first and self._pins.is_first_sight
            pins = self._pins.record_tools(list(named.values()), trust=is_trusted)
            if "nextCursor" not in result:
                self._pins.end_first_sight()
        except McpError as error:
            self._governor.record_event("", "refused", reason=str(error))
            return build_error(message.id, REFUSED, f"{TEXT_MARK} {error}")
        hidden = [name for name, pin in pins.items() if pin.state is PinState.CHANGED]
        hidden += [name for name in named if name not in pins]
        conspicuous = {name: list(pin.findings) for name, pin in pins.items() if pin.findings}
        if hidden or conspicuous:
            self._governor.record_event(
                "", "pins", hidden=sorted(hidden)[:100], findings=dict(list(conspicuous.items())[:100])
            )
        visible = [tool for name, tool in named.items() if name not in hidden]
        return message.replace_result({**result, "tools": visible})

    def _finish_call(self, message: Message, pending: PendingRequest) -> Reaction:
        """Record the outcome of a call, and add what the policy has to say about it to the result."""
        if pending.action is None or pending.is_covered:
            return Reaction(to_client=[message])
        action, outcome = pending.action, read_outcome(message)
        if not self._governor.has_feedback:
            # Nothing will be added, so the client need not wait for the log.
            return Reaction(to_client=[message], deferred=lambda: self._record_later(action, outcome))
        context = self._governor.record_outcome(action, outcome)
        content = message.result.get("content") if isinstance(message.result, Mapping) else None
        if not context or not isinstance(content, list):
            return Reaction(to_client=[message])
        block = {"type": "text", "text": context}
        return Reaction(to_client=[message.replace_result({**message.result, "content": [*content, block]})])

    def _record_later(self, action: Action, outcome: Outcome) -> None:
        self._governor.record_outcome_later(action, outcome)

    def sync_log(self) -> None:
        """Wait until what was deferred is on the disk."""
        self._governor.sync_log()

    def _note_server(self, result: object) -> None:
        info = result.get("serverInfo") if isinstance(result, Mapping) else None
        if not isinstance(info, Mapping):
            return
        now = f"{info.get('name', '')} {info.get('version', '')}"[:200]
        before = self._pins.note_server(now)
        if before:
            self._governor.record_event("", "server", before=before, now=now)

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
        self._drop(f"a message of the {side} that cannot be read", error)

    def _drop(self, what: str, detail: str) -> None:
        """Record that something was dropped; a flood of it is counted and not recorded line by line."""
        self._dropped += 1
        if self._dropped <= 20 or self._dropped % 1000 == 0:
            self._governor.record_event("", "dropped", what=what, detail=detail[:200], count=self._dropped)


def is_modern(message: Message) -> bool:
    """Whether a request belongs to the era without a handshake, in which each one names its version."""
    meta = message.params.get("_meta")
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_KEY in meta
