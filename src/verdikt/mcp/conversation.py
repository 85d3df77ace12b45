"""What the two directions of one conversation share: the client's capabilities, open requests and open questions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from verdikt.errors import McpError
from verdikt.hosts.host_decision import HostDecision
from verdikt.mcp.input_required import build_input_required
from verdikt.mcp.message import (
    REFUSED,
    Message,
    MessageError,
    MessageKind,
    RequestId,
    build_error,
    build_notification,
    build_request,
    build_tool_refusal,
    is_request_id,
)
from verdikt.mcp.protocol_era import is_modern, read_capabilities
from verdikt.mcp.question import can_elicit
from verdikt.mcp.reaction import HeldRequest, PendingRequest, Reaction

if TYPE_CHECKING:
    from verdikt.mcp.call_governor import CallGovernor, LogPositions
    from verdikt.mcp.sealed_state import StateSealer

MAX_PENDING = 4096
"""Requests of one side that wait for an answer of the other."""

MAX_ASKS = 32
"""Questions that wait for a person at the same time."""

UNRECORDED = "a person was asked, and the answer could not be recorded"


class Conversation:
    """The open requests and questions of one client and one server. Not thread-safe: `Relay` holds a lock."""

    def __init__(self, governor: CallGovernor, sealer: StateSealer) -> None:
        self._governor = governor
        self._can_elicit = False
        self._pending: dict[RequestId, PendingRequest] = {}
        self._retired: OrderedDict[RequestId, None] = OrderedDict()
        """Requests that the client cancelled: a late answer must not be taken for that of another one."""
        self._wishes: set[RequestId] = set()
        self._questions: dict[str, HeldRequest] = {}
        self._dropped = 0
        self.sealer = sealer

    # Requests of the client.

    def check_new_request(self, message: Message) -> None:
        """Raise `MessageError` for a request whose id is in use, or that is one too many."""
        request_id = message.id
        is_held = self._find_question(request_id, is_wish=False)
        if request_id in self._pending or request_id in self._retired or is_held:
            raise MessageError("expected an id that is not in use, found one whose request still runs")
        if len(self._pending) >= MAX_PENDING:
            raise MessageError(f"expected at most {MAX_PENDING} requests at once, found more")

    def set_capabilities(self, capabilities: object) -> None:
        """Note what the client of the old era can do."""
        self._can_elicit = can_elicit(capabilities)

    def forward_request(self, pending: PendingRequest) -> Reaction:
        """Send a client's request to the server."""
        assert pending.message.id is not None
        self._pending[pending.message.id] = pending
        return Reaction(to_server=[pending.message])

    def list_log_positions(self, message: Message) -> LogPositions:
        """Return what must be on the disk before a server's message goes on: for a response, its own decision."""
        if message.kind is MessageKind.RESPONSE:
            pending = self._pending.get(message.id) if message.id is not None else None
            return pending.log_positions if pending is not None else ()
        return [position for pending in self._pending.values() for position in pending.log_positions]

    def take_pending(self, request_id: RequestId | None) -> PendingRequest | None:
        """Return the request that a response of the server answers, once; None when it answers none."""
        return self._pending.pop(request_id, None) if request_id is not None else None

    def retire_request(self, request_id: object) -> PendingRequest | None:
        """Return a request that the client cancels, and expect no answer to it; None when none runs under this id."""
        pending = self.take_pending(request_id) if is_request_id(request_id) else None
        if pending is not None and pending.message.id is not None:
            self._retired[pending.message.id] = None
            if len(self._retired) > MAX_PENDING:
                self._retired.popitem(last=False)
        return pending

    # Requests of the server.

    def can_take_wish(self, message: Message) -> bool:
        """Whether a server's request has an id that is free, and is not one too many."""
        is_open = message.id in self._wishes or self._find_question(message.id, is_wish=True)
        return len(self._wishes) < MAX_PENDING and not is_open

    def forward_wish(self, message: Message) -> Reaction:
        """Send a server's request to the client."""
        assert message.id is not None
        self._wishes.add(message.id)
        return Reaction(to_client=[message])

    def take_wish(self, request_id: object) -> bool:
        """Whether a request of the server is open under this id; true once for each."""
        is_open = is_request_id(request_id) and request_id in self._wishes
        if is_request_id(request_id):
            self._wishes.discard(request_id)
        return is_open

    # Questions to a person.

    def can_ask(self, message: Message | None = None) -> bool:
        """Whether a person can be asked through the client; a request of the new era says itself what it can do."""
        if not self._governor.is_attended or len(self._questions) >= MAX_ASKS:
            return False
        if message is not None and is_modern(message):
            return can_elicit(read_capabilities(message))
        return self._can_elicit

    def ask_by_request(
        self,
        question: Mapping[str, Any],
        request_id: RequestId | None,
        on_answer: Callable[[bool], Reaction],
        *,
        is_wish: bool = False,
    ) -> Reaction:
        """Ask in the way of the old era: a request to the client, while the one that it is about is held."""
        # Unguessable, so that a server cannot have the client answer in our place.
        ask_id = f"verdikt-{token_hex(16)}"
        self._questions[ask_id] = HeldRequest(request_id=request_id, is_wish=is_wish, on_answer=on_answer)
        return Reaction(to_client=[build_request(ask_id, "elicitation/create", question)], ask_id=ask_id)

    def ask_in_result(self, message: Message, question: Mapping[str, Any], state: Mapping[str, Any]) -> Reaction:
        """Answer with `input_required`; the client repeats the request with the person's answer and our state."""
        try:
            return Reaction(to_client=[build_input_required(self.sealer, message, question, state)])
        except McpError as error:
            return refuse_request(message, HostDecision.block(str(error)))

    def take_question(self, message: Message) -> HeldRequest | None:
        """Return what a client's response answers, if it answers a question of ours; once."""
        return self._questions.pop(message.id, None) if isinstance(message.id, str) else None

    def drop_question(self, ask_id: str) -> None:
        """Forget a question whose client is gone, or took too long."""
        self._questions.pop(ask_id, None)

    def cancel_question(self, request_id: object, *, is_wish: bool = False) -> Reaction | None:
        """Withdraw the question about a request that its sender cancels; None when there is none."""
        ask_id = self._find_question(request_id, is_wish=is_wish)
        if not ask_id:
            return None
        # The other side has never seen this request; only the person is still being asked about it.
        del self._questions[ask_id]
        params = {"requestId": ask_id, "reason": "the call was cancelled"}
        return Reaction(to_client=[build_notification("notifications/cancelled", params)], ask_id=ask_id)

    def _find_question(self, request_id: object, *, is_wish: bool) -> str:
        """Return the id of the question about a request of the client, or about a wish of the server; "" for none."""
        if not self._questions or not is_request_id(request_id):
            return ""  # `True` and `1.0` would be found under 1
        questions = self._questions.items()
        return next((key for key, held in questions if held.request_id == request_id and held.is_wish is is_wish), "")

    def record_drop(self, what: str, detail: str) -> None:
        """Record that something was dropped; a flood of it is counted and not recorded line by line."""
        self._dropped += 1
        if self._dropped <= 20 or self._dropped % 1000 == 0:
            self._governor.record_event("", "dropped", what=what, detail=detail[:200], count=self._dropped)


def refuse_request(message: Message, decision: HostDecision) -> Reaction:
    """Answer a client's request with the text of a decision; the server never sees the request."""
    assert message.id is not None
    if message.method == "tools/call":
        refusal = build_tool_refusal(message.id, decision.full_text, is_modern=is_modern(message))
    else:
        refusal = build_error(message.id, REFUSED, decision.full_text)
    return Reaction(to_client=[refusal])
