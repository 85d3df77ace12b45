"""Spans and metrics of a traced governance: what they say, what they leave out, and that they hold nothing up."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from verdikt.integrations import otel
from verdikt.integrations.otel import Telemetry, TracedGovernance
from verdikt.integrations.tool_governor import ToolGovernor
from verdikt.model.action import Outcome
from verdikt.model.hook_message import Turn

POLICY = """
profile: none
completion: {checks: [{files: [report.md]}]}
rules:
  - {name: no_drops, command: drop, verdict: block, reason: secret reason, fix: archive it}
  - {name: deploys, command: deploy, verdict: ask, reason: it goes live, fix: wait for a release}
"""


class Scene:
    """A traced governance, and what its program's OpenTelemetry SDK got of it."""

    def __init__(self, directory: Path, exporter: SpanExporter) -> None:
        (directory / "governance.yaml").write_text(POLICY, encoding="utf-8")
        env = {"VERDIKT_HOME": str(directory / "data"), "HOME": str(directory)}
        self.governance = TracedGovernance.load(directory / "governance.yaml", env=env)
        self.exporter: Any = exporter
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(exporter))
        self.reader = InMemoryMetricReader()
        self.governance.telemetry = Telemetry(self.tracers, MeterProvider([self.reader]))
        self.governor = ToolGovernor(self.governance, {"sh": "bash"}, host="test", cwd=str(directory))

    def decide(self, command: str, call_id: str = "c1") -> Any:
        """Decide a command."""
        return self.governor.decide(self.build_action(command, call_id), can_ask=True)

    def build_action(self, command: str, call_id: str = "c1") -> Any:
        """Return a shell call."""
        return self.governor.build_action("sh", {"command": command}, call_id=call_id, session_id="thread-7")

    def list_spans(self) -> list[Any]:
        """Return the spans so far."""
        assert self.governance.telemetry.flush()
        return list(self.exporter.get_finished_spans())

    def read_metrics(self) -> dict[str, dict[tuple[Any, ...], float]]:
        """Return the points of each metric by the values of their attributes."""
        assert self.governance.telemetry.flush()
        data: Any = self.reader.get_metrics_data()
        metrics = data.resource_metrics[0].scope_metrics[0].metrics
        return {
            metric.name: {
                tuple(value for _, value in sorted(point.attributes.items())): getattr(point, "value", None)
                or getattr(point, "count", 0)
                for point in metric.data.data_points
            }
            for metric in metrics
        }


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Return a scene with an in-memory exporter."""
    scene = Scene(tmp_path, InMemorySpanExporter())
    yield scene
    scene.governance.close()


def test_decision_is_a_span_with_the_receipt_and_nothing_that_quotes_the_call(scene: Scene) -> None:
    """Verdict, guard, effect, posture, policy and the join key to the log; no argument, no reason, no error status."""
    ruling = scene.decide("drop the table")
    (span,) = scene.list_spans()

    assert span.name == "verdikt.before"
    assert dict(span.attributes) == {
        "verdikt.moment": "before",
        "verdikt.verdict": "block",
        "verdikt.guard": "no_drops",
        "verdikt.red_line": False,
        "verdikt.effect.dominant": span.attributes["verdikt.effect.dominant"],
        "verdikt.posture": "interactive",
        "verdikt.policy.digest": scene.governance.policy.digest,
        "verdikt.receipt": ruling.receipt,
        "verdikt.host": "test",
        "gen_ai.tool.name": "sh",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": "thread-7",
    }
    assert span.status.is_unset
    assert "drop the table" not in span.to_json()
    assert "secret reason" not in span.to_json()


def test_span_is_a_child_of_the_current_span_also_from_a_worker_thread(scene: Scene) -> None:
    """An async adapter decides in a thread, and the program's own span is around it all the same."""
    with scene.tracers.get_tracer("program").start_as_current_span("execute_tool sh"):
        asyncio.run(scene.governor.adecide(scene.build_action("ls"), can_ask=True))
    spans = {span.name: span for span in scene.list_spans()}

    assert spans["verdikt.before"].parent.span_id == spans["execute_tool sh"].context.span_id


