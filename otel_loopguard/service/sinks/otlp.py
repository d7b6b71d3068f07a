"""Messages as OTLP log records, to a Collector or a backend, over gRPC or HTTP.

Not the OpenTelemetry SDK: its exporters drop what they cannot deliver within seconds, and the queue here must not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from otel_loopguard.service.message import Message
from otel_loopguard.service.sinks._base import SinkRefusedError, SinkUnavailableError
from otel_loopguard.service.sinks.http_client import HttpClient
from otel_loopguard.service.sinks.otlp_logs import logs_request

__all__ = ["OtlpSink", "Protocol"]

Protocol = Literal["grpc", "http"]

_TIMEOUT: Final = 10.0
_LOGS: Final = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
_METRICS: Final = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
_AGAIN: Final = frozenset(
    [
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    ]
)
"""The OTLP specification's list. Resource exhausted is taken as passing: there is a queue to wait in."""


class OtlpSink:
    """An OTLP endpoint for logs and metrics."""

    name = "otlp"
    batch = 256

    def __init__(
        self, endpoint: str, protocol: Protocol, headers: Mapping[str, str], ca_file: bytes | None, instance: str
    ) -> None:
        """``ca_file``: authorities in PEM for an https endpoint, None those of the system (gRPC: of the library).
        ``instance`` tells this detector from others (`service.instance.id`). Raises `SettingError`.
        """
        self._headers = {key.lower(): value for key, value in headers.items()}
        self._instance = instance
        self._channel: Any = None
        self._http: HttpClient | None = None
        checked = HttpClient(endpoint, "otlp_endpoint")
        parts = urlsplit(endpoint)
        self._path = parts.path.rstrip("/")
        if protocol == "http":
            self._http = checked
            return
        target = f"{parts.hostname}:{parts.port or 4317}"
        if parts.scheme == "https":
            self._channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(ca_file))
        else:
            self._channel = grpc.insecure_channel(target)

    def send(self, messages: Sequence[Message]) -> None:
        """Export the messages as log records."""
        answer = self._export(logs_request(messages, self._instance).SerializeToString(), _LOGS, "/v1/logs")
        try:
            partial = ExportLogsServiceResponse.FromString(answer).partial_success
        except DecodeError:
            return  # an answer that nobody can read is no refusal
        if partial.rejected_log_records:
            raise SinkRefusedError(f"{partial.rejected_log_records} log records were rejected")

    def send_metrics(self, request: ExportMetricsServiceRequest) -> None:
        """Export metrics; they are totals, so the next export makes up for one that fails."""
        self._export(request.SerializeToString(), _METRICS, "/v1/metrics")

    def _export(self, body: bytes, method: str, path: str) -> bytes:
        if self._http is not None:
            headers = {"content-type": "application/x-protobuf", "user-agent": "otel-loopguard", **self._headers}
            return self._http.post(body, headers, self._path + path)
        try:
            call = self._channel.unary_unary(method)  # without serializers bytes go and come as they are
            answer: bytes = call(body, timeout=_TIMEOUT, metadata=tuple(self._headers.items()))
        except grpc.RpcError as error:
            code = error.code()
            if code in _AGAIN:
                raise SinkUnavailableError(f"{code.name}", _retry_after(error)) from None
            raise SinkRefusedError(f"{code.name}") from None
        return answer

    def close(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            self._channel.close()


def _retry_after(error: Any) -> float | None:  # noqa: ANN401 - grpc has no types
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        try:
            for detail in Status.FromString(value).details:
                retry = RetryInfo()
                if detail.Unpack(retry):
                    return min(float(retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9), 300.0)
        except DecodeError:
            return None
    return None
