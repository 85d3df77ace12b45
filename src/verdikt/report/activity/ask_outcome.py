"""What became of each ask: a person let the call run, or it never ran."""

from collections.abc import Callable, Mapping
from typing import Any

from verdikt.model.action import describe_payload
from verdikt.report.activity.call_scope import CallScope, read_scope
from verdikt.report.activity.occurrence import Occurrence

APPROVED, NOT_RUN = "approved", "not_run"

MAX_OPEN_ASKS = 256
"""Asks of one turn that are followed at a time; the oldest of more than these counts as not run."""

AskReport = Callable[[str, Occurrence, CallScope, float | None], None]
"""(outcome, ask, what the call was about, seconds until the answer or None where the host does not tell)."""


class AskTracker:
    """Follows one session, and reports each ask with its outcome.

    A host does not report the answer itself: a call that was asked about and ran was approved. Until the turn ends, one
    that did not run may still wait for its answer.
    """

    def __init__(self, report: AskReport) -> None:
        self._report = report
        self._open: dict[tuple[str, str], tuple[Occurrence, CallScope]] = {}

    def add_decision(self, occurrence: Occurrence, receipt: Mapping[str, Any], call_id: str) -> None:
        """Note an ask."""
        action = receipt.get("action")
        if occurrence.verdict == "ask" and isinstance(action, Mapping):
            self._open[_identify_call(action, call_id)] = (occurrence, read_scope(receipt))
        if len(self._open) > MAX_OPEN_ASKS:
            self._report(NOT_RUN, *self._open.pop(next(iter(self._open))), None)

    def add_call(self, body: Mapping[str, Any], seconds: float) -> None:
        """Report the ask of a call that ran, as approved."""
        ask = self._open.pop(_identify_call(body, str(body.get("call_id") or "")), None)
        if ask is None:
            return
        occurrence, scope = ask
        duration = body.get("seconds")
        # Without the duration of the call, the time until its end says nothing about the time until the answer.
        is_known = isinstance(duration, int | float) and not isinstance(duration, bool)
        wait = max(0.0, seconds - occurrence.seconds - float(duration or 0)) if is_known else None
        self._report(APPROVED, occurrence, scope, wait)

    def end_turn(self) -> None:
        """Report what was asked and did not run."""
        for occurrence, scope in self._open.values():
            self._report(NOT_RUN, occurrence, scope, None)
        self._open = {}


def _identify_call(action: Mapping[str, Any], call_id: str) -> tuple[str, str]:
    """Return what a decision and the outcome of the same call have in common."""
    return str(action.get("tool", "")), call_id or describe_payload(action.get("payload"))
