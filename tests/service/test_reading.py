"""Requests into arrivals: the fast way is the long way, content ends, keys are followed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from otel_loopguard.conventions import MARKERS
from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.value import mapping_of
from otel_loopguard.runtimes import Arrival
from otel_loopguard.service.intake import Request
from otel_loopguard.service.journal import pack_arrivals, unpack_arrivals
from otel_loopguard.service.reading import OWN_SERVICE, MalformedError, Reading, TooManyError
from otel_loopguard.stream.otlp import trace_records
from otel_loopguard.stream.reader import RecordReader
from otel_loopguard.stream.trace import placed_alone
from tests.support.spans import annotated, logs, raw, span, traces
from tests.support.wire import sized

KEYS = Keyring(SecretKey(b"k" * 32, "k1"))
SPANS = [
    annotated("run", 1),
    raw("run", 2, {"q": "canary"}, ["canary"]),
    span("GET", {"http.request.method": "GET", "url.full": "https://canary"}, trace="run", parent="run/agent"),
    span("chat", {"gen_ai.operation.name": "chat"}, trace="run"),
    span("invoke_agent", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}, trace="run"),
    span("nothing", {}, trace="run"),
]


def reading(keys: list[Keyring] | None = None) -> Reading:
    """A reading whose keyring is the last of a list."""
    held = [KEYS] if keys is None else keys
    policy = Policy()
    return Reading(lambda: policy, lambda: held[-1])


def request(message: object, signal: str = "traces") -> Request:
    """A protobuf request."""
    return Request("", signal, is_json=False, body=message.SerializeToString())  # type: ignore[arg-type, attr-defined]


def test_what_is_passed_over_is_read_the_same() -> None:
    """Spans whose attributes are not read give what reading all of them gives."""
    message = traces(SPANS)
    reader = RecordReader(Policy(), KEYS)
    found = [reader.read(record) for record in trace_records(message)]
    assert reading().read(request(message)).spans == [placed_alone(span) for span in found if span is not None]
    assert MARKERS.isdisjoint(["http.request.method", "url.full"])


def test_no_content_is_left() -> None:
    """Neither what is handed on nor the journal's bytes hold arguments, results or addresses."""
    spans = reading().read(request(traces(SPANS))).spans
    assert "canary" not in repr(spans)
    assert b"canary" not in pack_arrivals([Arrival("", one) for one in spans])


def test_arrivals_come_back_from_the_journal() -> None:
    """What is written is what is read, in its order."""
    read = reading().read(request(traces(SPANS)))
    ends = reading().read(request(logs([("loopguard.run.end", {"loopguard.run.id": "run"})]), "logs")).endings
    arrivals = [
        *(Arrival("one", item) for item in read.spans[:2]),
        Arrival("one", ends[0]),
        *(Arrival("one", item) for item in read.spans[2:]),
        Arrival("two", ends[0]),
    ]
    assert unpack_arrivals(pack_arrivals(arrivals)) == arrivals


def test_rows_with_the_names_of_fields_are_read() -> None:
    """A journal that an older version left: calls of traces with what ended, and placed calls."""
    read = reading().read(request(traces(SPANS)))
    ends = reading().read(request(logs([("loopguard.run.end", {"loopguard.run.id": "run"})]), "logs")).endings
    calls = [one.call for one in read.spans if one.call is not None]
    assert calls
    encoder = msgspec.msgpack.Encoder(enc_hook=mapping_of)
    assert unpack_arrivals(encoder.encode((1, [("one", read.spans, ends)]))) == [
        Arrival("one", item) for item in (*read.spans, *ends)
    ]
    assert unpack_arrivals(encoder.encode((3, [("one", call) for call in calls]))) == [
        Arrival("one", call) for call in calls
    ]
    placed = [Arrival("two", call) for call in calls]
    assert unpack_arrivals(pack_arrivals(placed)) == placed