def test_answer_is_an_event_with_its_channel(scene: Scene) -> None:
    """The answer itself, and the decision that goes by it."""
    scene.decide("deploy now")
    scene.governance.record_answer("thread-7", "c1", approved=True, by="bertha", channel="web")
    scene.decide("deploy now")
    asked, answer, approved = scene.list_spans()

    answered = {"verdikt.answer.approved": True, "verdikt.answer.channel": "web"}
    assert (asked.name, asked.attributes["verdikt.verdict"], asked.events) == ("verdikt.before", "ask", ())
    assert (answer.name, answer.attributes["verdikt.receipt"]) == (
        "verdikt.answer",
        asked.attributes["verdikt.receipt"],
    )
    for span in (answer, approved):
        assert [(event.name, dict(event.attributes)) for event in span.events] == [("verdikt.answer", answered)]
    assert approved.attributes["verdikt.verdict"] == "warn"
    assert "bertha" not in answer.to_json()


def test_outcome_and_refused_end_are_spans(scene: Scene) -> None:
    """After and stop."""
    scene.governance.after(scene.build_action("ls"), Outcome(success=False, output="no such file"))
    scene.governance.stop(Turn(session_id="thread-7", message="done", cwd=scene.governor.cwd))
    after, stop = scene.list_spans()

    assert (after.name, after.attributes["verdikt.success"]) == ("verdikt.after", False)
    assert (stop.name, stop.attributes["verdikt.verdict"]) == ("verdikt.stop", "block")


def test_request_is_a_span_without_its_text(scene: Scene) -> None:
    """The prompt moment, from any adapter; what the person wrote is not in it."""
    scene.governor.begin_turn("remove the customer table", session_id="thread-7")
    (span,) = scene.list_spans()

    assert span.name == "verdikt.prompt"
    assert dict(span.attributes) == {
        "verdikt.moment": "prompt",
        "verdikt.host": "test",
        "gen_ai.conversation.id": "thread-7",
    }
    assert "customer" not in span.to_json()


def test_metrics_count_decisions_asks_and_answers(scene: Scene) -> None:
    """By guard, moment and verdict; asks by answer."""
    scene.decide("ls", "c1")
    scene.decide("drop it", "c2")
    scene.decide("deploy now", "c3")
    scene.governance.record_answer("thread-7", "c3", approved=False)
    metrics = scene.read_metrics()

    assert metrics["verdikt.decisions"] == {
        ("rules", "before", "pass"): 1,
        ("no_drops", "before", "block"): 1,
        ("deploys", "before", "ask"): 1,
    }
    assert metrics["verdikt.asks"] == {("pending",): 1, ("rejected",): 1}
    assert metrics["verdikt.decision.duration"] == {("before", "pass"): 1, ("before", "block"): 1, ("before", "ask"): 1}


class StuckExporter(SpanExporter):
    """A collector that never answers, until the test lets go."""

    def __init__(self) -> None:
        self.is_released = threading.Event()
        self.is_called = threading.Event()

    def export(self, spans: Any) -> SpanExportResult:
        """Wait."""
        self.is_called.set()
        self.is_released.wait(60)
        return SpanExportResult.FAILURE


def test_collector_that_hangs_delays_no_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions go on while the exporter hangs; spans beyond the queue are dropped."""
    monkeypatch.setattr(otel, "_MAX_QUEUED", 2)
    exporter = StuckExporter()
    scene = Scene(tmp_path, exporter)
    scene.decide("ls", "c0")
    assert exporter.is_called.wait(60)

    verdicts = [scene.decide("drop it", f"c{number}").verdict.kind.word for number in range(1, 6)]

    assert verdicts == ["block"] * 5
    assert not exporter.is_released.is_set()
    assert scene.governance.telemetry.dropped_count == 3
    exporter.is_released.set()
    scene.governance.close()


class RaisingExporter(SpanExporter):
    """A collector whose client fails."""

    def export(self, spans: Any) -> SpanExportResult:
        """Fail."""
        raise OSError("no route")


def test_exporter_that_raises_changes_no_decision(tmp_path: Path) -> None:
    """Telemetry never decides."""
    scene = Scene(tmp_path, RaisingExporter())

    assert scene.decide("ls").may_run
    assert not scene.decide("drop it", "c2").may_run
    assert scene.governance.telemetry.flush()
    scene.governance.close()
