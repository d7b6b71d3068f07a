"""An OTLP trace request as a message of its own: the same bytes, read with fewer objects.

Not another protocol: every field has the number and the type that OTLP gives it. Only a span's attributes, which OTLP
has as a list of pairs, are declared as a map; in protobuf both are the same bytes. So one look-up finds a value where
a list makes an object of each pair and of each value, which is most of what reading a span costs. As in a list that is
read into a dict, the last of equal keys counts. What the classes of ``opentelemetry-proto`` refuse is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, cast

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

__all__ = ["Holder", "Scoped", "SpanMessage", "TraceRequest", "trace_request"]


class SpanMessage(Protocol):
    """A span of OTLP with its attributes as a map."""

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes
    name: str
    kind: int
    start_time_unix_nano: int
    end_time_unix_nano: int
    attributes: Mapping[str, AnyValue]
    """Only `get` and subscription of keys that are there: subscription of others adds them."""
    events: Sequence[Span.Event]
    status: Status


class Scoped(Protocol):
    """The spans of one instrumentation."""

    scope: InstrumentationScope
    spans: Sequence[SpanMessage]


class Holder(Protocol):
    """The spans of one process."""

    resource: Resource
    scope_spans: Sequence[Scoped]


class TraceRequest(Protocol):
    """An ExportTraceServiceRequest."""

    resource_spans: Sequence[Holder]


class _RequestClass(Protocol):
    def FromString(self, data: bytes) -> TraceRequest: ...  # noqa: N802 - protobuf's name


_PACKAGE: Final = "otel_loopguard.stream"
_FILE: Final = f"{_PACKAGE}.trace_request.proto"
_STRING: Final = FieldDescriptorProto.TYPE_STRING
_BYTES: Final = FieldDescriptorProto.TYPE_BYTES
_INT: Final = FieldDescriptorProto.TYPE_INT32
_UINT: Final = FieldDescriptorProto.TYPE_UINT32
_FIXED32: Final = FieldDescriptorProto.TYPE_FIXED32
_FIXED64: Final = FieldDescriptorProto.TYPE_FIXED64
_MESSAGE: Final = FieldDescriptorProto.TYPE_MESSAGE
_ONE: Final = FieldDescriptorProto.LABEL_OPTIONAL
_MANY: Final = FieldDescriptorProto.LABEL_REPEATED

_Field = tuple[str, int, "FieldDescriptorProto.Type.ValueType", "FieldDescriptorProto.Label.ValueType", str]


def _described() -> FileDescriptorProto:
    """The messages, in the words of protobuf."""
    common, resource, trace = common_pb2.DESCRIPTOR, resource_pb2.DESCRIPTOR, trace_pb2.DESCRIPTOR
    file = FileDescriptorProto(name=_FILE, package=_PACKAGE, syntax="proto3")
    file.dependency.extend([common.name, resource.name, trace.name])
    span = file.message_type.add(name="Span")
    _declare(
        span,
        ("trace_id", 1, _BYTES, _ONE, ""),
        ("span_id", 2, _BYTES, _ONE, ""),
        ("trace_state", 3, _STRING, _ONE, ""),
        ("parent_span_id", 4, _BYTES, _ONE, ""),
        ("name", 5, _STRING, _ONE, ""),
        ("kind", 6, _INT, _ONE, ""),
        ("start_time_unix_nano", 7, _FIXED64, _ONE, ""),
        ("end_time_unix_nano", 8, _FIXED64, _ONE, ""),
        ("attributes", 9, _MESSAGE, _MANY, f"{_PACKAGE}.Span.AttributesEntry"),
        ("dropped_attributes_count", 10, _UINT, _ONE, ""),
        ("events", 11, _MESSAGE, _MANY, f"{trace.package}.Span.Event"),
        ("dropped_events_count", 12, _UINT, _ONE, ""),
        ("links", 13, _MESSAGE, _MANY, f"{trace.package}.Span.Link"),
        ("dropped_links_count", 14, _UINT, _ONE, ""),
        ("status", 15, _MESSAGE, _ONE, f"{trace.package}.Status"),
        ("flags", 16, _FIXED32, _ONE, ""),
    )
    entry = span.nested_type.add(name="AttributesEntry")
    entry.options.map_entry = True
    _declare(
        entry,
        ("key", 1, _STRING, _ONE, ""),
        ("value", 2, _MESSAGE, _ONE, f"{common.package}.AnyValue"),
    )
    _declare(
        file.message_type.add(name="ScopeSpans"),
        ("scope", 1, _MESSAGE, _ONE, f"{common.package}.InstrumentationScope"),
        ("spans", 2, _MESSAGE, _MANY, f"{_PACKAGE}.Span"),
        ("schema_url", 3, _STRING, _ONE, ""),
    )
    _declare(
        file.message_type.add(name="ResourceSpans"),
        ("resource", 1, _MESSAGE, _ONE, f"{resource.package}.Resource"),
        ("scope_spans", 2, _MESSAGE, _MANY, f"{_PACKAGE}.ScopeSpans"),
        ("schema_url", 3, _STRING, _ONE, ""),
    )
    _declare(
        file.message_type.add(name="TraceRequest"),
        ("resource_spans", 1, _MESSAGE, _MANY, f"{_PACKAGE}.ResourceSpans"),
    )
    return file


def _declare(message: DescriptorProto, *fields: _Field) -> None:
    for name, number, type_, label, of in fields:
        message.field.add(name=name, number=number, type=type_, label=label, type_name=f".{of}" if of else None)


def _made() -> _RequestClass:
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(_described().SerializeToString())
    found = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.TraceRequest"))
    return cast("_RequestClass", found)


_REQUEST: Final = _made()


def trace_request(body: bytes) -> TraceRequest:
    """The request of some bytes; raises `google.protobuf.message.DecodeError`."""
    return _REQUEST.FromString(body)
