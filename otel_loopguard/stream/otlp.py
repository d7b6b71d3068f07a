"""OTLP protobuf messages, read into records.

Not the transport and not OTLP/JSON (`otlp_json`): it is given a decoded ExportTraceServiceRequest or
ExportLogsServiceRequest of ``opentelemetry-proto``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal

from otel_loopguard import names
from otel_loopguard.conventions._record import ABSENT, Event, Record

if TYPE_CHECKING:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

    from otel_loopguard.stream.trace_request import SpanMessage

__all__ = [
    "KINDS", "STATUS_ERROR", "Kind", "event_name", "log_records", "resource_attributes", "span_record",
    "trace_records", "with_group",
]  # fmt: skip

Kind = Literal["", "internal", "server", "client", "producer", "consumer"]

KINDS: Final[tuple[Kind, ...]] = ("", "internal", "server", "client", "producer", "consumer")
"""Span kinds by their number in the protocol (``SPAN_KIND_UNSPECIFIED`` is 0)."""

STATUS_ERROR: Final = 2
"""``STATUS_CODE_ERROR``."""


def span_record(span: SpanMessage, resource: Mapping[str, object], scope: str) -> Record:
    """A span whose attributes are a map."""
    attributes = {key: _value(value) for key, value in span.attributes.items()}
    return _record(span, attributes, resource, scope)


def resource_attributes(resource: Resource) -> dict[str, object]:
    """The attributes of a resource."""
    return _attributes(resource.attributes)


def trace_records(request: ExportTraceServiceRequest) -> Iterator[Record]:
    """The spans of a request, in its order."""
    for holder in request.resource_spans:
        resource = _attributes(holder.resource.attributes)
        for scoped in holder.scope_spans:
            scope = scoped.scope.name
            for span in scoped.spans:
                yield _record(span, _attributes(span.attributes), resource, scope)


def log_records(request: ExportLogsServiceRequest) -> Iterator[Record]:
    """The log records of a request, in its order."""
    for holder in request.resource_logs:
        resource = _attributes(holder.resource.attributes)
        for scoped in holder.scope_logs:
            scope = scoped.scope.name
            for log in scoped.log_records:
                yield _log(log, resource, scope)


def event_name(field: str, attributes: Mapping[str, object]) -> str:
    """A log record's event name: its own field, else the attribute ``event.name`` that older writers set."""
    if field:
        return field
    name = attributes.get("event.name")
    return name if isinstance(name, str) else ""


def with_group(attributes: dict[str, object], resource: Mapping[str, object]) -> dict[str, object]:
    """A record's attributes with the run that its resource names, where the record names none itself.

    The Collector's `groupbyattrs` moves the run id from spans to a resource of their own, so that its load balancing
    sees every run of a request.
    """
    if names.RUN_ID in resource and names.RUN_ID not in attributes:
        attributes[names.RUN_ID] = resource[names.RUN_ID]
    return attributes


def _record(
    span: Span | SpanMessage, attributes: dict[str, object], resource: Mapping[str, object], scope: str
) -> Record:
    return Record(
        signal="span",
        name=span.name,
        attributes=with_group(attributes, resource),
        events=tuple(Event(event.name, _attributes(event.attributes)) for event in span.events),
        resource=resource,
        scope=scope,
        kind=KINDS[span.kind] if 0 <= span.kind < len(KINDS) else "",
        trace_id=_id(span.trace_id),
        span_id=_id(span.span_id),
        parent_span_id=_id(span.parent_span_id),
        start_ns=span.start_time_unix_nano or None,
        end_ns=span.end_time_unix_nano or None,
        error=span.status.code == STATUS_ERROR,
        status_message=span.status.message,
    )


def _log(log: LogRecord, resource: Mapping[str, object], scope: str) -> Record:
    attributes = with_group(_attributes(log.attributes), resource)
    return Record(
        signal="log",
        name=event_name(getattr(log, "event_name", ""), attributes),  # a field since opentelemetry-proto 1.35
        attributes=attributes,
        resource=resource,
        scope=scope,
        trace_id=_id(log.trace_id),
        span_id=_id(log.span_id),
        start_ns=log.time_unix_nano or log.observed_time_unix_nano or None,
        body=_value(log.body) if log.HasField("body") else ABSENT,
    )


def _id(raw: bytes) -> str:
    """Hex digits; empty where the id is missing or all zeros, which the protocol calls invalid."""
    return raw.hex() if raw.strip(b"\0") else ""


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, object]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> object:
    """A plain value; None for an empty AnyValue. Protobuf's parser bounds the nesting at 100."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "kvlist_value":
        return _attributes(value.kvlist_value.values)
    if kind == "array_value":
        return [_value(member) for member in value.array_value.values]
    return getattr(value, kind)
