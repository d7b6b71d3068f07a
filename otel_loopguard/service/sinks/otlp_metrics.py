"""The server's numbers as an OTLP metrics request.

Not the sending. Counters are cumulative since the server's start, so a request that is lost is made up for by the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)

from otel_loopguard import names
from otel_loopguard.emit import COUNTERS
from otel_loopguard.service.exposition import Gauge as GaugeValue
from otel_loopguard.service.numbers import Histogram as Values
from otel_loopguard.service.numbers import Numbers
from otel_loopguard.service.sinks.otlp_logs import own_resource, own_scope, pair

__all__ = ["metrics_request"]

_UNITS: Final = {item.name: item.type for item in names.METRICS}
_CUMULATIVE: Final = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE


def metrics_request(
    numbers: Numbers, gauges: Iterable[GaugeValue], instance: str, start_ns: int, now_ns: int
) -> ExportMetricsServiceRequest:
    """Everything that is counted, and some gauges."""
    metrics = [_sum(name, numbers.counters.read(name), start_ns, now_ns) for name in COUNTERS]
    answers = [(count, {names.SERVER_ANSWER: answer}) for answer, count in numbers.answers.items()]
    metrics.append(_sum(names.SERVER_REQUESTS, answers, start_ns, now_ns))
    metrics.append(_sum(names.SERVER_ITEMS, [(numbers.items, {})], start_ns, now_ns))
    for name, values in (
        (names.SERVER_LATENCY, numbers.latency),
        (names.DETECTION_CALLS, numbers.detection),
        (names.WASTED_CALLS, numbers.wasted),
    ):
        metrics.append(_histogram(name, values, start_ns, now_ns))
    by_name: dict[str, list[NumberDataPoint]] = {}
    for name, attributes, value in gauges:
        point = NumberDataPoint(time_unix_nano=now_ns, as_double=value)
        point.attributes.extend(pair(key, text) for key, text in attributes.items())
        by_name.setdefault(name, []).append(point)
    metrics.extend(
        Metric(name=name, unit=_UNITS[name], gauge=Gauge(data_points=points)) for name, points in by_name.items()
    )
    scoped = ScopeMetrics(scope=own_scope(), metrics=[metric for metric in metrics if metric.WhichOneof("data")])
    return ExportMetricsServiceRequest(
        resource_metrics=[ResourceMetrics(resource=own_resource(instance), scope_metrics=[scoped])]
    )


def _sum(name: str, found: Iterable[tuple[int, Mapping[str, str | bool]]], start_ns: int, now_ns: int) -> Metric:
    points = [
        NumberDataPoint(
            start_time_unix_nano=start_ns,
            time_unix_nano=now_ns,
            as_int=total,
            attributes=[pair(key, value) for key, value in attributes.items()],
        )
        for total, attributes in found
    ]
    if not points:
        return Metric(name=name)
    data = Sum(data_points=points, aggregation_temporality=_CUMULATIVE, is_monotonic=True)
    return Metric(name=name, unit=_UNITS[name], sum=data)


def _histogram(name: str, values: Values, start_ns: int, now_ns: int) -> Metric:
    point = HistogramDataPoint(
        start_time_unix_nano=start_ns,
        time_unix_nano=now_ns,
        count=sum(values.counts),
        sum=values.sum,
        bucket_counts=values.counts,
        explicit_bounds=values.bounds,
    )
    data = Histogram(data_points=[point], aggregation_temporality=_CUMULATIVE)
    return Metric(name=name, unit=_UNITS[name], histogram=data)
