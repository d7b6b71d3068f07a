"""Tool spans as senders write them, in OTLP: annotated by a process of ours, or with content by any other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND


def digits(name: str, count: int) -> str:
    """Hex digits that are the same for the same name."""
    return blake2b(name.encode(), digest_size=count // 2).hexdigest()


def pairs(attributes: Mapping[str, Any]) -> list[KeyValue]:
    """Attributes as OTLP has them."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in attributes.items()]


def any_value(value: object) -> AnyValue:
    """A plain value, however nested."""
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    if isinstance(value, Mapping):
        return AnyValue(kvlist_value=KeyValueList(values=pairs(value)))
    if isinstance(value, list):
        return AnyValue(array_value=ArrayValue(values=[any_value(member) for member in value]))
    return AnyValue(string_value=str(value))


def span(  # noqa: PLR0913 - every field that a test may set
    name: str,
    attributes: Mapping[str, Any],
    *,
    at: int = 0,
    trace: str = "",
    parent: str = "",
    span_id: str = "",
    error: bool = False,
    seconds: float = 0.5,
) -> Span:
    """A span that began ``at`` seconds after `START`; ids are made from names."""
    return Span(
        trace_id=bytes.fromhex(digits(trace or name, 32)),
        span_id=bytes.fromhex(digits(span_id or f"{trace}/{name}/{at}", 16)),
        parent_span_id=bytes.fromhex(digits(parent, 16)) if parent else b"",
        name=name,
        start_time_unix_nano=START + at * SECOND,
        end_time_unix_nano=START + at * SECOND + int(seconds * SECOND),
        attributes=pairs(attributes),
        status=Status(code=Status.STATUS_CODE_ERROR) if error else None,
    )


def annotated(run: str, number: int, *, process: str = "p1", at: int | None = None, **fields: Any) -> Span:  # noqa: ANN401
    """A tool span of a process of ours, its content redacted; calls of one ``key`` are equal."""
    tool = str(fields.pop("tool", "search"))
    key = str(fields.pop("key", "a"))
    result = str(fields.pop("result", "r"))
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.arguments": "[REDACTED]",
        "gen_ai.tool.call.result": "[REDACTED]",
        "loopguard.run.id": run,
        "loopguard.key.id": "k1",
        "loopguard.fingerprint": digits(f"{tool}/{key}", 32),
        "loopguard.result.fingerprint": digits(result, 32),
        "loopguard.sequence": number,
        "loopguard.process.id": process,
        "loopguard.outcome": "ok",
        "loopguard.verdict": "allow",
        **fields,
    }
    begun = number if at is None else at
    return span(
        f"execute_tool {tool}", attributes, at=begun, trace=f"{run}/{process}", span_id=f"{run}/{process}/{number}"
    )


def raw(run: str, number: int, arguments: object, result: object, **fields: Any) -> Span:  # noqa: ANN401
    """A tool span of an agent without our processor, content and all."""
    tool = str(fields.pop("tool", "search"))
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.conversation.id": run,
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.tool.call.result": json.dumps(result),
        **fields,
    }
    return span(
        f"execute_tool {tool}", attributes, at=number, trace=run, span_id=f"{run}/{number}", parent=f"{run}/agent"
    )


def traces(spans: Iterable[Span], resource: Mapping[str, Any] | None = None) -> ExportTraceServiceRequest:
    """A request with some spans."""
    holder = ResourceSpans(scope_spans=[ScopeSpans(spans=list(spans))])
    holder.resource.attributes.extend(pairs(resource or {"service.name": "agent"}))
    return ExportTraceServiceRequest(resource_spans=[holder])


def logs(events: Sequence[tuple[str, Mapping[str, Any]]]) -> ExportLogsServiceRequest:
    """A request with some events: name and attributes."""
    records = [
        LogRecord(time_unix_nano=START, event_name=name, attributes=pairs(attributes)) for name, attributes in events
    ]
    return ExportLogsServiceRequest(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=records)])])
