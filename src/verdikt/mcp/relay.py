"""The relay: what becomes of each message between a client and a server, whichever transport carries it.

A message that came in leaves as a `Reaction`: messages for the server, messages for the client, and work that may wait
until they are sent. The relay passes on what it does not decide about, so that new methods keep working.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from json import dumps
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from verdikt.errors import McpError
from verdikt.hosts.host_decision import TEXT_MARK, HostDecision
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
from verdikt.mcp.sealed_state import STATE_PREFIX, StateSealer
from verdikt.mcp.tool_pin import PinState, ToolPin, build_hints
from verdikt.model.action import Action, Outcome
from verdikt.model.canonical_json import hash_canonical, stringify_big_integers
from verdikt.model.verdict import VerdictKind

if TYPE_CHECKING:
    from verdikt.mcp.call_governor import CallGovernor, CallRuling
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
_MAX_OUTPUT_LENGTH = 1024 * 1024
_MAX_SHOWN_ARGUMENTS = 600


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
        refusal = _explain_pin(pin, tool, self._governor.server)
        if refusal:
            self._governor.record_event("", "refused", tool=tool, reason=refusal)
            return Reaction(to_client=[self._refuse(message, HostDecision.block(refusal))])
        action = self._governor.build_action(tool, arguments, hints=build_hints(pin), meta=params.get("_meta"))
        review = _Review(message=message, action=action, what=tool, shown=_shorten_json(arguments), is_new=_is_new(pin))
        return self._decide_request(review)

    def _review_read(self, message: Message) -> Reaction:
        name = _READ_METHODS[message.method]
        payload = {key: value for key, value in message.params.items() if key != "_meta"}
        action = self._governor.build_action(name, payload, hints=_DECLARED_READS)
        review = _Review(message=message, action=action, what=message.method, shown=_shorten_json(payload))
        return self._decide_request(review)

    def _decide_request(self, review: _Review) -> Reaction:
        """Decide a request of the client, by itself or with the answer that it carries to an earlier question."""
        message = review.message
        state = message.params.get("requestState")
        if isinstance(state, str) and state.startswith(STATE_PREFIX):
            return self._continue_request(review, state)
        ruling = self._governor.decide(review.action)
        if ruling.decision.kind is VerdictKind.BLOCK:
            return Reaction(to_client=[self._refuse(message, ruling.decision)])
        # Also where the hook has decided: it knows nothing of definitions.
        if review.is_new:
            ruling = replace(ruling, decision=_require_acceptance(ruling.decision, review, self._governor.server))
        if ruling.decision.kind is VerdictKind.ASK:
            return self._ask_client(review, ruling)
        return self._pass_request(review, is_covered=ruling.is_covered)

    def _pass_request(
        self, review: _Review, *, is_approved: bool = False, is_covered: bool = False, message: Message | None = None
    ) -> Reaction:
        is_call = review.message.method == "tools/call"
        pending = PendingRequest(
            message=message or review.message,
            action=review.action if is_call else None,
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

    def _ask_client(self, review: _Review, ruling: CallRuling) -> Reaction:
        """Ask a person through the client, in the way of its era; refuse where no person can be asked."""
        message = review.message
        modern = is_modern(message)
        meta = message.params.get("_meta")
        capabilities = meta.get(CAPABILITIES_KEY) if modern and isinstance(meta, Mapping) else self._capabilities
        if not can_elicit(capabilities) or len(self._asks) >= MAX_ASKS:
            return Reaction(to_client=[self._refuse(message, _refuse_unasked(ruling.decision))])
        question = build_question(ruling.decision.reason, review.what, review.shown)
        if modern:
            return self._ask_in_result(review, ruling, question)

        def settle(allowed: bool) -> Reaction:
            return self._settle(review, ruling, allowed)

        return self._ask_by_request(question, review.message.id, settle)

    def _ask_by_request(
        self, question: Mapping[str, Any], request_id: RequestId | None, on_answer: Callable[[bool], Reaction]
    ) -> Reaction:
        # Unguessable, so that a server cannot have the client answer in our place.
        ask_id = f"verdikt-{token_hex(16)}"
        self._asks[ask_id] = HeldRequest(request_id=request_id if request_id is not None else "", on_answer=on_answer)
        return Reaction(to_client=[build_request(ask_id, "elicitation/create", question)], ask_id=ask_id)

    def _settle(self, review: _Review, ruling: CallRuling, allowed: bool, message: Message | None = None) -> Reaction:
        """Do what the person said, unless the policy has become stricter meanwhile."""
        self._record_answer(review, ruling.receipt, allowed)
        if not allowed:
            text = "a person was asked and did not allow this.\nInstead: leave it, or do it another way"
            return Reaction(to_client=[self._refuse(review.message, HostDecision.block(text))])
        second = self._governor.decide_again(review.action, ruling.policy)
        if second is not None and second.decision.kind is VerdictKind.BLOCK:
            return Reaction(to_client=[self._refuse(review.message, second.decision)])
        if review.is_new:
            self._pins.accept(str(review.message.params["name"]), by="elicitation")
        return self._pass_request(review, is_approved=True, is_covered=ruling.is_covered, message=message)

    def _record_answer(self, review: _Review, receipt: str, allowed: bool) -> None:
        self._governor.record_event(
            review.action.session_id,
            "answer",
            tool=review.action.tool,
            allowed=allowed,
            channel="elicitation",
            receipt=receipt,
            call_id=review.action.call_id,
        )

    def _ask_in_result(self, review: _Review, ruling: CallRuling, question: Mapping[str, Any]) -> Reaction:
        """Answer with `input_required`; the client repeats the request with the person's answer and our state."""
        params = review.message.params
        state = {
            "about": "call",
            "call": _digest_call(review.message),
            "receipt": ruling.receipt,
            "policy": ruling.policy,
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

    def _continue_request(self, review: _Review, token: str) -> Reaction:
        """Go on with a request that the client repeats with a state of ours."""
        message = review.message
        try:
            state = self._sealer.open(token, call=_digest_call(message))
        except McpError as error:
            self._drop(str(error), message.method)
            return Reaction(to_client=[self._refuse(message, HostDecision.block(str(error)))])
        responses = message.params.get("inputResponses")
        answers = dict(responses) if isinstance(responses, Mapping) else {}
        allowed = is_allowed(answers.pop(QUESTION_KEY, None))
        ruling = self._governor.restore_ruling(receipt=state["receipt"], policy=state["policy"])
        if state["about"] == "approved":
            inner = _restore_params(message, state["state"], answers)
            second = self._governor.decide_again(review.action, ruling.policy)
            if second is not None and second.decision.kind is VerdictKind.BLOCK:
                return Reaction(to_client=[self._refuse(message, second.decision)])
            return self._pass_request(review, is_approved=True, message=inner)
        if state["about"] == "request":
            self._record_answer(review, state["receipt"], allowed)
            if not allowed:
                return Reaction(to_client=[self._refuse(message, HostDecision.block(_SERVER_WISH_DENIED))])
            assert message.id is not None
            return Reaction(to_client=[build_result(message.id, self._mark_approved(state["result"], message, state))])
        inner = _restore_params(message, state["state"], state["responses"])
        return self._settle(review, ruling, allowed, message=inner)

    def _mark_approved(self, result: Mapping[str, Any], message: Message, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return a server's `input_required` with our state around its own: the call is not asked about again."""
        body = {"about": "approved", "call": _digest_call(message), "receipt": state["receipt"]}
        body |= {"policy": state["policy"], "state": result.get("requestState")}
        return {**result, "requestState": self._sealer.seal(stringify_big_integers(body))}

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
        if pending.message.method == "tools/call":
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
        decision, ruling, action = self._decide_server_wish(message.method, message.params)
        if decision.kind is VerdictKind.BLOCK:
            return Reaction(to_server=[build_error(message.id, REFUSED, decision.full_text)])
        if decision.kind is not VerdictKind.ASK:
            self._server_requests.add(message.id)
            return Reaction(to_client=[message])
        if not can_elicit(self._capabilities) or len(self._asks) >= MAX_ASKS:
            return Reaction(to_server=[build_error(message.id, REFUSED, _refuse_unasked(decision).full_text)])
        review = _Review(message=message, action=action, what=message.method, shown=_shorten_json(message.params))

        def settle(allowed: bool) -> Reaction:
            self._record_answer(review, ruling.receipt, allowed)
            if not allowed:
                return Reaction(to_server=[build_error(message.id, REFUSED, f"{TEXT_MARK} {_SERVER_WISH_DENIED}")])
            assert message.id is not None
            self._server_requests.add(message.id)
            return Reaction(to_client=[message])

        question = build_question(_explain_wish(self._governor.server, message.method), review.what, review.shown)
        return self._ask_by_request(question, None, settle)

    def _decide_server_wish(self, method: str, params: Mapping[str, Any]) -> tuple[HostDecision, CallRuling, Action]:
        """Decide on what a server wants of the model or the person."""
        name = _SERVER_REQUESTS[method]
        hints = {} if name == "sampling" else _DECLARED_READS
        action = self._governor.build_action(name, {k: v for k, v in params.items() if k != "_meta"}, hints=hints)
        ruling = self._governor.decide(action)
        decision = ruling.decision
        if name == "elicitation" and is_imitation(params):
            decision = HostDecision.block("a server's question must not look like one of verdikt's")
            self._governor.record_event("", "refused", tool=action.tool, reason=decision.reason)
        return decision, ruling, action

    def _review_input_requests(self, message: Message, pending: PendingRequest) -> Reaction:
        """Decide on what a server of the new era wants before it answers; all of it passes, or nothing."""
        result = message.result
        requests = result.get("inputRequests")
        ask: tuple[HostDecision, CallRuling, Action, str] | None = None
        for request in requests.values() if isinstance(requests, Mapping) else ():
            method = request.get("method") if isinstance(request, Mapping) else ""
            params = request.get("params", {}) if isinstance(request, Mapping) else {}
            if method not in _SERVER_REQUESTS or not isinstance(params, Mapping):
                continue
            decision, ruling, action = self._decide_server_wish(method, params)
            if decision.kind is VerdictKind.BLOCK:
                return Reaction(to_client=[self._refuse(pending.message, decision)])
            if decision.kind is VerdictKind.ASK:
                ask = decision, ruling, action, method
        state = {"receipt": ask[1].receipt if ask else "", "policy": self._governor.policy_digest}
        if ask is None:
            if not pending.is_approved:
                return Reaction(to_client=[message])
            return Reaction(to_client=[message.replace_result(self._mark_approved(result, pending.message, state))])
        capabilities = pending.message.params.get("_meta", {}).get(CAPABILITIES_KEY)
        if not can_elicit(capabilities):
            return Reaction(to_client=[self._refuse(pending.message, _refuse_unasked(ask[0]))])
        question = build_question(_explain_wish(self._governor.server, ask[3]), ask[3], _shorten_json(requests))
        state |= {"about": "request", "call": _digest_call(pending.message), "result": result}
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
            pins = self._pins.record_tools(list(named.values()), trust=self._trust_first and self._pins.is_first_sight)
        except McpError as error:
            self._governor.record_event("", "refused", reason=str(error))
            return build_error(message.id, REFUSED, f"{TEXT_MARK} {error}")
        if "nextCursor" not in result:
            self._pins.is_first_sight = False
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
        action, outcome = pending.action, _read_outcome(message)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Review:
    """A request under review, with the words in which a person is asked about it."""

    message: Message
    action: Action
    what: str
    shown: str
    is_new: bool = False


_SERVER_WISH_DENIED = "a person was asked about what the server wants and did not allow it"


def is_modern(message: Message) -> bool:
    """Whether a request belongs to the era without a handshake, in which each one names its version."""
    meta = message.params.get("_meta")
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_KEY in meta


def _is_new(pin: ToolPin | None) -> bool:
    return pin is not None and pin.state is PinState.NEW


def _explain_pin(pin: ToolPin | None, tool: str, server: str) -> str:
    """Return why a tool must not be called at all; empty when it may be decided on."""
    if pin is None:
        return (
            f"blocked (pin): `{tool}` was never listed by the server `{server}`\n"
            "Instead: list the tools and call one of them"
        )
    if pin.state is PinState.CHANGED:
        return (
            f"blocked (pin): the definition of `{tool}` changed since it was reviewed\n"
            f"Instead: use another tool; a person can look at the change with `verdikt mcp pins {server}`"
        )
    return ""


def _require_acceptance(decision: HostDecision, review: _Review, server: str) -> HostDecision:
    """Return an ask for a tool that no person has accepted yet."""
    if decision.kind is VerdictKind.ASK:
        return decision
    reason = (
        f"{TEXT_MARK} wants a person to confirm this (pin): `{review.what}` of the server `{server}` is used for the "
        f"first time\nInstead: have a person accept it: `verdikt mcp pins accept {server} {review.what}`"
    )
    return HostDecision(kind=VerdictKind.ASK, reason=reason, context=decision.context)


def _refuse_unasked(decision: HostDecision) -> HostDecision:
    note = "No person can be asked through this client, so this counts as a block."
    return HostDecision(kind=VerdictKind.BLOCK, reason=f"{decision.reason}\n{note}", context=decision.context)


def _explain_wish(server: str, method: str) -> str:
    wish = "have the model write something for it" if method == "sampling/createMessage" else f"use `{method}`"
    return f"The server `{server}` wants to {wish}."


def _digest_call(message: Message) -> str:
    """Return what identifies a call, without its id, its metadata and what a repetition adds."""
    params = {
        key: value for key, value in message.params.items() if key not in ("_meta", "inputResponses", "requestState")
    }
    return hash_canonical(stringify_big_integers([message.method, params]))


def _restore_params(message: Message, state: object, responses: object) -> Message:
    """Return a repeated request as the server must see it: with its own state and answers, without ours."""
    params = {key: value for key, value in message.params.items() if key not in ("inputResponses", "requestState")}
    if state is not None:
        params["requestState"] = state
    if responses:
        params["inputResponses"] = responses
    return message.replace_params(params)


def _read_outcome(message: Message) -> Outcome:
    result = message.result
    if not isinstance(result, Mapping):
        error = message.body.get("error")
        return Outcome(success=False, error=str(error.get("message", "") if isinstance(error, Mapping) else "")[:4000])
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("text"), str)]
    text = "\n".join(texts)[:_MAX_OUTPUT_LENGTH]
    failed = result.get("isError") is True
    return Outcome(success=not failed, output="" if failed else text, error=text if failed else "")


def _shorten_json(value: object) -> str:
    text = dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN_ARGUMENTS else f"{text[:_MAX_SHOWN_ARGUMENTS]}…"
