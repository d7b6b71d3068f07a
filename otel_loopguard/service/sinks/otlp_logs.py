"""Messages as an OTLP logs request.

Not the sending. The records carry the scope of everything that we emit and a service name of the detector's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from otel_loopguard import names
from otel_loopguard.service.message import Message
from otel_loopguard.service.reading import OWN_SERVICE

__all__ = ["logs_request", "own_resource", "own_scope", "pair"]

_SEVERITY: Final = {
    "INFO": SeverityNumber.SEVERITY_NUMBER_INFO,
    "WARN": SeverityNumber.SEVERITY_NUMBER_WARN,
}
_HAS_EVENT_NAME: Final = "event_name" in LogRecord.DESCRIPTOR.fields_by_name  # since opentelemetry-proto 1.32


def logs_request(messages: Sequence[Message], instance: str) -> ExportLogsServiceRequest:
    """The messages as one request."""
    scoped = ScopeLogs(scope=own_scope(), log_records=[_record(message) for message in messages])
    return ExportLogsServiceRequest(resource_logs=[ResourceLogs(resource=own_resource(instance), scope_logs=[scoped])])


def own_scope() -> InstrumentationScope:
    """The scope of everything that we emit."""
    return InstrumentationScope(name=names.SCOPE, version=version("otel-loopguard"))


def own_resource(instance: str) -> Resource:
    """The detector as a source of telemetry."""
    return Resource(attributes=[pair("service.name", OWN_SERVICE), pair("service.instance.id", instance)])


def _record(message: Message) -> LogRecord:
    attributes = [pair(key, value) for key, value in message.attributes.items()]
    record = LogRecord(
        time_unix_nano=message.time_ns,
        observed_time_unix_nano=message.time_ns,
        severity_number=_SEVERITY.get(message.severity, SeverityNumber.SEVERITY_NUMBER_UNSPECIFIED),
        severity_text=message.severity,
        attributes=attributes,
        trace_id=bytes.fromhex(message.trace_id),
        span_id=bytes.fromhex(message.span_id),
    )
    if _HAS_EVENT_NAME:
        record.event_name = message.name
    else:
        record.attributes.append(pair("event.name", message.name))
    return record


def pair(key: str, value: str | float | bool) -> KeyValue:  # noqa: FBT001 - an attribute's value
    """An attribute."""
    if isinstance(value, bool):
        return KeyValue(key=key, value=AnyValue(bool_value=value))
    if isinstance(value, int):
        return KeyValue(key=key, value=AnyValue(int_value=value))
    if isinstance(value, float):
        return KeyValue(key=key, value=AnyValue(double_value=value))
    return KeyValue(key=key, value=AnyValue(string_value=value))
