"""What of an agent without our processor reaches the detector by the gateway: its calls, as `unknown`, and no more."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from otel_loopguard.conventions import Record, read
from otel_loopguard.core.fingerprint import Keyring, SecretKey
from otel_loopguard.core.policy import Policy
from otel_loopguard.stream import otlp_json
from otel_loopguard.stream.otlp import KINDS
from otel_loopguard.stream.reader import RecordReader
from tests.collector.conftest import Gateway
from tests.support import recorded
from tests.support.canary import is_content, planted, with_canary
from tests.support.collector import Collector, Protocol, send_grpc, until
from tests.support.serving import Serving
from tests.support.spans import START, annotated, any_value, logs, pairs, raw, span, traces

CANARY = "canary5f3a9c17e2"
READER = RecordReader(Policy(), Keyring(SecretKey(b"k" * 32, "k1")))


def recordings(shared: Path) -> list[Path]:
    """The recorded traces of every instrumentation."""
    return sorted((shared / "spans").glob("*.json"))


def loud(record: Record) -> Record:
    """A recorded span or log record with the canary in all its content."""
    events = [type(event)(event.name, with_canary(event.attributes, CANARY)) for event in record.events]
    return Record(
        signal=record.signal,
        name=record.name,
        attributes=with_canary(record.attributes, CANARY),
        events=events,
        scope=record.scope,
        kind=record.kind,
        trace_id=record.trace_id,
        span_id=record.span_id,
        parent_span_id=record.parent_span_id,
        error=record.error,
        status_message=f"{record.status_message} {CANARY}",
        body=planted(record.body, CANARY) if record.signal == "log" else record.body,
    )


def as_span(record: Record, number: int) -> ResourceSpans:
    """A record as OTLP."""
    found = Span(
        trace_id=bytes.fromhex(record.trace_id),
        span_id=bytes.fromhex(record.span_id),
        parent_span_id=bytes.fromhex(record.parent_span_id),
        name=record.name,
        kind=KINDS.index(record.kind),  # type: ignore[arg-type]
        start_time_unix_nano=START + number,
        end_time_unix_nano=START + number + 1,
        attributes=pairs(record.attributes),
        events=[Span.Event(name=event.name, attributes=pairs(event.attributes)) for event in record.events],
    )
    found.status.message = record.status_message
    found.status.code = 2 if record.error else 0
    scoped = ScopeSpans(scope=InstrumentationScope(name=record.scope), spans=[found])
    return ResourceSpans(scope_spans=[scoped])


def read_calls(documents: Path) -> list[Record]:
    """The records in a file of the file exporter that are tool calls."""
    found: list[Record] = []
    for line in documents.read_text().splitlines():
        found += otlp_json.records(json.loads(line))
    return [record for record in found if read(record) is not None]


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_recorded_calls_arrive_as_unknown(shared: Path, tmp_path: Path, protocol: Protocol) -> None:
    """Of every instrumentation the tool calls arrive, all by their tool's name, none with a fingerprint or a word."""
    sent = [loud(record) for path in recordings(shared) for record in recorded.records(path)]
    calls = Counter(call.tool for call in map(read, sent) if call is not None)
    assert sum(calls.values()) > 100
    with (
        Collector(tmp_path / "detector", "files_backend.yaml") as detector,
        Collector(
            tmp_path / "gateway", "gateway.yaml", BACKEND_ENDPOINT="127.0.0.1:1", DETECTOR_ENDPOINT=detector.grpc
        ) as gateway,
    ):
        request = ExportTraceServiceRequest()
        request.resource_spans.extend(as_span(record, number) for number, record in enumerate(sent))
        assert CANARY.encode() in request.SerializeToString()
        gateway.send(request, protocol)
        until(lambda: len(detector.spans()) >= sum(calls.values()), "all calls")
        assert CANARY.encode() not in detector.written() + gateway.written()
    arrived = read_calls(detector.output / "traces.jsonl")
    assert Counter(read(record).tool for record in arrived) == calls
    assert {READER.read(record).call.call.fingerprint for record in arrived} == {None}


def test_logged_calls_arrive_as_unknown(behind: Gateway) -> None:
    """Of command-line agents that log their calls the name and the id arrive, and no argument."""
    events: dict[str, Mapping[str, str]] = {
        "claude_code.tool_result": {"tool_name": "Bash", "tool_use_id": "c1", "tool_parameters": CANARY},
        "codex.tool_result": {"tool_name": "shell", "call_id": "c2", "arguments": CANARY, "output": CANARY},
        "gemini_cli.tool_call": {"function_name": "grep", "function_args": CANARY},
    }
    records = [
        LogRecord(time_unix_nano=START, attributes=pairs({**held, "event.name": name}), body=any_value(CANARY))
        for name, held in events.items()
    ]
    message = ExportLogsServiceRequest(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=records)])])
    behind.gateway.send(message)
    until(lambda: len(read_calls(behind.detector.output / "logs.jsonl")) == 3, "three calls")
    arrived = read_calls(behind.detector.output / "logs.jsonl")
    assert [read(record).tool for record in arrived] == ["Bash", "shell", "grep"]
    assert {READER.read(record).call.call.fingerprint for record in arrived} == {None}
    assert CANARY.encode() not in behind.detector.written() + behind.backend.written()


