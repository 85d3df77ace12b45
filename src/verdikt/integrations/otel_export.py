"""Sends spans with ids of their own, and metrics, to an OTLP/HTTP collector; for the process that exports the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from verdikt import __version__
from verdikt.integrations.otel import Meters
from verdikt.integrations.otel_spans import SCOPE
from verdikt.integrations.sdk_import import import_sdk

if TYPE_CHECKING:
    from verdikt.integrations.otel_spans import SpanRecord

_EXTRA = "otel"
_TIMEOUT_SECONDS = 10
_METRIC_INTERVAL_MILLISECONDS = 10_000


class OtlpExporter:
    """A connection to a collector. `send_spans` waits for the collector, so no decision may call it."""

    def __init__(self, endpoint: str, headers: Mapping[str, str] | None = None) -> None:
        """Send to `endpoint`, without the paths `/v1/traces` and `/v1/metrics`."""
        self._sdk = import_sdk("opentelemetry.sdk.trace", _EXTRA)
        self._trace = import_sdk("opentelemetry.trace", _EXTRA)
        scope = import_sdk("opentelemetry.sdk.util.instrumentation", _EXTRA).InstrumentationScope
        self._scope = scope(SCOPE, __version__)
        resources = import_sdk("opentelemetry.sdk.resources", _EXTRA)
        self._resource = resources.Resource({"service.name": "verdikt", "service.version": __version__})
        options: dict[str, Any] = {"headers": dict(headers or {}), "timeout": _TIMEOUT_SECONDS}
        base = endpoint.rstrip("/")
        spans = import_sdk("opentelemetry.exporter.otlp.proto.http.trace_exporter", _EXTRA)
        self._spans = spans.OTLPSpanExporter(endpoint=f"{base}/v1/traces", **options)
        self._meter_provider = self._build_meter_provider(f"{base}/v1/metrics", options)
        self.meters = Meters(self._meter_provider)

    def send_spans(self, records: Sequence[SpanRecord]) -> bool:
        """Send spans that have ended; return whether the collector took them."""
        try:
            result = self._spans.export([self._build_span(record) for record in records])
        except Exception:
            return False  # the exporter raises what its HTTP client raises
        return bool(result.name == "SUCCESS")

    def close(self) -> None:
        """Send the metrics, and close the connections."""
        self._meter_provider.shutdown(timeout_millis=2_000)
        self._spans.shutdown()

    def _build_span(self, record: SpanRecord) -> Any:
        context = self._trace.SpanContext(
            record.trace_id, record.span_id, is_remote=False, trace_flags=self._trace.TraceFlags(1)
        )
        return self._sdk.ReadableSpan(
            record.name,
            context=context,
            resource=self._resource,
            attributes=record.attributes,
            events=[self._sdk.Event(name, attributes, record.end) for name, attributes in record.events],
            kind=self._trace.SpanKind.INTERNAL,
            start_time=record.start,
            end_time=record.end,
            instrumentation_scope=self._scope,
        )

    def _build_meter_provider(self, endpoint: str, options: Mapping[str, Any]) -> Any:
        metrics = import_sdk("opentelemetry.sdk.metrics", _EXTRA)
        export = import_sdk("opentelemetry.sdk.metrics.export", _EXTRA)
        exporter = import_sdk("opentelemetry.exporter.otlp.proto.http.metric_exporter", _EXTRA).OTLPMetricExporter
        reader = export.PeriodicExportingMetricReader(
            exporter(endpoint=endpoint, **options), export_interval_millis=_METRIC_INTERVAL_MILLISECONDS
        )
        return metrics.MeterProvider([reader], resource=self._resource)
