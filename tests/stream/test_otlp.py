"""OTLP requests become records, the same from protobuf and from JSON."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from otel_loopguard.conventions._record import ABSENT, Event, Record
from otel_loopguard.errors import RecordError
from otel_loopguard.stream import otlp, otlp_json
from otel_loopguard.stream.trace_request import trace_request

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
PARENT = "00f067aa0ba902b7"


def one_span(**fields: object) -> dict[str, Any]:
    """A request with one span."""
    return {"resourceSpans": [{"scopeSpans": [{"spans": [fields]}]}]}


def any_value(value: object) -> AnyValue:
    """A plain value as the protocol's AnyValue."""
    if value is None:
        return AnyValue()
    fields = {bool: "bool_value", str: "string_value", int: "int_value", float: "double_value", bytes: "bytes_value"}
    field = fields.get(type(value))
    if field is not None:
        return AnyValue(**{field: value})  # type: ignore[arg-type]
    result = AnyValue()
    if isinstance(value, list):
        result.array_value.values.extend([any_value(member) for member in value])
        result.array_value.SetInParent()
    else:
        assert isinstance(value, dict)
        result.kvlist_value.values.extend([KeyValue(key=key, value=any_value(item)) for key, item in value.items()])
        result.kvlist_value.SetInParent()
    return result


def hex_ids(document: Any) -> Any:  # noqa: ANN401
    """Protobuf's own JSON writes ids in base64; OTLP/JSON writes them in hex."""
    if isinstance(document, list):
        return [hex_ids(member) for member in document]
    if isinstance(document, dict):
        return {
            key: base64.b64decode(value).hex() if key in {"traceId", "spanId", "parentSpanId"} else hex_ids(value)
            for key, value in document.items()
        }
    return document


def whole_span() -> ExportTraceServiceRequest:
    """A request with every field of a span that a record has."""
    request = ExportTraceServiceRequest()
    holder = request.resource_spans.add()
    holder.resource.attributes.append(KeyValue(key="service.name", value=any_value("triage")))
    scoped = holder.scope_spans.add()
    scoped.scope.name = "my.instrumentation"
    span = scoped.spans.add(
        trace_id=bytes.fromhex(TRACE),
        span_id=bytes.fromhex(SPAN),
        parent_span_id=bytes.fromhex(PARENT),
        name="execute_tool look",
        kind=3,
        start_time_unix_nano=1_742_402_274_921_788_001,
        end_time_unix_nano=1_742_402_274_921_788_999,
    )
    span.attributes.append(KeyValue(key="gen_ai.tool.name", value=any_value("look")))
    span.events.add(name="exception").attributes.append(KeyValue(key="exception.type", value=any_value("KeyError")))
    span.status.code = 2
    span.status.message = "no such key"
    return request


WHOLE = Record(
    signal="span",
    name="execute_tool look",
    attributes={"gen_ai.tool.name": "look"},
    events=(Event("exception", {"exception.type": "KeyError"}),),
    resource={"service.name": "triage"},
    scope="my.instrumentation",
    kind="client",
    trace_id=TRACE,
    span_id=SPAN,
    parent_span_id=PARENT,
    start_ns=1_742_402_274_921_788_001,
    end_ns=1_742_402_274_921_788_999,
    error=True,
    status_message="no such key",
)


@pytest.mark.parametrize("names", ["camelCase", "snake_case"])
@pytest.mark.parametrize("enums", ["numbers", "names"])
def test_every_field_of_a_span_is_read_from_both_encodings(names: str, enums: str) -> None:
    """Protobuf, and JSON with either spelling of names and enums, give one record."""
    request = whole_span()
    document = hex_ids(
        MessageToDict(
            request, preserving_proto_field_name=names == "snake_case", use_integers_for_enums=enums == "numbers"
        )
    )
    if names == "snake_case":
        span = document["resource_spans"][0]["scope_spans"][0]["spans"][0]
        span.update(trace_id=TRACE, span_id=SPAN, parent_span_id=PARENT)

    assert list(otlp.trace_records(request)) == [WHOLE]
    (holder,) = trace_request(request.SerializeToString()).resource_spans
    (scoped,) = holder.scope_spans
    resource = otlp.resource_attributes(holder.resource)
    assert [otlp.span_record(span, resource, scoped.scope.name) for span in scoped.spans] == [WHOLE]
    assert list(otlp_json.records(document)) == [WHOLE]


