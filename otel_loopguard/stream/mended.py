"""OTLP whose texts are not all UTF-8, as some SDKs send it that cut texts within a character: read and set right.

Not another reading: only what the protocol's classes refuse comes here. The same messages are declared once more with
bytes in the place of every text, which on the wire is the same; what is no UTF-8 in them becomes U+FFFD. Two texts that
differ in such bytes alone become one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

__all__ = ["mended"]

_FILES: Final = (common_pb2, resource_pb2, trace_pb2, logs_pb2, trace_service_pb2, logs_service_pb2)
_STRING: Final = FieldDescriptorProto.TYPE_STRING
_BYTES: Final = FieldDescriptorProto.TYPE_BYTES
_MESSAGE: Final = FieldDescriptorProto.TYPE_MESSAGE
_MOST: Final = 262_144
"""Messages within one request that are looked at; a real one has fewer."""

_texts: Final[set[tuple[str, int]]] = set()
"""What was a text: the full name of its message, and its number."""


def _messages(within: str, messages: Any) -> Iterator[tuple[str, DescriptorProto]]:  # noqa: ANN401 - a repeated field
    for message in messages:
        name = f"{within}.{message.name}"
        yield name, message
        yield from _messages(name, message.nested_type)


def _made() -> dict[str, Any]:
    pool = DescriptorPool()
    for module in _FILES:
        file = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for name, message in _messages(file.package, file.message_type):
            for field in message.field:
                if field.type == _STRING:
                    field.type = _BYTES
                    _texts.add((name, field.number))
        pool.AddSerializedFile(file.SerializeToString())
    found = {
        "traces": trace_service_pb2.DESCRIPTOR.message_types_by_name["ExportTraceServiceRequest"],
        "logs": logs_service_pb2.DESCRIPTOR.message_types_by_name["ExportLogsServiceRequest"],
    }
    return {
        signal: message_factory.GetMessageClass(pool.FindMessageTypeByName(kind.full_name))
        for signal, kind in found.items()
    }


_REQUESTS: Final = _made()


def mended(body: bytes, signal: Literal["traces", "logs"]) -> bytes | None:
    """The request with all its texts in UTF-8; None where something else is wrong with it."""
    try:
        request = _REQUESTS[signal].FromString(body)
    except DecodeError:
        return None
    waiting = [request]
    for message in waiting:
        name = message.DESCRIPTOR.full_name
        for field, value in message.ListFields():
            several = not isinstance(value, (bytes, Message))
            if field.type == _MESSAGE:
                waiting.extend(value if several else [value])
            elif (name, field.number) in _texts:
                if several:
                    value[:] = [_text(one) for one in value]
                else:
                    setattr(message, field.name, _text(value))
        if len(waiting) > _MOST:
            return None
    found: bytes = request.SerializeToString()
    return found


def _text(value: bytes) -> bytes:
    return value.decode("utf-8", "replace").encode()
