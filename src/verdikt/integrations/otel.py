"""OpenTelemetry: `TracedGovernance` gives every adapter spans and metrics, as children of the span around the call.

    agent = create_agent(model, tools, middleware=[VerdiktMiddleware(TracedGovernance.load())])

Needs the API only; what becomes of the spans is the business of the program's own OpenTelemetry SDK. Telemetry neither
decides nor delays: spans are made in a thread of their own, and are dropped when it cannot keep up.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from functools import partial
from queue import Full, Queue
from typing import TYPE_CHECKING, Any

from verdikt.govern import Governance
from verdikt.integrations.otel_spans import (
    ANSWER_EVENT,
    ASKS_METRIC,
    DECISIONS_METRIC,
    DURATION_METRIC,
    SCOPE,
    CallRecord,
    DecisionRecord,
    SpanRecord,
    describe_answer,
    describe_outcome,
    describe_prompt,
    describe_stop,
)
from verdikt.integrations.sdk_import import import_sdk

if TYPE_CHECKING:
    from verdikt.model.action import Action, Outcome
    from verdikt.model.hook_message import Answer, Prompt, Turn
    from verdikt.model.posture import Posture
    from verdikt.model.standing_ask import StandingAsk
    from verdikt.model.verdict import Decision

_EXTRA = "otel"
_MAX_QUEUED = 2048
"""Number of spans that wait for the thread; more are dropped."""

_EXIT_SECONDS = 2.0
"""How long the end of the program waits for spans that are still queued."""


class Meters:
    """The metrics of verdikt at one meter provider."""

    def __init__(self, provider: Any = None) -> None:
        meter = import_sdk("opentelemetry.metrics", _EXTRA).get_meter(SCOPE, meter_provider=provider)
        self._decisions = meter.create_counter(DECISIONS_METRIC, "{decision}", "Decisions by verdict, guard and moment")
        self._duration = meter.create_histogram(DURATION_METRIC, "s", "Time that a decision took")
        self._asks = meter.create_counter(ASKS_METRIC, "{ask}", "Asks put to a person, and their answers")

    def count_decision(self, verdict: str, guard: str, moment: str, seconds: float | None = None) -> None:
        """Count a decision, with the time it took if that is known."""
        self._decisions.add(1, {"verdict": verdict, "guard": guard, "moment": moment})
        if seconds is not None:
            self._duration.record(max(0.0, seconds), {"verdict": verdict, "moment": moment})
        if verdict == "ask":
            self._asks.add(1, {"answer": "pending"})

    def count_answer(self, approved: bool) -> None:
        """Count a person's answer."""
        self._asks.add(1, {"answer": "approved" if approved else "rejected"})


class Telemetry:
    """Makes spans and metrics in a thread of its own. Nothing in it raises or waits for an exporter."""

    def __init__(self, tracer_provider: Any = None, meter_provider: Any = None) -> None:
        """Use these providers, by default the global ones."""
        self._tracer = import_sdk("opentelemetry.trace", _EXTRA).get_tracer(SCOPE, tracer_provider=tracer_provider)
        self._get_context: Callable[[], Any] = import_sdk("opentelemetry.context", _EXTRA).get_current
        self.meters = Meters(meter_provider)
        self._queue: Queue[Callable[[], None] | None] = Queue(_MAX_QUEUED)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.dropped_count = 0
        atexit.register(self.close)

    def emit(self, build: Callable[[], SpanRecord], count: Callable[[], None] = lambda: None) -> None:
        """Let the thread build a span, in the context of the caller, and count it."""
        try:
            self._queue.put_nowait(partial(self._end_span, build, count, self._get_context()))
            self._ensure_thread()
        except Full:
            self.dropped_count += 1
        except Exception:
            self.dropped_count += 1  # no thread can be started, or a context of another version

    def flush(self, timeout_seconds: float = 30.0) -> bool:
        """Wait until the spans so far are made; return whether they are."""
        is_done = threading.Event()
        try:
            self._queue.put(is_done.set, timeout=timeout_seconds)
            self._ensure_thread()
        except (Full, RuntimeError):
            return False
        return is_done.wait(timeout_seconds)

    def close(self, timeout_seconds: float = _EXIT_SECONDS) -> None:
        """Let the thread make the spans so far, and end; it is not waited for much longer than it takes."""
        atexit.unregister(self.close)
        thread = self._thread
        if thread is not None and self.flush(timeout_seconds):
            self._queue.put(None)
            thread.join(timeout_seconds)

    def _end_span(self, build: Callable[[], SpanRecord], count: Callable[[], None], context: Any) -> None:
        record = build()
        count()
        span = self._tracer.start_span(
            record.name, context=context, start_time=record.start, attributes=record.attributes
        )
        for name, attributes in record.events:
            span.add_event(name, attributes, timestamp=record.end)
        span.end(end_time=record.end)

    def _ensure_thread(self) -> None:
        # Also after a fork, in which the thread does not survive.
        if self._thread is not None and self._thread.is_alive():
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="verdikt-otel", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while (make_span := self._queue.get()) is not None:
            try:
                make_span()
            except Exception:
                self.dropped_count += 1  # an exporter that raises is no concern of the agent