@pytest.mark.skipif(
    "event_name" not in LogRecord.DESCRIPTOR.fields_by_name,
    reason="log records have event names since 1.35",
)
def test_a_log_record_is_read_from_both_encodings() -> None:
    """Name, body, ids and time of a log record."""
    request = ExportLogsServiceRequest()
    holder = request.resource_logs.add()
    holder.resource.attributes.append(KeyValue(key="service.name", value=any_value("cli")))
    scoped = holder.scope_logs.add()
    scoped.scope.name = "cli.events"
    log = scoped.log_records.add(
        time_unix_nano=7, event_name="codex.tool_result", trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(SPAN)
    )
    log.body.CopyFrom(any_value({"output": "done"}))
    log.attributes.append(KeyValue(key="tool_name", value=any_value("shell")))
    expected = Record(
        signal="log",
        name="codex.tool_result",
        attributes={"tool_name": "shell"},
        resource={"service.name": "cli"},
        scope="cli.events",
        trace_id=TRACE,
        span_id=SPAN,
        start_ns=7,
        body={"output": "done"},
    )

    assert list(otlp.log_records(request)) == [expected]
    assert list(otlp_json.records(hex_ids(MessageToDict(request)))) == [expected]


@pytest.mark.parametrize(
    ("log", "name", "start"),
    [
        ({"eventName": "a", "attributes": [{"key": "event.name", "value": {"stringValue": "b"}}]}, "a", None),
        ({"attributes": [{"key": "event.name", "value": {"stringValue": "b"}}]}, "b", None),
        ({"attributes": [{"key": "event.name", "value": {"intValue": "1"}}]}, "", None),
        ({"timeUnixNano": "0", "observedTimeUnixNano": "9"}, "", 9),
        ({"timeUnixNano": "3", "observedTimeUnixNano": "9"}, "", 3),
    ],
)
def test_older_log_writers_are_understood(log: dict[str, Any], name: str, start: int | None) -> None:
    """The event name may be an attribute, and the observed time stands in for a time that was not set."""
    (record,) = otlp_json.records({"resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]})

    assert (record.name, record.start_ns, record.body) == (name, start, ABSENT)


@pytest.mark.parametrize(
    ("own", "expected"), [({}, "of the group"), ({"loopguard.run.id": "its own"}, "its own")], ids=["grouped", "own"]
)
def test_a_record_has_the_run_of_its_resource(own: dict[str, str], expected: str) -> None:
    """A Collector that groups by run moves the id to the resource: every reader finds it there, after the record's."""
    resource = {"attributes": [{"key": "loopguard.run.id", "value": {"stringValue": "of the group"}}]}
    held = [{"key": key, "value": {"stringValue": value}} for key, value in own.items()]
    document = {
        "resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [{"name": "chat", "attributes": held}]}]}],
        "resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [{"attributes": held}]}]}],
    }
    traces = ParseDict({"resourceSpans": document["resourceSpans"]}, ExportTraceServiceRequest())
    logs = ParseDict({"resourceLogs": document["resourceLogs"]}, ExportLogsServiceRequest())

    (holder,) = trace_request(traces.SerializeToString()).resource_spans
    resource_held = otlp.resource_attributes(holder.resource)
    read = [*otlp_json.records(document), *otlp.trace_records(traces), *otlp.log_records(logs)]
    read.append(otlp.span_record(holder.scope_spans[0].spans[0], resource_held, ""))
    assert [record.attributes for record in read] == [{"loopguard.run.id": expected}] * 5


plain = st.recursive(
    st.none() | st.booleans() | st.text() | st.binary() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), plain, max_size=5))