def test_what_is_no_call_goes_to_the_backend_alone(behind: Gateway) -> None:
    """Spans of models, agents and web servers and other services' logs do not burden the detector."""
    others = [
        span("chat", {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "others"}),
        span("invoke_agent", {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "others"}),
        span("GET /", {"http.request.method": "GET", "gen_ai.conversation.id": "others"}),
    ]
    behind.gateway.send(traces([*others, annotated("others", 1)]))
    behind.gateway.send(
        logs([("http.request", {"session.id": "others"}), ("loopguard.run.end", {"session.id": "others"})])
    )

    def names(collector: Collector) -> list[str]:
        found = [one.name for one in collector.spans() if "others" in one.attributes.values()]
        return sorted(found + [one.name for one in collector.logs() if "others" in one.attributes.values()])

    until(lambda: len(names(behind.backend)) == 6, "everything at the backend")
    until(lambda: len(names(behind.detector)) == 2, "the call at the detector")
    assert names(behind.backend) == [
        "GET /", "chat", "execute_tool search", "http.request", "invoke_agent", "loopguard.run.end",
    ]  # fmt: skip
    assert names(behind.detector) == ["execute_tool search", "loopguard.run.end"]


def test_findings_go_to_the_backend_alone(behind: Gateway) -> None:
    """What comes in by the detector's port, events and metrics, does not go back to it, and passes the net as well."""
    point = NumberDataPoint(time_unix_nano=START, as_int=1, attributes=pairs({"question": CANARY}))
    metric = Metric(name="loopguard.queue.size", gauge=Gauge(data_points=[point]))
    held = ResourceMetrics(scope_metrics=[ScopeMetrics(metrics=[metric])])
    send_grpc(behind.gateway.findings, logs([("loopguard.finding", {"loopguard.finding.id": "f1", "words": CANARY})]))
    send_grpc(behind.gateway.findings, ExportMetricsServiceRequest(resource_metrics=[held]))
    until(lambda: "f1" in {one.attributes.get("loopguard.finding.id") for one in behind.backend.logs()}, "the finding")
    until(lambda: "loopguard.queue.size" in {one.name for one in behind.backend.metrics()}, "the metric")
    behind.gateway.send(logs([("loopguard.finding", {"loopguard.finding.id": "f2"})]))
    until(
        lambda: "f2" in {one.attributes.get("loopguard.finding.id") for one in behind.detector.logs()}, "the next one"
    )
    assert "f1" not in {one.attributes.get("loopguard.finding.id") for one in behind.detector.logs()}
    assert behind.detector.metrics() == []
    assert CANARY.encode() not in behind.backend.written()


def test_a_loop_without_our_processor_is_judged_where_its_arguments_arrive(tmp_path: Path) -> None:
    """Equal calls: to the detector itself a nudge and a stop; by the gateway nothing, also where they fail alike."""
    stuck = [raw("direct", number, {"q": "same"}, []) for number in range(1, 6)]
    hidden = [raw("by gateway", number, {"q": "same"}, [], **{"error.type": "timeout"}) for number in range(1, 11)]
    for one in hidden[5:]:
        one.status.code = 2
        one.status.message = "timed out after 3 s"
    with (
        Serving(tmp_path, idle="2s") as detector,
        Collector(
            tmp_path / "g", "gateway.yaml", BACKEND_ENDPOINT="127.0.0.1:1", DETECTOR_ENDPOINT=detector.grpc
        ) as by,
    ):
        by.send(traces(hidden))
        until(lambda: "loopguard_server_items_total 10" in detector.page("/metrics"), "ten calls")
        send_grpc(detector.grpc, traces(stuck))
        until(lambda: len(detector.findings()) == 2, "two findings")
        until(lambda: [line["event"] for line in detector.lines()].count("loopguard.run.end") == 2, "both ends")
        lines = detector.lines()
    assert [line["attributes"]["loopguard.run.id"] for line in lines if line["event"] == "loopguard.finding"] == [
        "direct", "direct",
    ]  # fmt: skip
    assert {
        line["attributes"]["loopguard.run.id"]: (
            line["attributes"]["loopguard.run.calls"], line["attributes"]["loopguard.run.repeat.max"],
        )
        for line in lines
        if line["event"] == "loopguard.run.end"
    } == {"direct": (5, 5), "by gateway": (10, 0)}  # fmt: skip


def test_what_waits_on_the_disk_is_delivered_once(tmp_path: Path) -> None:
    """Backend and detector down, the gateway killed: once all are back each span and record arrives, none twice."""
    backend = Collector(tmp_path / "backend", "files_backend.yaml")
    detector = Collector(tmp_path / "detector", "files_backend.yaml")
    gateway = Collector(
        tmp_path / "gateway", "gateway.yaml", BACKEND_ENDPOINT=backend.grpc, DETECTOR_ENDPOINT=detector.grpc
    )
    with gateway:
        for number in range(1, 51):
            gateway.send(traces([annotated("r", number)]))
            gateway.send(logs([("loopguard.finding", {"loopguard.finding.id": f"f{number}"})]))
        gateway.kill()
        with backend, detector:
            gateway.start()
            for receiver in (backend, detector):
                until(lambda: len(receiver.spans()) >= 50 and len(receiver.logs()) >= 50, "everything")  # noqa: B023
            gateway.stop()
            for receiver in (backend, detector):
                assert sorted(one.attributes["loopguard.sequence"] for one in receiver.spans()) == [*range(1, 51)]
                assert len({one.attributes["loopguard.finding.id"] for one in receiver.logs()}) == 50
                assert len(receiver.logs()) == 50


def test_content_is_told_by_hand() -> None:
    """The test's own idea of content: what it plants the canary in."""
    assert is_content("gen_ai.tool.call.arguments")
    assert not is_content("gen_ai.tool.name")