@pytest.mark.parametrize("row", [(9, []), (4, [("one", [1], [])]), (5, [("one", ["run"])]), (5, [("one", {})])])
def test_what_is_no_row_is_refused(row: tuple[int, object]) -> None:
    """A form of a later version, or something else: nothing of it is guessed."""
    with pytest.raises(msgspec.DecodeError):
        unpack_arrivals(msgspec.msgpack.encode(row))


def test_a_rotated_key_makes_other_fingerprints() -> None:
    """A new active key takes effect with the next request; the old fingerprints keep their key's id."""
    keys = [KEYS]
    reader = reading(keys)
    message = request(traces([raw("run", 1, {"q": 1}, [])]))
    (before,) = reader.read(message).spans
    keys.append(Keyring(SecretKey(b"n" * 32, "k2"), [SecretKey(b"k" * 32, "k1")]))
    (after,) = reader.read(message).spans
    assert [one.call.call.key_id for one in (before, after) if one.call is not None] == ["k1", "k2"]


def test_the_detector_does_not_hear_itself() -> None:
    """Its own findings, sent back by a Collector, are no news; those of processes are."""
    finding = {
        "loopguard.run.id": "run",
        "loopguard.finding.sequence": 3,
        "loopguard.process.id": "p",
        "loopguard.finding.kind": "identical",
        "loopguard.finding.action": "nudge",
    }
    message = logs([("loopguard.finding", finding)])
    message.resource_logs[0].scope_logs[0].scope.name = "otel_loopguard"
    assert len(reading().read(request(message, "logs")).spans) == 1
    message.resource_logs[0].resource.attributes.add(key="service.name").value.string_value = OWN_SERVICE
    assert reading().read(request(message, "logs")).spans == []


def test_empty_spans_are_bounded() -> None:
    """A request of two bytes a span is given up after as many as a real one could have."""
    message = traces([])
    for _ in range(65_537):
        message.resource_spans[0].scope_spans[0].spans.add()
    with pytest.raises(TooManyError):
        reading().read(request(message))


EMPTY_EVENTS = b"\x5a\x00"
"""Two of them in the bytes of a span, field 11."""


def nested(depth: int, field: bytes, body: bytes) -> bytes:
    """Bytes of a message in so many others."""
    for _ in range(depth):
        body = sized(field, body)
    return body


def flood_of_events() -> Request:
    """Four megabytes of events in one span."""
    inside = nested(1, b"\x12", EMPTY_EVENTS * (2 << 20))  # the span in its scope
    return Request("", "traces", is_json=False, body=nested(1, b"\x0a", nested(1, b"\x12", inside)))


def flood_of_members() -> Request:
    """Half a million members of one list in one attribute."""
    message = traces([raw("run", 1, {}, [])])
    held = message.resource_spans[0].scope_spans[0].spans[0].attributes.add(key="list").value.array_value
    held.values.extend([AnyValue()] * 500_000)
    return request(message)


def flood_of_log_attributes() -> Request:
    """Half a million attributes of one log record."""
    message = logs([("event", {})])
    message.resource_logs[0].scope_logs[0].log_records[0].attributes.extend([KeyValue()] * 500_000)
    return request(message, "logs")


def flood_of_json() -> Request:
    """A million empty events in JSON."""
    events = ",".join(["{}"] * 1_000_000)
    body = f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"events":[{events}]}}]}}]}}]}}'
    return Request("", "traces", is_json=True, body=body.encode())


def test_a_flood_of_small_parts_is_not_read() -> None:
    """In JSON, parts are counted before they are read; the request is refused as too large."""
    with pytest.raises(TooManyError, match="more than 262,144 attributes, events and list members in one request"):
        reading().read(flood_of_json())


def flood_of_resource_attributes() -> Request:
    """Half a million attributes of one process."""
    message = traces([annotated("run", 1)])
    message.resource_spans[0].resource.attributes.extend([KeyValue()] * 500_000)
    return request(message)


def test_a_flood_beside_spans_is_refused() -> None:
    """No span is to blame for it, so the request is refused as a whole."""
    with pytest.raises(TooManyError):
        reading().read(flood_of_resource_attributes())


