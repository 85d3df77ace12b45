"""Carry approval requests to the people who answer them, and the answers into the log, where the next hook looks."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from verdikt.errors import LedgerError, ServiceError
from verdikt.ledger.approval_outbox import list_announced, mark_submitted, withdraw_request
from verdikt.ledger.approval_policy import PolicyWatch
from verdikt.ledger.approvals import count_calls, describe_request, read_request_state, record_approval
from verdikt.model.approval import ApprovalState, parse_need
from verdikt.ship.service_client import Refused
from verdikt.team.approval_wire import build_request_fields, encode_grant, find_grant_problem

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.ship.service_client import ServiceClient

_LOGGER = logging.getLogger("verdikt.ship")


class AnswerSource(Protocol):
    """Where people answer: a service over the network, or the one in this process."""

    def submit(self, fields: Mapping[str, Any]) -> None:
        """Hand over an approval request; the same one may be handed over again."""

    def read_answers(self, requests: Mapping[str, str], wait_seconds: float) -> tuple[Mapping[str, Any], float]:
        """Return what became of requests, and the time of the source's clock."""

    def report(self, request: str, state: ApprovalState) -> None:
        """Say that an approval was used, or is no longer needed."""

    def verify_grant(self, grant: Mapping[str, Any], signature: str) -> bool:
        """Return whether the source itself made this grant."""


@dataclass(frozen=True, slots=True)
class RemoteAnswers:
    """The service at which this machine is enrolled."""

    client: ServiceClient
    service_key: str
    """The public key that the service named when the machine enrolled."""

    def submit(self, fields: Mapping[str, Any]) -> None:
        """Send an approval request."""
        self.client.call("POST", "/v1/approvals", json.dumps(fields).encode())

    def read_answers(self, requests: Mapping[str, str], wait_seconds: float) -> tuple[Mapping[str, Any], float]:
        """Return what became of requests, after a wait for the next change."""
        body = {"requests": dict(requests), "wait": wait_seconds}
        answer = self.client.call("POST", "/v1/approval-answers", json.dumps(body).encode())
        answers, time = answer.get("answers"), answer.get("time")
        if not isinstance(answers, Mapping) or type(time) is not int:
            raise ServiceError("the service does not answer about approvals: upgrade it")
        return answers, float(time)

    def report(self, request: str, state: ApprovalState) -> None:
        """Tell the service what became of a request here."""
        self.client.call("POST", "/v1/approval-outcomes", json.dumps({"id": request, "state": state}).encode())

    def verify_grant(self, grant: Mapping[str, Any], signature: str) -> bool:
        """Return whether the key that was named at enrolment signed this."""
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.service_key))
            key.verify(bytes.fromhex(signature), encode_grant(grant))
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True


@dataclass
class ApprovalCourier:
    """Works through the outbox. One thread uses it at a time."""

    store: FileStore
    source: AnswerSource
    problems: dict[str, str] = field(default_factory=dict)
    """Request → why its answer was not taken."""
    _submitted: dict[str, int] = field(default_factory=dict)
    """Request → how often its call had been made when the source was told."""

    def __post_init__(self) -> None:
        self._policies = PolicyWatch(self.store)

    def deliver(self, wait_seconds: float = 0.0) -> bool:
        """Send what is asked, take what was answered, report what was used; return whether something still waits."""
        waiting: dict[str, str] = {}
        for id, session in list_announced(self.store.home).items():
            state = read_request_state(self.store, session, id)
            if state is ApprovalState.WAITING and self._policies.end_outdated(session, id):
                state = ApprovalState.CANCELLED
            if state is ApprovalState.WAITING and self._submit_request(session, id):
                waiting[id] = session
            elif state in (ApprovalState.USED, ApprovalState.CANCELLED):
                self._end_request(id, state)
            elif state is not ApprovalState.APPROVED:
                withdraw_request(self.store.home, id)
        if not waiting:
            return False
        states = dict.fromkeys(waiting, ApprovalState.WAITING.value)
        answers, service_time = self.source.read_answers(states, wait_seconds)
        offset = service_time - self.store.clock.now()
        for id, answer in answers.items():
            if id in waiting and isinstance(answer, Mapping):
                self._take_answer(waiting[id], id, answer, offset)
        return True

    def _submit_request(self, session: str, id: str) -> bool:
        """Send a request that was not sent yet or was repeated; return whether an answer can be waited for."""
        calls = count_calls(self.store, session, id)
        if self._submitted.get(id) == calls:
            return True
        request = describe_request(self.store, session, id)
        if request is None:
            withdraw_request(self.store.home, id)
            return False
        texts = request.pop("texts")
        try:
            self.source.submit(build_request_fields(request, texts))
        except Refused as error:
            if error.status != 422:
                raise
            # It would be refused again: the machine goes on with its other requests.
            self.problems[id] = str(error)
            withdraw_request(self.store.home, id)
            return False
        self._submitted[id] = calls
        mark_submitted(self.store.home, id)
        return True

    def _end_request(self, id: str, state: ApprovalState) -> None:
        self.source.report(id, state)
        withdraw_request(self.store.home, id)
        self._submitted.pop(id, None)
        self._policies.forget(id)

    def _take_answer(self, session: str, id: str, answer: Mapping[str, Any], offset: float) -> None:
        """Write an answer into the log after holding it against the request."""
        state = answer.get("state")
        if state == ApprovalState.EXPIRED:
            withdraw_request(self.store.home, id)
        if state not in (ApprovalState.APPROVED, ApprovalState.REFUSED):
            return
        request = describe_request(self.store, session, id)
        grant, signature = answer.get("grant"), answer.get("signature")
        if request is None or not isinstance(grant, Mapping) or not isinstance(signature, str):
            return
        document = request["document"]
        problem = find_grant_problem(
            grant,
            request=id,
            digest=request["digest"],
            machine=document["machine"]["id"],
            needs=[parse_need(need) for need in document["needs"]],
        )
        if not problem and not self.source.verify_grant(grant, signature):
            problem = "the grant is not signed by the service at which this machine is enrolled"
        if problem:
            self.problems[id] = problem
            _LOGGER.warning("approval %s: %s", id, problem)
            return
        self._record_answer(session, id, grant, signature, offset)

    def _record_answer(self, session: str, id: str, grant: Mapping[str, Any], signature: str, offset: float) -> None:
        counted = [vote for vote in grant["votes"] if vote.get("approved") is grant["approved"]]
        try:
            record_approval(
                self.store,
                session,
                id,
                digest=grant["digest"],
                approved=grant["approved"],
                by=[str(vote.get("name")) for vote in counted],
                reason=next((str(vote.get("reason")) for vote in counted if vote.get("reason")), ""),
                # By this machine's clock, which may differ from the service's.
                until=grant["not_after"] - offset,
                evidence={"grant": dict(grant), "signature": signature},
            )
        except LedgerError as error:
            # The terminal was faster, or the answer came too late.
            self.problems[id] = str(error)
            self._end_request(id, ApprovalState.CANCELLED)
            return
        self.problems.pop(id, None)
