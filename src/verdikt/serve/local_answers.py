"""The one person's own answers: the embedded service as the place where its approval requests are answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verdikt.team.approval_wire import parse_request

if TYPE_CHECKING:
    from verdikt.model.approval import ApprovalState
    from verdikt.serve.machines import EnrolledMachine
    from verdikt.serve.service import Service


@dataclass(frozen=True, slots=True)
class LocalAnswers:
    """Asks the service in this process, without a network."""

    service: Service
    machine: EnrolledMachine

    def submit(self, fields: Mapping[str, Any]) -> None:
        """Store an approval request."""
        self.service.approvals.submit(self.machine, parse_request(fields), int(self.service.clock.now()))

    def read_answers(self, requests: Mapping[str, str], wait_seconds: float) -> tuple[Mapping[str, Any], float]:
        """Return what became of requests; the caller looks again by itself."""
        now = self.service.clock.now()
        return self.service.approvals.read_answers(self.machine, list(requests), int(now)), now

    def report(self, request: str, state: ApprovalState) -> None:
        """Note what became of a request."""
        self.service.approvals.report(self.machine, request, state, int(self.service.clock.now()))

    def verify_grant(self, grant: Mapping[str, Any], signature: str) -> bool:
        """Return that the grant comes from this very process."""
        return True
