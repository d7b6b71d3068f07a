"""The second net: whatever an agent without our processor puts anywhere, its content does not pass the gateway."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AGGREGATION_TEMPORALITY_CUMULATIVE,
    Exemplar,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
    Summary,
    SummaryDataPoint,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.collector.conftest import Gateway
from tests.support.collector import Collector, Protocol, until
from tests.support.spans import START, any_value, pairs, raw, traces

PROTOCOLS: Final = ("grpc", "http")


def tool_span(run: str) -> Span:
    """A tool span with nothing but what names it."""
    return raw(run, 1, {}, {}, **{"loopguard.run.id": run})


def trace_with(run: str, change: Callable[[Span], object]) -> ExportTraceServiceRequest:
    """A request with one tool span, changed."""
    message = traces([tool_span(run)])
    change(message.resource_spans[0].scope_spans[0].spans[0])
    return message


def resource_with(run: str, held: dict[str, Any], *, scope: bool = False) -> ExportTraceServiceRequest:
    """A request with one tool span whose resource, or scope, has attributes."""
    message = traces([tool_span(run)])
    holder = message.resource_spans[0]
    (holder.scope_spans[0].scope if scope else holder.resource).attributes.extend(pairs(held))
    return message


def span_event(name: str, held: dict[str, Any]) -> Callable[[Span], object]:
    """Adds a span event."""
    return lambda span: span.events.append(Span.Event(name=name, time_unix_nano=START, attributes=pairs(held)))


def attribute(key: str, value: object) -> Callable[[Span], object]:
    """Sets an attribute, in the place of one of that name."""

    def change(span: Span) -> None:
        held = [pair for pair in span.attributes if pair.key != key]
        del span.attributes[:]
        span.attributes.extend([*held, *pairs({key: value})])

    return change


def link(canary: str) -> Callable[[Span], object]:
    """Adds a link with an attribute."""
    found = Span.Link(trace_id=b"1" * 16, span_id=b"2" * 8, attributes=pairs({"gen_ai.tool.name": canary}))
    return lambda span: span.links.append(found)


def status(canary: str) -> Callable[[Span], object]:
    """Sets a status with words."""
    return lambda span: span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message=canary))


SPANS: Final[dict[str, Callable[[str, str], ExportTraceServiceRequest]]] = {
    "arguments": lambda run, canary: trace_with(run, attribute("gen_ai.tool.call.arguments", canary)),
    "result": lambda run, canary: trace_with(run, attribute("gen_ai.tool.call.result", canary)),
    "messages": lambda run, canary: trace_with(run, attribute("gen_ai.input.messages", canary)),
    "an attribute of nobody": lambda run, canary: trace_with(run, attribute("my.notes", canary)),
    "a map under a listed name": lambda run, canary: trace_with(run, attribute("loopguard.outcome", {"x": canary})),
    "a listed name in a map": lambda run, canary: trace_with(
        run, attribute("my.map", {"deep": {"gen_ai.tool.call.arguments": canary}})
    ),
    "a map that is very large": lambda run, canary: trace_with(
        run, attribute("gen_ai.tool.name", {"x": canary, **{f"k{number}": number for number in range(30_000)}})
    ),
    "a list that is very large": lambda run, canary: trace_with(
        run, attribute("gen_ai.tool.name", [canary, *range(30_000)])
    ),
    "a list under a listed name": lambda run, canary: trace_with(run, attribute("gen_ai.agent.name", [canary])),
    "a map in a list": lambda run, canary: trace_with(run, attribute("gen_ai.agent.name", [{"x": [canary]}])),
    "a map among the kinds": lambda run, canary: trace_with(
        run, attribute("loopguard.finding.kinds", ["identical", {"x": canary}])
    ),
    "words among the kinds": lambda run, canary: trace_with(
        run, attribute("loopguard.finding.kinds", [f"the answer is {canary}"])
    ),
    "words among the keys": lambda run, canary: trace_with(
        run, attribute("loopguard.redacted.keys", ["a", f"b {canary}"])
    ),
    "words among the reasons": lambda run, canary: trace_with(
        run, attribute("gen_ai.response.finish_reasons", [f"stop: {canary}"])
    ),
    "an exception's words": lambda run, canary: trace_with(
        run, span_event("exception", {"exception.type": "E", "exception.message": canary})
    ),
    "an exception's stack": lambda run, canary: trace_with(
        run, span_event("exception", {"exception.stacktrace": canary})
    ),
    "a map in an event": lambda run, canary: trace_with(
        run, span_event("exception", {"exception.type": {"x": canary}})
    ),
    "a message event": lambda run, canary: trace_with(run, span_event("gen_ai.choice", {"message": canary})),
    "the status": lambda run, canary: trace_with(run, status(canary)),
    "a link": lambda run, canary: trace_with(run, link(canary)),
    "the resource": lambda run, canary: resource_with(run, {"process.command_line": canary}),
    "a map in the resource": lambda run, canary: resource_with(run, {"host.name": {"x": canary}}),
    "the scope": lambda run, canary: resource_with(run, {"my.scope": canary}, scope=True),
    "a map in the scope": lambda run, canary: resource_with(run, {"service.version": {"x": canary}}, scope=True),
}  # fmt: skip


def log_with(run: str, body: object = None, name: str = "", **fields: Any) -> ExportLogsServiceRequest:  # noqa: ANN401
    """A request with one log record, which the run id tells from others."""
    record = LogRecord(time_unix_nano=START, event_name=name)
    record.attributes.extend(pairs({"loopguard.run.id": run, **fields}))
    if body is not None:
        record.body.CopyFrom(any_value(body))
    return ExportLogsServiceRequest(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=[record])])])


LOGS: Final[dict[str, Callable[[str, str], ExportLogsServiceRequest]]] = {
    "a text as body": lambda run, canary: log_with(run, canary, "loopguard.finding"),
    "a text without a name": log_with,
    "a map as body": lambda run, canary: log_with(run, {"message": canary}, "loopguard.finding"),
    "a listed name in a body": lambda run, canary: log_with(run, {"gen_ai.tool.name": canary}, "loopguard.finding"),
    "a deep map as body": lambda run, canary: log_with(run, {"a": {"loopguard.run.id": {"b": canary}}}, "x.y"),
    "a list in a body": lambda run, canary: log_with(run, {"loopguard.run.id": [canary, {"x": canary}]}, "x.y"),
    "a list as body": lambda run, canary: log_with(run, [canary, [canary]]),
    "bytes as body": lambda run, canary: log_with(run, canary.encode()),
    "an attribute": lambda run, canary: log_with(run, "-", "codex.tool_result", arguments=canary),
    "a map in an attribute": lambda run, canary: log_with(run, "-", **{"gen_ai.tool.name": {"x": [canary]}}),
    "a very large map": lambda run, canary: log_with(
        run, "-", **{"gen_ai.tool.name": {"x": {"y": canary}, **{f"k{number}": number for number in range(30_000)}}}
    ),
    "a list in an attribute": lambda run, canary: log_with(run, "-", **{"gen_ai.tool.name": [canary]}),
    "what a blocked agent says": lambda run, canary: log_with(
        run, None, "loopguard.blocked", **{"loopguard.blocked.needed": canary}
    ),
}


def metric_with(
    run: str, point: dict[str, Any], exemplar: dict[str, Any], metadata: dict[str, Any] | None = None
) -> ExportMetricsServiceRequest:
    """A request with a sum and a histogram; the run tells them from others by their names."""
    example = Exemplar(time_unix_nano=START, as_double=1, filtered_attributes=pairs(exemplar))
    number = NumberDataPoint(time_unix_nano=START, as_int=1, attributes=pairs(point), exemplars=[example])
    kept = HistogramDataPoint(
        time_unix_nano=START, count=1, bucket_counts=[1], attributes=pairs(point), exemplars=[example]
    )
    how = AGGREGATION_TEMPORALITY_CUMULATIVE
    metrics = [
        Metric(name=run, sum=Sum(data_points=[number], aggregation_temporality=how, is_monotonic=True)),
        Metric(name=run, histogram=Histogram(data_points=[kept], aggregation_temporality=how)),
    ]
    for metric in metrics:
        metric.metadata.extend(pairs(metadata or {}))
    return ExportMetricsServiceRequest(
        resource_metrics=[ResourceMetrics(scope_metrics=[ScopeMetrics(metrics=metrics)])]
    )


METRICS: Final[dict[str, Callable[[str, str], ExportMetricsServiceRequest]]] = {
    "an attribute": lambda run, canary: metric_with(run, {"question": canary}, {}),
    "a map in an attribute": lambda run, canary: metric_with(run, {"gen_ai.tool.name": {"x": canary}}, {}),
    "an example": lambda run, canary: metric_with(run, {}, {"question": canary}),
    "what is said of a metric": lambda run, canary: metric_with(run, {}, {}, {"gen_ai.tool.name": canary}),
    "a map of what is said of it": lambda run, canary: metric_with(run, {}, {}, {"a": {"b": [canary]}}),
}


def ids() -> tuple[str, str]:
    """A run and a canary that nobody else has."""
    return f"run-{secrets.token_hex(6)}", f"canary{secrets.token_hex(8)}"


def wait_for_span(receiver: Collector, run: str) -> None:
    """Wait until a span of the run is there."""
    until(lambda: run in {one.attributes.get("loopguard.run.id") for one in receiver.spans()}, run)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("place", SPANS)
def test_no_content_of_a_span_passes(behind: Gateway, place: str, protocol: Protocol) -> None:
    """The call arrives at backend and detector, and nothing of what was said with it, in no part of the span."""
    run, canary = ids()
    message = SPANS[place](run, canary)
    assert canary.encode() in message.SerializeToString()

    behind.gateway.send(message, protocol)
    for receiver in (behind.backend, behind.detector):
        wait_for_span(receiver, run)
        assert canary.encode() not in receiver.written()
    assert canary.encode() not in behind.gateway.written()
    assert canary not in behind.gateway.log.read_text()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("place", LOGS)
def test_no_content_of_a_log_record_passes(behind: Gateway, place: str, protocol: Protocol) -> None:
    """The record arrives at the backend, and nothing of what it says."""
    run, canary = ids()
    message = LOGS[place](run, canary)
    assert canary.encode() in message.SerializeToString()

    behind.gateway.send(message, protocol)
    until(lambda: run in {one.attributes.get("loopguard.run.id") for one in behind.backend.logs()}, run)
    for receiver in (behind.backend, behind.detector, behind.gateway):
        assert canary.encode() not in receiver.written()
    assert canary not in behind.gateway.log.read_text()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("place", METRICS)
def test_no_content_of_a_metric_passes(behind: Gateway, place: str, protocol: Protocol) -> None:
    """Both metrics arrive at the backend, without the example of a measurement and the attribute of nobody."""
    run, canary = ids()
    message = METRICS[place](run, canary)
    assert canary.encode() in message.SerializeToString()

    behind.gateway.send(message, protocol)
    until(lambda: [one.name for one in behind.backend.metrics()].count(run) == 2, run)
    for receiver in (behind.backend, behind.gateway):
        assert canary.encode() not in receiver.written()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_long_text_takes_no_neighbour_with_it(behind: Gateway, protocol: Protocol) -> None:
    """A text in an attribute is cut to 4,096 bytes, so that it makes no span larger than a request may be."""
    (long, _), (small, _) = ids(), ids()
    message = trace_with(long, attribute("gen_ai.agent.name", "x" * 2_500_000))
    message.MergeFrom(trace_with(small, attribute("gen_ai.agent.name", "y")))
    behind.gateway.send(message, protocol)
    for receiver in (behind.backend, behind.detector):
        wait_for_span(receiver, small)
        wait_for_span(receiver, long)
        (name,) = [one.attributes["gen_ai.agent.name"] for one in receiver.spans()
                   if one.attributes.get("loopguard.run.id") == long]  # fmt: skip
        assert name == "x" * 4096


def test_every_kind_of_metric_passes(behind: Gateway) -> None:
    """A gauge, a summary and an exponential histogram arrive too: no step of the net trips over one of them."""
    run, _ = ids()
    gauge = Gauge(data_points=[NumberDataPoint(time_unix_nano=START, as_int=1)])
    summary = Summary(data_points=[SummaryDataPoint(time_unix_nano=START, count=1, sum=1)])
    point = ExponentialHistogramDataPoint(time_unix_nano=START, count=1, zero_count=1)
    exponential = ExponentialHistogram(data_points=[point], aggregation_temporality=AGGREGATION_TEMPORALITY_CUMULATIVE)
    kinds = {"gauge": gauge, "summary": summary, "exponential_histogram": exponential}
    metrics = [Metric(name=run, **{kind: value}) for kind, value in kinds.items()]
    scoped = ScopeMetrics(metrics=metrics)
    behind.gateway.send(ExportMetricsServiceRequest(resource_metrics=[ResourceMetrics(scope_metrics=[scoped])]))
    until(lambda: [one.name for one in behind.backend.metrics()].count(run) == 3, run)


@pytest.mark.parametrize("recipe", ["agent.yaml", "tail_sampling.yaml"])
def test_the_other_recipes_hang_the_same_net(behind: Gateway, tmp_path: Path, recipe: str) -> None:
    """A sidecar and a tail sampler pass on what is listed, and none of the content, to the next Collector."""
    run, canary = ids()
    targets = {"GATEWAY_ENDPOINT": behind.backend.grpc, "BACKEND_ENDPOINT": behind.backend.grpc}
    with Collector(tmp_path, recipe, DECISION_WAIT="1s", KEEP_PERCENT="100", **targets) as collector:
        for make in [*SPANS.values(), *LOGS.values(), *METRICS.values()]:
            collector.send(make(run, canary))
        wait_for_span(behind.backend, run)
    assert canary.encode() not in collector.written()
    assert canary.encode() not in behind.backend.written()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_large_requests_pass_without_their_content(behind: Gateway, protocol: Protocol) -> None:
    """A request of 7 MiB, as agents with content send them, is taken; what is left of it goes to the detector."""
    run, canary = ids()
    spans = [raw(run, number, {"q": canary + "x" * (1 << 20)}, {}, **{"loopguard.run.id": run}) for number in range(7)]
    behind.gateway.send(traces(spans), protocol)
    until(
        lambda: [one.attributes.get("loopguard.run.id") for one in behind.detector.spans()].count(run) == 7, "7 spans"
    )
    assert canary.encode() not in behind.detector.written()


def test_what_we_write_passes_whole(behind: Gateway) -> None:
    """Lists of kinds, keys and reasons, marks of every type, a span event and the state arrive as they were sent."""
    run, _ = ids()
    held = {
        "loopguard.finding.kinds": ["cycle", "same_error"],
        "loopguard.redacted.keys": ["exception/exception.message", "gen_ai.tool.call.arguments"],
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "loopguard.repeat.count": 3,
        "loopguard.user.message": True,
        "loopguard.verdict": "nudge",
    }
    message = traces([raw(run, 1, {}, {}, **{"loopguard.run.id": run, "tenant.id": "t"})], {"service.name": "agent"})
    span = message.resource_spans[0].scope_spans[0].spans[0]
    span.attributes.extend(pairs(held))
    span_event("loopguard.finding", {"loopguard.finding.kind": "cycle", "loopguard.finding.action": "nudge"})(span)
    span.status.code = Status.STATUS_CODE_ERROR

    behind.gateway.send(message)
    for receiver in (behind.backend, behind.detector):
        wait_for_span(receiver, run)
        (found,) = [one for one in receiver.spans() if one.attributes.get("loopguard.run.id") == run]
        assert {key: value for key, value in found.attributes.items() if key in held} == held
        assert found.attributes["gen_ai.tool.name"] == "search"
        assert found.events == [
            ("loopguard.finding", {"loopguard.finding.kind": "cycle", "loopguard.finding.action": "nudge"})
        ]
        assert (found.resource, found.fields["status"]) == ({"service.name": "agent"}, {"code": 2})


def test_no_content_waits_on_the_disk(tmp_path: Path) -> None:
    """With backend and detector down everything is in the queues, without a word of content."""
    run, canary = ids()
    with Collector(
        tmp_path, "gateway.yaml", BACKEND_ENDPOINT="127.0.0.1:1", DETECTOR_ENDPOINT="127.0.0.1:1"
    ) as gateway:
        for make in [*SPANS.values(), *LOGS.values(), *METRICS.values()]:
            gateway.send(make(run, canary))
        gateway.kill()
        kept = gateway.written()
    assert run.encode() in kept
    assert canary.encode() not in kept