def test_many_floods_are_refused() -> None:
    """Sixteen spans with too many parts are rejected alone; with one more the request is refused."""
    span = b"\x5a\x00" * 262_145
    body = nested(1, b"\x0a", nested(1, b"\x12", nested(1, b"\x12", span)))
    assert reading().read(Request("", "traces", is_json=False, body=body * 16)).rejected == 16
    with pytest.raises(TooManyError):
        reading().read(Request("", "traces", is_json=False, body=body * 17))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (flood_of_events, "span without an id: more than 262,144 attributes, events and list members"),
        (flood_of_members, r"span [0-9a-f]{16}: more than 262,144 attributes, events and list members"),
        (
            flood_of_log_attributes,
            "log record of span without an id: more than 262,144 attributes, events and list members",
        ),
    ],
)
def test_a_flood_within_one_span_takes_no_other_with_it(make: Callable[[], Request], why: str) -> None:
    """It is rejected by its id and not read; the spans or log records before and after it are."""
    failed: list[Exception] = []
    policy = Policy()
    reader = Reading(lambda: policy, lambda: KEYS, failed=failed.append)
    flood = make()
    ours = {"loopguard.run.id": "run"}
    beside = (
        [traces([annotated("run", number)]) for number in (1, 2)]
        if flood.signal == "traces"
        else [logs([("loopguard.run.end", ours)])] * 2
    )
    before, after = (one.SerializeToString() for one in beside)
    body = before + flood.body + after  # messages one after the other are one message
    found = reader.read(Request("", flood.signal, is_json=False, body=body))
    assert (len(found.spans) + len(found.endings), found.items, found.rejected) == (2, 3, 1)
    assert re.fullmatch(why, found.why)
    assert failed == []


def test_a_large_request_of_real_spans_is_read() -> None:
    """Two megabytes of spans as agents write them are far from the limit."""
    spans = [raw("run", number, {"q": "x" * 100}, ["y" * 100]) for number in range(4000)]
    message = request(traces(spans))
    assert len(message.body) > 1 << 20
    assert len(reading().read(message).spans) == 4000


@pytest.mark.parametrize("place", [b"search", b"execute_tool", b"string-1", b"gen_ai.tool.name", b"resource-1"])
def test_a_text_that_is_no_utf_8_takes_nothing_with_it(place: bytes) -> None:
    """Its bytes are replaced, wherever they stand, and every call of the request is read."""
    message = traces([annotated("run", 1), raw("run", 2, {"q": "string-1"}, []), annotated("run", 3)])
    message.resource_spans[0].resource.attributes.add(key="a").value.string_value = "resource-1"
    body = message.SerializeToString()
    broken = body.replace(place, place[:-1] + b"\xff", 1)
    assert broken != body
    found = reading().read(Request("", "traces", is_json=False, body=broken)).spans
    assert len(found) == 3
    found = reading().read(Request("", "traces", is_json=False, body=body)).spans
    assert [one.call is not None for one in found] == [True] * 3


def test_a_log_record_that_is_no_utf_8_takes_nothing_with_it() -> None:
    """The end of a run beside it is read."""
    message = logs([("some.event", {"text": "string-1"}), ("loopguard.run.end", {"loopguard.run.id": "run"})])
    body = message.SerializeToString().replace(b"string-1", b"string-\xff")
    assert len(reading().read(Request("", "logs", is_json=False, body=body)).endings) == 1


@given(st.binary(max_size=200), st.sampled_from(["traces", "logs"]), st.integers(0, 400), st.integers(0, 255))
def test_whatever_comes_is_read_or_refused(noise: bytes, signal: Any, at: int, byte: int) -> None:  # noqa: ANN401
    """Any bytes, and a request with one byte changed: nothing but `MalformedError` is raised."""
    whole = bytearray(traces(SPANS).SerializeToString())
    whole[at % len(whole)] = byte
    for body in (noise, bytes(whole)):
        try:
            reading().read(Request("", signal, is_json=False, body=body))
        except MalformedError:
            continue
