"""An OTLP/gRPC receiver that keeps what arrives: the demo's backend.

Not a detector: it reads attributes as any backend shows them and never asks the package.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import grpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

__all__ = ["Receiver", "Seen"]

Scalar = str | int | float | bool | None


class Seen(NamedTuple):
    """One span or log event as a backend shows it."""

    service: str
    name: str
    start_ns: int
    attributes: dict[str, Scalar]
    events: tuple[str, ...] = ()
    """Names of a span's events."""


class Receiver:
    """Listens on a free port of this machine from `start` to `stop`; what came in is for reading after that."""

    def __init__(self) -> None:
        self.raw: Final[list[bytes]] = []
        """Every request as it came over the wire."""
        self.spans: Final[list[Seen]] = []
        self.logs: Final[list[Seen]] = []
        self._lock = threading.Lock()
        self._server = grpc.server(ThreadPoolExecutor(max_workers=4))
        self._serve("trace.v1.TraceService", self._traces)
        self._serve("logs.v1.LogsService", self._logs)
        self._serve("metrics.v1.MetricsService", self._metrics)

    def start(self) -> str:
        """Listen; the value for `OTEL_EXPORTER_OTLP_ENDPOINT`."""
        port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        return f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        """Answer what is under way, then close."""
        self._server.stop(grace=1).wait()

    def _serve(self, service: str, read: Callable[[bytes], bytes]) -> None:
        def export(request: bytes, context: object) -> bytes:
            del context
            with self._lock:
                self.raw.append(request)
                return read(request)

        # without a deserializer the bytes arrive as they were sent
        method = grpc.unary_unary_rpc_method_handler(export)
        name = f"opentelemetry.proto.collector.{service}"
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, {"Export": method}),))

    def _traces(self, request: bytes) -> bytes:
        for resource in ExportTraceServiceRequest.FromString(request).resource_spans:
            service = _service(resource.resource.attributes)
            for scope in resource.scope_spans:
                for span in scope.spans:
                    events = tuple(event.name for event in span.events)
                    attributes = _attributes(span.attributes)
                    self.spans.append(Seen(service, span.name, span.start_time_unix_nano, attributes, events))
        return ExportTraceServiceResponse().SerializeToString()

    def _logs(self, request: bytes) -> bytes:
        for resource in ExportLogsServiceRequest.FromString(request).resource_logs:
            service = _service(resource.resource.attributes)
            for scope in resource.scope_logs:
                for log in scope.log_records:
                    name = getattr(log, "event_name", "")  # the oldest OTLP schemas that we run with lack it
                    self.logs.append(Seen(service, name, log.time_unix_nano, _attributes(log.attributes)))
        return ExportLogsServiceResponse().SerializeToString()

    def _metrics(self, request: bytes) -> bytes:
        del request  # kept raw, which is all that the demo asks of metrics
        return ExportMetricsServiceResponse().SerializeToString()


def _service(attributes: Iterable[KeyValue]) -> str:
    return str(_attributes(attributes).get("service.name", ""))


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Scalar]:
    return {pair.key: _scalar(pair.value) for pair in pairs}


def _scalar(value: AnyValue) -> Scalar:
    """A list or a map is shown as its text: nothing here looks into one."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    content = getattr(value, kind)
    return content if isinstance(content, (str, int, float, bool)) else str(content)