class TracedGovernance(Governance):
    """A governance that tells OpenTelemetry what it decided; give it to any adapter as `governance`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Govern like `Governance`; replace `telemetry` to use other providers than the global ones."""
        super().__init__(*args, **kwargs)
        self.telemetry = Telemetry()

    def close(self) -> None:
        """Close like `Governance`, and let the spans so far be made."""
        super().close()
        self.telemetry.close()

    def prompt(self, prompt: Prompt) -> Answer:
        """Record like `Governance.prompt`; a span `verdikt.prompt`."""
        started = self._now()
        answer = super().prompt(prompt)
        ended = self._now()
        attributes = describe_prompt(CallRecord(session=prompt.session_id, host=prompt.host, agent=prompt.agent))
        self.telemetry.emit(lambda: SpanRecord("verdikt.prompt", started, ended, attributes))
        return answer

    def before(self, action: Action, *, posture: Posture | None = None, is_asked_away: bool = False) -> Decision:
        """Decide like `Governance.before`; a span `verdikt.before`."""
        started = self._now()
        decision = super().before(action, posture=posture, is_asked_away=is_asked_away)
        ended, verdict = self._now(), decision.verdict
        self.telemetry.emit(
            lambda: _build_before(action, decision, self.policy.digest, started, ended),
            lambda: self.telemetry.meters.count_decision(
                verdict.kind.word, verdict.guard, "before", (ended - started) / 1e9
            ),
        )
        return decision

    def after(self, action: Action, outcome: Outcome) -> Answer:
        """Record like `Governance.after`; a span `verdikt.after`."""
        started = self._now()
        answer = super().after(action, outcome)
        ended = self._now()
        attributes = describe_outcome(outcome.success, _build_call(action))
        self.telemetry.emit(lambda: SpanRecord("verdikt.after", started, ended, attributes))
        return answer

    def stop(self, turn: Turn) -> Answer:
        """Decide like `Governance.stop`; a span `verdikt.stop`."""
        started = self._now()
        answer = super().stop(turn)
        ended, verdict = self._now(), "pass" if answer.allowed else "block"
        call = CallRecord(session=turn.session_id, host=turn.host)
        self.telemetry.emit(
            lambda: SpanRecord("verdikt.stop", started, ended, describe_stop(verdict, answer.guard, call)),
            lambda: self.telemetry.meters.count_decision(
                verdict, answer.guard or "verdikt", "stop", (ended - started) / 1e9
            ),
        )
        return answer

    def record_answer(
        self, session_id: str, call_id: str, *, approved: bool, by: str = "", channel: str = ""
    ) -> StandingAsk:
        """Record like `Governance.record_answer`; a span `verdikt.answer` with the event of that name."""
        started = self._now()
        ask = super().record_answer(session_id, call_id, approved=approved, by=by, channel=channel)
        ended, answer = self._now(), describe_answer(ask.approved is True, ask.channel)
        attributes = answer | {"verdikt.receipt": ask.receipt} | CallRecord("", call_id, session_id).to_attributes()
        self.telemetry.emit(
            lambda: SpanRecord("verdikt.answer", started, ended, attributes, ((ANSWER_EVENT, answer),)),
            lambda: self.telemetry.meters.count_answer(ask.approved is True),
        )
        return ask

    def _now(self) -> int:
        return int(self.clock.now() * 1_000_000) * 1_000


def _build_call(action: Action) -> CallRecord:
    return CallRecord(action.tool, action.call_id, action.session_id, action.host, action.agent)


def _build_before(action: Action, decision: Decision, policy: str, started: int, ended: int) -> SpanRecord:
    verdict, standing = decision.verdict, decision.standing
    record = DecisionRecord(
        verdict=verdict.kind.word,
        guard=verdict.guard,
        red_line=verdict.red_line,
        dominant=str(decision.dominant or ""),
        posture=str(decision.posture),
        policy=policy,
        receipt=decision.receipt.sha256,
        approved=standing.approved if standing is not None else None,
        channel=standing.channel if standing is not None else "",
        call=_build_call(action),
    )
    return SpanRecord("verdikt.before", started, ended, record.to_attributes(), record.list_events())
