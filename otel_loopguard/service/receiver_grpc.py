"""OTLP over gRPC: the Export methods of traces and logs (OTLP specification, "OTLP/gRPC").

Not the decoding of OTLP: messages come as bytes, are unpacked within the limit, and are handed over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsPartialSuccess,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from otel_loopguard.errors import SettingError
from otel_loopguard.service.doorkeeper import Doorkeeper
from otel_loopguard.service.intake import Accepted, Intake, Refused, Request, Signal
from otel_loopguard.service.packing import BrokenPackingError, TooLargeError, is_gzip, unpacked
from otel_loopguard.service.tls import Certificates

__all__ = ["GrpcLimits", "GrpcReceiver"]

_SERVICES: Final[dict[str, Signal]] = {
    "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
    "opentelemetry.proto.collector.logs.v1.LogsService": "logs",
}
_CODES: Final = {
    "malformed": grpc.StatusCode.INVALID_ARGUMENT,
    "too_large": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "overloaded": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "unavailable": grpc.StatusCode.UNAVAILABLE,
}
"""Too large comes without RetryInfo, which tells the sender not to try again."""


@dataclass(frozen=True, slots=True)
class GrpcLimits:
    """What clients may take."""

    message_bytes: int = 4 << 20
    connections: int = 1000
    header_bytes: int = 16 << 10
    streams: int = 128
    """Requests of one connection at a time."""
    requests: int = 1024
    """Requests of all connections at a time."""
    idle_seconds: float = 600.0
    handshake_seconds: float = 10.0


class GrpcReceiver:
    """Listens from `start` to `stop`."""

    def __init__(
        self, intake: Intake, doorkeeper: Doorkeeper, limits: GrpcLimits, refused: Callable[[str], None]
    ) -> None:
        """``refused`` hears why a request was refused before it was handed over."""
        self._intake = intake
        self._doorkeeper = doorkeeper
        self._limits = limits
        self._refused = refused
        self._server: Any = None

    async def start(
        self, host: str, port: int, setting: str, certificates: Certificates | None = None, *, shared: bool = False
    ) -> int:
        """Listen; the port, which differs from ``port`` where that is 0. Raises `SettingError` naming ``setting``.

        ``shared``: other processes of ours listen there too, each gets some of the connections.
        """
        limits = self._limits
        self._server = grpc.aio.server(options=_options(limits, shared=shared), maximum_concurrent_rpcs=limits.requests)
        for service, signal in _SERVICES.items():
            handler = grpc.unary_unary_rpc_method_handler(self._exporter(signal))
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": handler}),))
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if certificates is None:
                found = self._server.add_insecure_port(address)
            else:
                found = self._server.add_secure_port(address, _credentials(certificates))
        except RuntimeError:
            found = 0
        if not found:
            flag = "--" + setting.replace("_", "-")
            raise SettingError(
                f"cannot listen on {host}:{port}, most likely another program does: name another port with "
                f"`{flag} {host}:PORT` or stop what has it",
                name=setting,
            )
        await self._server.start()
        port_found: int = found
        return port_found

    async def stop(self, seconds: float) -> None:
        """Let requests that are under way end within some seconds, then end everything."""
        if self._server is not None:
            await self._server.stop(seconds)

    def _exporter(self, signal: Signal) -> Callable[[bytes, Any], Awaitable[bytes]]:
        async def export(message: bytes, context: Any) -> bytes:  # noqa: ANN401 - grpc has no types
            tenant = self._doorkeeper.tenant(_authorization(context))
            if tenant is None:
                self._refused("unauthenticated")
                words = "no bearer token that is known here, is `authorization` among the exporter's headers?"
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, words)
            try:
                body = unpacked(message, self._limits.message_bytes) if is_gzip(message) else message
            except TooLargeError as error:
                self._refused("too_large")
                await _abort(context, Refused("too_large", f"{error}: the limit is {self._limits.message_bytes} bytes"))
            except BrokenPackingError as error:
                self._refused("malformed")
                await _abort(context, Refused("malformed", str(error)))
            answer = await self._intake.submit(Request(tenant or "", signal, is_json=False, body=body))
            if isinstance(answer, Refused):
                await _abort(context, answer)
                return b""
            return _response(answer, signal)

        return export


def _options(limits: GrpcLimits, *, shared: bool) -> list[tuple[str, int]]:
    return [
        # A taken port is an error, not a second listener that gets half of the requests, unless that is wanted.
        ("grpc.so_reuseport", int(shared)),
        ("grpc.max_receive_message_length", limits.message_bytes),
        # The library would unpack a message whatever it unpacks to; messages come packed and are unpacked by us.
        ("grpc.per_message_decompression_operation", 0),
        ("grpc.max_metadata_size", limits.header_bytes),
        ("grpc.absolute_max_metadata_size", limits.header_bytes),
        ("grpc.max_concurrent_streams", limits.streams),
        ("grpc.max_connection_idle_ms", int(limits.idle_seconds * 1000)),
        ("grpc.server_handshake_timeout_ms", int(limits.handshake_seconds * 1000)),
        ("grpc.max_allowed_incoming_connections", limits.connections),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
    ]


def _credentials(certificates: Certificates) -> Any:  # noqa: ANN401 - grpc has no types
    def configuration() -> Any:  # noqa: ANN401 - grpc has no types
        pem = certificates.pem
        return grpc.ssl_server_certificate_configuration([(pem.key, pem.certificate)], pem.client_ca)

    held = [certificates.pem]

    def fetch() -> Any:  # noqa: ANN401 - grpc has no types
        certificates.refresh()
        if certificates.pem is held[0]:
            return None
        held[0] = certificates.pem
        return configuration()

    return grpc.dynamic_ssl_server_credentials(
        configuration(), fetch, require_client_authentication=certificates.wants_clients
    )


def _authorization(context: Any) -> str | None:  # noqa: ANN401 - grpc has no types
    for key, value in context.invocation_metadata() or ():
        if key == "authorization" and isinstance(value, str):
            return value
    return None


def _response(answer: Accepted, signal: Signal) -> bytes:
    if not answer.rejected:
        return b""
    if signal == "traces":
        partial = ExportTracePartialSuccess(rejected_spans=answer.rejected, error_message=answer.message)
        return ExportTraceServiceResponse(partial_success=partial).SerializeToString()
    logs = ExportLogsPartialSuccess(rejected_log_records=answer.rejected, error_message=answer.message)
    return ExportLogsServiceResponse(partial_success=logs).SerializeToString()


async def _abort(context: Any, refused: Refused) -> None:  # noqa: ANN401 - grpc has no types
    code = _CODES[refused.reason]
    details = []
    if refused.reason in {"overloaded", "unavailable"}:
        seconds = int(refused.retry_after)
        delay = Duration(seconds=seconds, nanos=int((refused.retry_after - seconds) * 1e9))
        packed = AnyMessage()
        packed.Pack(RetryInfo(retry_delay=delay))
        details.append(packed)
    status = Status(code=code.value[0], message=refused.message, details=details)
    await context.abort(code, refused.message, (("grpc-status-details-bin", status.SerializeToString()),))