def test_any_value_is_the_same_from_both_encodings(attributes: dict[str, object]) -> None:
    """Attribute values of every kind come back as they were, from protobuf and from JSON text."""
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add()
    span.attributes.extend([KeyValue(key=key, value=any_value(value)) for key, value in attributes.items()])
    parsed = json.loads(json.dumps(MessageToDict(request)))

    (from_protobuf,) = otlp.trace_records(request)
    (mapped,) = trace_request(request.SerializeToString()).resource_spans[0].scope_spans[0].spans
    assert otlp.span_record(mapped, {}, "") == from_protobuf
    (from_json,) = otlp_json.records(parsed)
    assert from_protobuf.attributes == attributes
    assert from_json.attributes == attributes


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"intValue": "9007199254740993"}, 9007199254740993),
        ({"intValue": 5}, 5),
        ({"int_value": "-5"}, -5),
        ({"doubleValue": 1}, 1),
        ({"doubleValue": "Infinity"}, float("inf")),
        ({"stringValue": ""}, ""),
        ({"bytesValue": "aGk="}, b"hi"),
        ({"bytesValue": "aGk"}, b"hi"),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {"values": [{"key": "a"}]}}, {"a": None}),
        ({"stringValueStrindex": 3}, None),
        ({}, None),
        (None, None),
    ],
)
def test_values_as_writers_spell_them(value: object, expected: object) -> None:
    """Integers as text stay exact; what is empty, or of a kind that is not known, is null."""
    (record,) = otlp_json.records(one_span(attributes=[{"key": "k", "value": value}]))

    assert record.attributes == {"k": expected}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"resourceMetrics": [{"scopeMetrics": []}]}, []),
        ({}, []),
        ({"resourceSpans": []}, []),
        ({"resourceSpans": None}, []),
        ({"resourceSpans": [{}]}, []),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [], "schemaUrl": "x", "unheardOf": {}}]}]}, []),
        (one_span(), [Record("span", "", {})]),
        (one_span(traceId="0" * 32, spanId="", startTimeUnixNano="0", kind=99), [Record("span", "", {})]),
        (one_span(traceId=TRACE.upper()), [Record("span", "", {}, trace_id=TRACE)]),
        (one_span(status={}, kind="SPAN_KIND_FUTURE"), [Record("span", "", {})]),
    ],
)
def test_what_is_missing_or_unknown_is_no_error(document: object, expected: list[Record]) -> None:
    """Fields may be absent, null, empty or unheard of; invalid ids and times mean that there are none."""
    assert list(otlp_json.records(document)) == expected


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "expected an object, found a list - at `$`"),
        ({"resourceSpans": {}}, "expected a list, found an object - at `$.resourceSpans`"),
        ({"resourceSpans": [7]}, "expected an object, found a number - at `$.resourceSpans[0]`"),
        (
            one_span(traceId="Cvdl"),
            "expected 32 hex digits, found 4 characters - at `$.resourceSpans[0].scopeSpans[0].spans[0].traceId`",
        ),
        (
            one_span(spanId="zzzzzzzzzzzzzzzz"),
            "expected 16 hex digits, found 16 characters - at `$.resourceSpans[0].scopeSpans[0].spans[0].spanId`",
        ),
        (
            one_span(startTimeUnixNano="soon"),
            (
                "expected an integer or its digits as text, found text - at "
                "`$.resourceSpans[0].scopeSpans[0].spans[0].startTimeUnixNano`"
            ),
        ),
        (
            one_span(attributes=[{"key": "a", "value": "bare"}]),
            "expected an object, found text - at `$.resourceSpans[0].scopeSpans[0].spans[0].attributes[0].value`",
        ),
        (
            one_span(attributes=[{"key": "a", "value": {"boolValue": "true"}}]),
            (
                "expected true or false, found text - at "
                "`$.resourceSpans[0].scopeSpans[0].spans[0].attributes[0].value.boolValue`"
            ),
        ),
        (
            one_span(attributes=[{"key": "a", "value": {"bytesValue": "?"}}]),
            (
                "expected base64 text, found text - at "
                "`$.resourceSpans[0].scopeSpans[0].spans[0].attributes[0].value.bytesValue`"
            ),
        ),
        (
            one_span(name=None, events=[{"name": False}]),
            "expected text, found a boolean - at `$.resourceSpans[0].scopeSpans[0].spans[0].events[0].name`",
        ),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(document: object, message: str) -> None:
    """An error says what was expected, what kind of value was found, and where; never the value."""
    with pytest.raises(RecordError) as raised:
        list(otlp_json.records(document))

    assert raised.value.reason == message


def test_bottomless_values_are_refused() -> None:
    """Nesting beyond protobuf's own limit is an error, not a crash."""
    value: dict[str, Any] = {"stringValue": "floor"}
    for _ in range(5_000):
        value = {"arrayValue": {"values": [value]}}

    with pytest.raises(RecordError, match="values are nested deeper than 100"):
        list(otlp_json.records(one_span(attributes=[{"key": "deep", "value": value}])))
