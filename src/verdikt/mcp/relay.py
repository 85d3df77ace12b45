"""The relay: what becomes of each message between a client and a server, whichever transport carries it.

A message that came in leaves as a `Reaction`: messages for the server, messages for the client, and work that may wait
until they are sent. The relay passes on what it does not decide about, so that new methods keep working.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from verdikt.hosts.host_decision import TEXT_MARK, HostDecision
from verdikt.mcp.conversation import Conversation, refuse_request
from verdikt.mcp.input_required import is_input_required, keep_input_fields
from verdikt.mcp.message import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Message,
    MessageError,
    MessageKind,
    build_error,
    guess_response_id,
    refuse_lookalike_method,
)
from verdikt.mcp.question import is_allowed
from verdikt.mcp.reaction import PendingRequest, Reaction
from verdikt.mcp.request_decider import GOVERNED_METHODS, READ_METHODS, RequestDecider
from verdikt.mcp.request_review import read_outcome
from verdikt.mcp.running_tasks import TASK_METHODS, RunningTasks
from verdikt.mcp.sealed_state import StateSealer
from verdikt.mcp.server_wish import POLICY_NAMES, WISH_METHODS
from verdikt.mcp.tool_screening import screen_handshake, screen_tools
from verdikt.mcp.wish_decider import WishDecider
from verdikt.model.action import Outcome

if TYPE_CHECKING:
    from verdikt.mcp.call_governor import CallGovernor
    from verdikt.mcp.pin_store import ServerPins

UNRECORDED_CALL = "blocked: the decision on this call could not be recorded, so its result is withheld"


class Relay:
    """One conversation of a client with a server."""

    def __init__(
        self,
        governor: CallGovernor,
        pins: ServerPins,
        *,
        trust_first: bool = False,
        sealer: StateSealer | None = None,
        tasks: RunningTasks | None = None,
        prepare_calls: Callable[[], object] | None = None,
    ) -> None:
        """Relay one conversation; several of one server, as over HTTP, share `sealer` and `tasks`.

        `prepare_calls` loads what only calls need, once the client has its list of tools.
        """
        self._tasks = tasks or RunningTasks()
        self._prepare_calls = prepare_calls
        self._governor = governor
        self._pins = pins
        self._trust_first = trust_first
        self._conversation = Conversation(governor, sealer or StateSealer(governor.clock))
        self._wishes = WishDecider(governor, self._conversation)
        self._requests = RequestDecider(governor, pins, self._conversation, self._wishes)
        # Decisions are made one at a time: the two directions share the conversation.
        self._lock = threading.RLock()

    # From the client.

    @staticmethod
    def is_decided(message: Message) -> bool:
        """Whether a client's message waits for a decision."""
        return message.method == "tools/call" or message.method in READ_METHODS

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
                if message.kind is not MessageKind.REQUEST:
                    self._conversation.record_drop("a message of the client", str(error))
                    return Reaction()
                return Reaction(to_client=[build_error(message.id, error.code, str(error))])

    def _handle_client_request(self, message: Message) -> Reaction:
        method = message.method
        self._conversation.check_new_request(message)
        if method == "tools/call":
            return self._requests.review_tool_call(message)
        if method in READ_METHODS:
            return self._requests.review_read(message)
        refuse_lookalike_method(method, GOVERNED_METHODS, message.id)
        if method == "initialize":
            self._conversation.set_capabilities(message.params.get("capabilities"))
        return self._conversation.forward_request(PendingRequest(message=message))

    def _handle_client_notification(self, message: Message) -> Reaction:
        if message.method == "notifications/cancelled":
            withdrawal = self._conversation.cancel_question(message.params.get("requestId"))
            if withdrawal is not None:
                return withdrawal
            self._note_cancelled(message.params.get("requestId"))
        refuse_lookalike_method(message.method, GOVERNED_METHODS, None)
        if message.method in GOVERNED_METHODS:
            # Without an id there would be no answer that says no, and a server may run it all the same.
            self._conversation.record_drop("a request without an id", message.method)
            return Reaction()
        return Reaction(to_server=[message])

    def _handle_client_response(self, message: Message) -> Reaction:
        held = self._conversation.take_question(message)
        if held is not None:
            reaction = held.on_answer(is_allowed(message.result))
            reaction.ask_id = str(message.id)
            return reaction
        if not self._conversation.take_wish(message.id):
            self._conversation.record_drop("a client's answer that nothing asked for", str(message.id))
            return Reaction()
        return Reaction(to_server=[message])

    # From the server.

    def receive_from_server(self, message: Message) -> Reaction:
        """Return what becomes of a server's message."""
        with self._lock:
            if not self._governor.sync_decision(self._conversation.list_log_positions(message)):
                return self._withhold(message)
            if message.kind is MessageKind.RESPONSE:
                return self._handle_server_response(message)
            if message.kind is MessageKind.REQUEST:
                return self._handle_server_request(message)
            try:
                return self._handle_server_notification(message)
            except MessageError as error:
                self._conversation.record_drop("a notification of the server", str(error))
                return Reaction()

    def _withhold(self, message: Message) -> Reaction:
        """Keep a server's message from the client: the decision on the call that it is about could not be recorded."""
        self._conversation.record_drop("a message about a call that could not be recorded", message.method)
        if message.kind is MessageKind.REQUEST:
            return Reaction(to_server=[build_error(message.id, INTERNAL_ERROR, UNRECORDED_CALL)])
        pending = self._conversation.take_pending(message.id) if message.kind is MessageKind.RESPONSE else None
        return refuse_request(pending.message, HostDecision.block(UNRECORDED_CALL)) if pending else Reaction()

    def _handle_server_response(self, message: Message) -> Reaction:
        pending = self._conversation.take_pending(message.id)
        if pending is None:
            # A second result for one call, or one that was never asked for, would be taken for another call's.
            self._conversation.record_drop("a server's answer that nothing asked for", str(message.id))
            return Reaction()
        try:
            if is_input_required(message):
                # What is not screened otherwise passes with its wish, such as the state of a task.
                is_screened = pending.action is not None or pending.message.method == "tools/list"
                wish = keep_input_fields(message) if is_screened else message
                return self._wishes.review_input_requests(wish, pending)
        except MessageError as error:
            return Reaction(to_client=[build_error(message.id, error.code, str(error))])
        if "error" in message.body and (refusal := self._wishes.refuse_error(message, pending)):
            if pending.action is not None and not pending.is_covered:
                self._governor.record_outcome(pending.action, read_outcome(message))
            return refusal
        if pending.message.method == "tools/list":
            screened = screen_tools(message, pending.message, self._governor, self._pins, trust_first=self._trust_first)
            # Not sooner: on a busy machine it would hold up the connection. A call that comes first loads it itself.
            prepare, self._prepare_calls = self._prepare_calls, None
            return Reaction(to_client=[screened], deferred=prepare)
        if pending.action is not None:
            if self._tasks.add(message, pending):
                return Reaction(to_client=[message])
            return self._finish_call(message, pending)
        if pending.message.method in TASK_METHODS and (ended := self._tasks.take_ended(pending.message, message)):
            return self._finish_task(message, *ended)
        if pending.message.method in ("initialize", "server/discover"):
            message = screen_handshake(message, self._governor, self._pins, trust_first=self._trust_first)
        return Reaction(to_client=[message])

    def _handle_server_request(self, message: Message) -> Reaction:
        if not self._conversation.can_take_wish(message):
            error = build_error(message.id, INVALID_REQUEST, "expected an id that is not in use, and fewer requests")
            return Reaction(to_server=[error])
        if message.method not in POLICY_NAMES:
            try:
                refuse_lookalike_method(message.method, WISH_METHODS, message.id)
            except MessageError as error:
                return Reaction(to_server=[build_error(message.id, error.code, str(error))])
            return self._conversation.forward_wish(message)
        return self._wishes.review_request(message)

    def _handle_server_notification(self, message: Message) -> Reaction:
        if message.method == "notifications/cancelled":
            request_id = message.params.get("requestId")
            withdrawal = self._conversation.cancel_question(request_id, is_wish=True)
            self._conversation.take_wish(request_id)
            return withdrawal or Reaction(to_client=[message])
        refuse_lookalike_method(message.method, WISH_METHODS, None)
        if message.method in WISH_METHODS:
            # Without an id no answer could say no, and a client may act on it all the same.
            self._conversation.record_drop("a wish without an id", message.method)
            return Reaction()
        return self._wishes.review_notification(message)

    def _finish_call(self, message: Message, pending: PendingRequest) -> Reaction:
        """Record the outcome of a call, and add what the policy has to say about it to the result."""
        if pending.action is None or pending.is_covered:
            return Reaction(to_client=[message])
        action = pending.action
        if not self._governor.has_feedback:
            # Nothing will be added, so the client need not wait for the log.
            return Reaction(
                to_client=[message],
                deferred=lambda: self._governor.record_outcome_later(action, read_outcome(message)),
            )
        context = self._governor.record_outcome(action, read_outcome(message))
        content = message.result.get("content") if isinstance(message.result, Mapping) else None
        if not context or not isinstance(content, list):
            return Reaction(to_client=[message])
        block = {"type": "text", "text": context}
        return Reaction(to_client=[message.replace_result({**message.result, "content": [*content, block]})])

    def _finish_task(self, message: Message, pending: PendingRequest, end: Message) -> Reaction:
        """Record the outcome of a call that ran as a task; its result arrives with another request."""
        reaction = self._finish_call(end, pending)
        if end is not message:
            # The result of the call stands inside the state of its task, or nowhere.
            has_result = isinstance(message.result.get("result"), Mapping)
            result = {**message.result, "result": reaction.to_client[0].result} if has_result else message.result
            reaction.to_client = [message.replace_result(result)]
        return reaction

    def _note_cancelled(self, request_id: object) -> None:
        """Forget a request that the client cancels: no answer is due, and one that still comes is dropped."""
        pending = self._conversation.retire_request(request_id)
        if pending is not None and pending.action is not None and not pending.is_covered:
            outcome = Outcome(success=False, error="the client cancelled the call; what came of it is not known")
            self._governor.record_outcome(pending.action, outcome)

    def abandon_question(self, ask_id: str) -> None:
        """Give up a question that no answer can reach any more: a late yes runs nothing."""
        with self._lock:
            self._conversation.drop_question(ask_id)

    def abandon_request(self, message: Message | None) -> None:
        """Give up a request that the server did not answer: the client may send it again, after a login perhaps."""
        with self._lock:
            pending = self._conversation.take_pending(message.id) if message is not None else None
        if pending is not None and pending.action is not None and not pending.is_covered:
            outcome = Outcome(success=False, error="the server did not answer")
            self._governor.record_outcome(pending.action, outcome)

    def reject_broken(self, line: bytes | None, error: str) -> Reaction:
        """Record a server's message that cannot be decoded; return an error for the request that it would answer."""
        with self._lock:
            self.note_broken("server", error)
            request_id = guess_response_id(line) if line is not None else None
            if request_id is None or self._conversation.take_pending(request_id) is None:
                return Reaction()
            text = f"{TEXT_MARK} the server's answer cannot be read: {error}"
            return Reaction(to_client=[build_error(request_id, INTERNAL_ERROR, text)])

    def note_broken(self, side: str, error: str) -> None:
        """Record a message of one side that could not be decoded and was dropped."""
        self._conversation.record_drop(f"a message of the {side} that cannot be read", error)

    # The log.

    def sync_log(self) -> None:
        """Wait until what was deferred is on the disk."""
        self._governor.sync_log()

    def record_failure(self, error: BaseException) -> None:
        """Note in the crash file what ended the relay itself."""
        self._governor.record_failure(error)

    def close(self) -> None:
        """Write what was deferred, and close the log."""
        self._governor.close()
