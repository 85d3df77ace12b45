"""An OTLP/HTTP collector on loopback that keeps what it is sent, or refuses it, or does not answer at all."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class OtlpReceiver:
    """What arrived: spans as mappings, the newest value of each metric point, and the headers of the last request."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.metrics: dict[str, list[dict[str, Any]]] = {}
        self.headers: dict[str, str] = {}
        self.status = 200
        self.url = ""

    def receive(self, path: str, headers: dict[str, str], body: bytes) -> int:
        """Keep a request and return the status of the answer."""
        self.headers = headers
        if self.status != 200:
            return self.status
        if path == "/v1/traces":
            self.spans += [parse_span(span) for span in list_spans(ExportTraceServiceRequest.FromString(body))]
        elif path == "/v1/metrics":
            for metric in list_metrics(ExportMetricsServiceRequest.FromString(body)):
                points = metric.sum.data_points or metric.histogram.data_points
                self.metrics[metric.name] = [
                    {**read_attributes(point), "value": getattr(point, "as_int", 0) or getattr(point, "count", 0)}
                    for point in points
                ]
        return 200


def list_spans(request: Any) -> Iterator[Any]:
    """Yield the spans of a request."""
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            yield from scope.spans


def list_metrics(request: Any) -> Iterator[Any]:
    """Yield the metrics of a request."""
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            yield from scope.metrics


def parse_span(span: Any) -> dict[str, Any]:
    """Return a span as plain data."""
    return {
        "name": span.name,
        "trace": span.trace_id.hex(),
        "span": span.span_id.hex(),
        "seconds": (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
        "status": span.status.code,
        "attributes": read_attributes(span),
        "events": [(event.name, read_attributes(event)) for event in span.events],
    }


def read_attributes(item: Any) -> dict[str, Any]:
    """Return the attributes of anything that has some."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in item.attributes}


@contextmanager
def open_receiver(receiver: OtlpReceiver) -> Iterator[OtlpReceiver]:
    """Listen on loopback while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Take a request."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(receiver.receive(self.path, dict(self.headers), body))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
