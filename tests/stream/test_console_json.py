"""What the SDK's console exporters print becomes the records that the processor sees, and what is broken is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, Status, StatusCode

from otel_loopguard.conventions import ABSENT, Event
from otel_loopguard.errors import RecordError
from otel_loopguard.stream.console_json import console_records

SPAN: dict[str, Any] = {"name": "n", "context": {"trace_id": f"0x{'a' * 32}", "span_id": f"0x{'b' * 16}"}}


def test_a_printed_span_is_the_span() -> None:
    """Every field that a convention reads comes through the SDK's own printing."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "s"}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("t")
    with tracer.start_as_current_span("outer"):
        span = tracer.start_span(
            "inner", kind=SpanKind.CLIENT, attributes={"a": [1, 2]}, start_time=1_700_000_000_123_456_000
        )
        span.add_event("e", {"b": True})
        span.set_status(Status(StatusCode.ERROR, "failed"))
        span.end(1_700_000_001_000_000_000)
    inner, outer = exporter.get_finished_spans()
    (record,) = console_records(json.loads(inner.to_json()))
    assert (record.signal, record.name, record.kind) == ("span", "inner", "client")
    assert (record.attributes, record.events, record.resource) == (
        {"a": [1, 2]},
        (Event("e", {"b": True}),),
        {"service.name": "s"},
    )
    assert record.trace_id == f"{inner.context.trace_id:032x}"
    assert record.span_id == f"{inner.context.span_id:016x}"
    assert record.parent_span_id == f"{outer.context.span_id:016x}"
    assert (record.start_ns, record.end_ns) == (1_700_000_000_123_456_000, 1_700_000_001_000_000_000)
    assert (record.error, record.status_message) == (True, "failed")


def test_a_printed_log_record() -> None:
    """A log record is told from a span by its members; its name is the event's."""
    printed = {"body": {"a": 1}, "severity_number": 9, "attributes": {"event.name": "x"}, "timestamp": None}
    (record,) = console_records(printed)
    assert (record.signal, record.name, record.body, record.start_ns) == ("log", "x", {"a": 1}, None)
    (empty,) = console_records({"event_name": "y", "body": None, "attributes": None})
    assert (empty.name, empty.body) == ("y", ABSENT)


def test_several_in_one() -> None:
    """Lists, and spans and log records under their names, are the records one after another."""
    document = {"spans": [SPAN, {"name": "m", "trace_id": "c" * 32}], "log_records": [{"event_name": "e"}]}
    assert [record.name for record in console_records([document, SPAN])] == ["n", "m", "e", "n"]


def test_the_short_form() -> None:
    """Ids without a prefix, a kind and a status in one word, a scope with a name: the same span."""
    short = {"name": "n", "trace_id": "A" * 32, "span_id": "b" * 16, "kind": "INTERNAL", "scope": {"name": "s"},
             "status": {"code": "ERROR", "description": None}, "parent_id": "0" * 16}  # fmt: skip
    (record,) = console_records(short)
    assert (record.trace_id, record.span_id, record.parent_span_id) == ("a" * 32, "b" * 16, "")
    assert (record.kind, record.scope, record.error, record.status_message) == ("internal", "s", True, "")


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (1, "expected a span as an object - at `$`"),
        ([{}], "neither a span nor a log record"),
        ([SPAN, {"run_id": "r"}], "at `$[1]`"),
        ({"spans": [{"name": 1}]}, "expected text - at `$.spans[0].name`"),
        ({**SPAN, "attributes": []}, "expected an object - at `$.attributes`"),
        ({**SPAN, "status": "ERROR"}, "expected an object - at `$.status`"),
        ({**SPAN, "events": [1]}, "expected an object - at `$.events[0]`"),
        ({**SPAN, "parent_id": "0xabc"}, "expected 16 hex digits - at `$.parent_id`"),
        ({**SPAN, "context": {"trace_id": "z" * 32}}, "expected 32 hex digits - at `$.trace_id`"),
        (
            {**SPAN, "start_time": "yesterday"},
            "expected a time such as 2026-01-31T12:00:00.000000Z - at `$.start_time`",
        ),
        ({**SPAN, "start_time": 5}, "expected a time such as"),
        ({**SPAN, "end_time": "2026-02-31T00:00:00Z"}, "expected a time of the calendar - at `$.end_time`"),
    ],
)
def test_what_is_broken_is_named(document: object, reason: str) -> None:
    """The error holds the path and what was expected, never the value."""
    with pytest.raises(RecordError) as caught:
        list(console_records(document))
    assert reason in caught.value.reason
    assert "yesterday" not in caught.value.reason
