"""A traced governance in a driver, and the spans of its program, for SDKs that bring OpenTelemetry themselves."""

from collections.abc import Mapping
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from verdikt.integrations.otel import TracedGovernance

_EXPORTER = InMemorySpanExporter()


def load_traced(policy: Path, env: Mapping[str, str]) -> TracedGovernance:
    """Return a traced governance; the SDK's own spans go to the same exporter, which is emptied."""
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(_EXPORTER))
        trace.set_tracer_provider(provider)
    _EXPORTER.clear()
    return TracedGovernance.load(policy, env=env)


def describe_spans(governance: TracedGovernance) -> list[str]:
    """Return our spans, each with the span of the SDK that it is a child of."""
    governance.telemetry.flush()
    spans = _EXPORTER.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans if span.context}
    return [
        f"{span.name} {span.attributes.get('verdikt.verdict', '')} in {names.get(span.parent.span_id, '')}"
        for span in spans
        if span.name.startswith("verdikt.") and span.parent and span.attributes
    ]
