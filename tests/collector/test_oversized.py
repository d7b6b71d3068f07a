"""One record above what a request may be takes no neighbour with it: whatever of it can be long is cut or left out."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AGGREGATION_TEMPORALITY_CUMULATIVE,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from tests.support.collector import Collector, Exported, until
from tests.support.spans import START, pairs, raw, traces

MANY: Final = 2_500_000
"""More than a request may have."""
LONG: Final = "x" * MANY
BYTES: Final = KeyValue(key="gen_ai.agent.name", value=AnyValue(bytes_value=b"x" * MANY))
ALLOWED: Final = 2_000_000


@dataclass(frozen=True)
class Sent:
    """A Collector with a recipe, and those to whom it sends."""

    collector: Collector
    receivers: list[Collector]


@pytest.fixture(scope="module", params=["gateway.yaml", "agent.yaml", "tail_sampling.yaml"])
def sent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sent]:
    """Each recipe that redacts, before backends that take no more than OTLP receivers do by default."""
    folder = tmp_path_factory.mktemp("oversized")
    with (
        Collector(folder / "backend", "files_backend.yaml") as backend,
        Collector(folder / "detector", "files_backend.yaml") as detector,
        Collector(
            folder / "sender", request.param, BACKEND_ENDPOINT=backend.grpc, GATEWAY_ENDPOINT=backend.grpc,
            DETECTOR_ENDPOINT=detector.grpc, DECISION_WAIT="1s", KEEP_PERCENT="100",
        ) as collector,
    ):  # fmt: skip
        yield Sent(collector, [backend, detector] if request.param == "gateway.yaml" else [backend])


NAN: Final = KeyValue(key="gen_ai.agent.name", value=AnyValue(double_value=math.nan))
Change = Callable[[Span, ScopeSpans, ResourceSpans], object]


def deep(levels: int) -> KeyValue:
    """A listed name with maps in maps."""
    value = AnyValue(string_value="x")
    for _ in range(levels):
        outer = AnyValue()
        outer.kvlist_value.values.add(key="k" * 100_000).value.CopyFrom(value)
        value = outer
    return KeyValue(key="gen_ai.agent.name", value=value)


def events(count: int, size: int) -> Change:
    """So many events with so long a type of an exception."""
    made = [Span.Event(name="exception", time_unix_nano=START, attributes=pairs({"exception.type": "x" * size}))]
    return lambda span, _scope, _resource: span.events.extend(made * count)


def findings(count: int) -> Change:
    """So many findings on one span, each with long texts under listed names."""
    held = {f"gen_ai.{one}.name": "x" * 4_000 for one in ("agent", "tool", "task", "workflow")}
    made = [Span.Event(name="loopguard.finding", time_unix_nano=START, attributes=pairs(held))]
    return lambda span, _scope, _resource: span.events.extend(made * count)


def every_listed_name(span: Span, _scope: ScopeSpans, _resource: ResourceSpans) -> None:
    """Long texts under names of which most are listed."""
    names = [f"{one}.{other}" for one in ("gen_ai", "loopguard", "tool") for other in ("name", "id", "type")]
    names += ["host.name", "session.id", "agent.name", "llm.model_name", "tool_name", "call_id", "rpc.method"]
    span.attributes.extend(pair for name in names for pair in pairs({name: "x" * 400_000}))


SPANS: Final[dict[str, Change]] = {
    "a text": lambda span, _s, _r: span.attributes.extend(pairs({"gen_ai.agent.name": LONG})),
    "bytes": lambda span, _s, _r: span.attributes.append(BYTES),
    "many long texts": every_listed_name,
    "kinds": lambda span, _s, _r: span.attributes.extend(pairs({"loopguard.finding.kinds": ["identical"] * 300_000})),
    "keys": lambda span, _s, _r: span.attributes.extend(pairs({"loopguard.redacted.keys": ["a.b"] * 600_000})),
    "no list of kinds": lambda span, _s, _r: span.attributes.extend(pairs({"loopguard.finding.kinds": True})),
    "kinds in bytes": lambda span, _s, _r: span.attributes.append(
        KeyValue(key="loopguard.finding.kinds", value=AnyValue(bytes_value=b"x" * MANY))
    ),
    "a list": lambda span, _s, _r: span.attributes.extend(pairs({"gen_ai.tool.name": ["a"] * 300_000})),
    "a list in an event": lambda span, _s, _r: span.events.append(
        Span.Event(name="e", time_unix_nano=START, attributes=pairs({"exception.type": ["a"] * 300_000}))
    ),
    "a list in a scope": lambda _s, scope, _r: scope.scope.attributes.extend(pairs({"host.name": [1] * 300_000})),
    "a list in a resource": lambda _s, _scope, resource: resource.resource.attributes.extend(
        pairs({"host.name": [1] * 300_000})
    ),
    "a map": lambda span, _s, _r: span.attributes.extend(
        pairs({"gen_ai": {"tool": {"name": LONG}, **{f"k{number}": "v" for number in range(200_000)}}})
    ),
    "maps in maps": lambda span, _s, _r: span.attributes.append(deep(28)),
    "no number": lambda span, _s, _r: span.attributes.append(NAN),
    "no number of nobody": lambda span, _s, _r: span.attributes.extend(pairs({"my.score": math.inf})),
    "no number in a resource": lambda _s, _scope, resource: resource.resource.attributes.append(NAN),
    "no number in a list": lambda span, _s, _r: span.attributes.extend(
        pairs({"gen_ai.tool.name": [math.nan] * 300_000})
    ),
    "a name": lambda span, _s, _r: setattr(span, "name", LONG),
    "trace state": lambda span, _s, _r: setattr(span, "trace_state", "a=" + LONG),
    "a status": lambda span, _s, _r: setattr(span.status, "message", LONG),
    "a link": lambda span, _s, _r: span.links.append(
        Span.Link(trace_id=b"1" * 16, span_id=b"2" * 8, trace_state=LONG, attributes=pairs({"host.name": LONG}))
    ),
    "an event's name": lambda span, _s, _r: span.events.append(Span.Event(name=LONG, time_unix_nano=START)),
    "an event's text": events(1, MANY),
    "an event's bytes": lambda span, _s, _r: span.events.append(
        Span.Event(name="e", time_unix_nano=START, attributes=[BYTES])
    ),
    "many events": events(900, 4_000),
    "very many events": events(100_000, 30),
    "many findings": findings(250),
    "more findings": findings(450),
    "a scope's name": lambda _s, scope, _r: setattr(scope.scope, "name", LONG),
    "a scope's version": lambda _s, scope, _r: setattr(scope.scope, "version", LONG),
    "a scope's text": lambda _s, scope, _r: scope.scope.attributes.extend(pairs({"service.name": LONG})),
    "a scope's bytes": lambda _s, scope, _r: scope.scope.attributes.append(BYTES),
    "a scope's schema": lambda _s, scope, _r: setattr(scope, "schema_url", LONG),
    "a resource's text": lambda _s, _scope, resource: resource.resource.attributes.extend(pairs({"host.name": LONG})),
    "a resource's bytes": lambda _s, _scope, resource: resource.resource.attributes.append(BYTES),
    "a resource's schema": lambda _s, _scope, resource: setattr(resource, "schema_url", LONG),
}


def names() -> tuple[str, str]:
    """Two runs that nobody else has."""
    return f"big-{secrets.token_hex(6)}", f"small-{secrets.token_hex(6)}"


def one_span(run: str) -> Span:
    """A tool span with nothing but what names it, in a trace of its own."""
    return raw(run, 1, {}, {}, **{"loopguard.run.id": run})


@pytest.mark.parametrize("part", SPANS)
def test_a_large_span_takes_no_neighbour_with_it(sent: Sent, part: str) -> None:
    """Both arrive, in one request each of a size that receivers take, whichever part of the one is long."""
    big, small = names()
    message = traces([one_span(big)])
    resource = message.resource_spans[0]
    SPANS[part](resource.scope_spans[0].spans[0], resource.scope_spans[0], resource)
    message.MergeFrom(traces([one_span(small)]))
    assert isinstance(message, ExportTraceServiceRequest)
    sent.collector.send(message)
    for receiver in sent.receivers:
        until(partial(_have, receiver.spans, {big, small}), f"{part}: both spans")
        (arrived,) = [one for one in receiver.spans() if one.attributes.get("loopguard.run.id") == big]
        assert len(str(arrived.fields)) + len(str(arrived.scope)) + len(str(arrived.resource)) < ALLOWED


def test_names_are_cut_between_characters(sent: Sent) -> None:
    """What arrives is text that every backend takes, and numbers beside what is left out stay numbers."""
    run, _ = names()
    span = one_span(run)
    span.name = "a" + "\u00e9" * 300
    span.events.append(Span.Event(name="a" + "\u00e9" * 300, time_unix_nano=START))
    span.attributes.extend(pairs({"gen_ai.usage.input_tokens": 7, "notes": {"csv": "1," * 30_000}}))
    sent.collector.send(traces([span]))
    for receiver in sent.receivers:
        until(partial(_have, receiver.spans, {run}), run)
        (arrived,) = [one for one in receiver.spans() if one.attributes.get("loopguard.run.id") == run]
        assert (arrived.name, arrived.events[0][0]) == ("a" + "\u00e9" * 255, "a" + "\u00e9" * 255)
        assert arrived.attributes["gen_ai.usage.input_tokens"] == 7


def _have(arrived: Callable[[], list[Exported]], runs: set[str]) -> bool:
    return runs <= {one.attributes.get("loopguard.run.id") for one in arrived()}


LOGS: Final[dict[str, Callable[[LogRecord, ScopeLogs], object]]] = {
    "a text": lambda record, _scope: record.attributes.extend(pairs({"gen_ai.agent.name": LONG})),
    "bytes": lambda record, _scope: record.attributes.append(BYTES),
    "a body": lambda record, _scope: setattr(record.body, "string_value", LONG),
    "an event's name": lambda record, _scope: setattr(record, "event_name", LONG),
    "a severity": lambda record, _scope: setattr(record, "severity_text", LONG),
    "no number": lambda record, _scope: record.attributes.append(NAN),
    "a list": lambda record, _scope: record.attributes.extend(pairs({"gen_ai.tool.name": ["a"] * 300_000})),
    "a scope's name": lambda _record, scope: setattr(scope.scope, "name", LONG),
    "a scope's bytes": lambda _record, scope: scope.scope.attributes.append(BYTES),
}


def log_request(*records: tuple[str, Callable[[LogRecord, ScopeLogs], object] | None]) -> ExportLogsServiceRequest:
    """Records of runs, each in a scope of its own."""
    message = ExportLogsServiceRequest()
    for run, change in records:
        scope = ScopeLogs(log_records=[LogRecord(time_unix_nano=START, event_name="loopguard.finding")])
        record = scope.log_records[0]
        record.attributes.extend(pairs({"loopguard.run.id": run}))
        if change is not None:
            change(record, scope)
        message.resource_logs.append(ResourceLogs(scope_logs=[scope]))
    return message


@pytest.mark.parametrize("part", LOGS)
def test_a_large_log_record_takes_no_neighbour_with_it(sent: Sent, part: str) -> None:
    """Both arrive, whichever part of the one is long."""
    big, small = names()
    sent.collector.send(log_request((big, LOGS[part]), (small, None)))
    backend = sent.receivers[0]
    until(partial(_have, backend.logs, {big, small}), f"{part}: both records")
    (arrived,) = [one for one in backend.logs() if one.attributes.get("loopguard.run.id") == big]
    assert len(str(arrived.fields)) + len(str(arrived.scope)) < ALLOWED


def sum_of(name: str, *held: KeyValue, **fields: str) -> Metric:
    """A sum with one point."""
    point = NumberDataPoint(time_unix_nano=START, as_int=1, attributes=held)
    how = AGGREGATION_TEMPORALITY_CUMULATIVE
    return Metric(name=name, sum=Sum(data_points=[point], aggregation_temporality=how, is_monotonic=True), **fields)


def buckets(count: int) -> Metric:
    """A histogram with so many buckets."""
    point = HistogramDataPoint(
        time_unix_nano=START,
        count=1,
        bucket_counts=[1] * count,
        explicit_bounds=[float(one) for one in range(count - 1)],
    )
    kept = Histogram(data_points=[point], aggregation_temporality=AGGREGATION_TEMPORALITY_CUMULATIVE)
    return Metric(name="many.buckets", histogram=kept)


METRICS: Final[dict[str, Callable[[], Metric]]] = {
    "a name": lambda: sum_of(LONG),
    "a description": lambda: sum_of("m", description=LONG),
    "a unit": lambda: sum_of("m", unit=LONG),
    "no number": lambda: sum_of("m", NAN),
    "a text": lambda: sum_of("m", *pairs({"gen_ai.tool.name": LONG})),
    "bytes": lambda: sum_of("m", BYTES),
    "a list": lambda: sum_of("m", *pairs({"gen_ai.tool.name": [1] * 300_000})),
    "buckets": lambda: buckets(300_000),
}


@pytest.mark.parametrize("part", METRICS)
def test_a_large_metric_takes_no_neighbour_with_it(sent: Sent, part: str) -> None:
    """The other metric of the request arrives; a point with too many buckets is left out, anything else is cut."""
    _, small = names()
    message = ExportMetricsServiceRequest(
        resource_metrics=[ResourceMetrics(scope_metrics=[ScopeMetrics(metrics=[METRICS[part](), sum_of(small)])])]
    )
    sent.collector.send(message)
    until(lambda: small in {one.name for one in sent.receivers[0].metrics()}, f"{part}: the other metric")
