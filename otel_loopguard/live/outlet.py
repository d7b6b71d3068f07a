"""Hands what `emit` says to the OpenTelemetry API: events as log records, counters as observable instruments.

Not the SDK: without a provider everything here goes nowhere, silently, as the API promises.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from opentelemetry import metrics
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, set_span_in_context

from otel_loopguard import names
from otel_loopguard.core.referable import Referable
from otel_loopguard.emit import BUCKETS, COUNTERS, Counters, Emitted

from .edge import Edge

logs: Any
try:
    from opentelemetry import _logs as logs
except ImportError:  # pragma: no cover - the underscore says that it may move
    logs = None

__all__ = ["LOGS_SUPPORTED", "Outlet"]

LOGS_SUPPORTED: Final = logs is not None and "event_name" in inspect.signature(logs.Logger.emit).parameters
"""Whether the installed API takes events (`emit` with keywords, since 1.38); below, findings are span events only."""


def _version() -> str:
    try:
        return version("otel-loopguard")
    except PackageNotFoundError:  # run from a bare checkout
        return "0"


class Outlet(Referable):
    """One way out for one process's events and numbers."""

    def __init__(
        self, counters: Counters, edge: Edge, *, logger_provider: object = None, meter_provider: object = None
    ) -> None:
        """Providers of None are the global ones, whenever they come."""
        self.counters = counters
        self.edge = edge
        self._logger_provider: Any = logger_provider
        self._meter_provider: Any = meter_provider
        self._version = _version()
        self._histograms: dict[str, metrics.Histogram] = {}
        try:
            self._open()
        except Exception as error:  # noqa: BLE001 - the host's provider may be anything
            edge.caught(error)

    def _open(self) -> None:
        provider = self._meter_provider or metrics.get_meter_provider()
        meter = provider.get_meter(names.SCOPE, self._version)
        for name in names.METRICS:  # those of the server alone are in neither table
            if name.name in COUNTERS:
                meter.create_observable_counter(name.name, [self._observer(name.name)], name.type, name.meaning)
            elif name.name in BUCKETS:
                self._histograms[name.name] = _histogram(meter, name)

    def _observer(self, counter: str) -> Callable[[metrics.CallbackOptions], Iterable[metrics.Observation]]:
        def observe(_: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
            return [metrics.Observation(total, attributes) for total, attributes in self.counters.read(counter)]

        return observe

    def measure(self, histogram: str, value: float, attributes: Mapping[str, str] | None = None) -> None:
        """One measurement; calls the host's SDK, so it is for what is rare."""
        try:
            instrument = self._histograms.get(histogram)
            if instrument is not None:
                instrument.record(value, attributes)
        except Exception as error:  # noqa: BLE001
            self.edge.caught(error)

    def emit(self, event: Emitted, span: SpanContext | None, timestamp: int) -> None:
        """One event with the context of the span that it is about; ``timestamp`` in nanoseconds since 1970."""
        if not LOGS_SUPPORTED:
            return
        try:
            provider = self._logger_provider or logs.get_logger_provider()
            provider.get_logger(names.SCOPE, self._version).emit(
                timestamp=timestamp,
                context=set_span_in_context(NonRecordingSpan(span), Context()) if span is not None else Context(),
                severity_number=logs.SeverityNumber[event.severity],
                severity_text=event.severity,
                attributes=dict(event.attributes),
                event_name=event.name,
            )
        except Exception as error:  # noqa: BLE001
            self.edge.caught(error)


def _histogram(meter: metrics.Meter, name: names.Name) -> metrics.Histogram:
    bounds = BUCKETS[name.name]
    try:
        return meter.create_histogram(name.name, name.type, name.meaning, explicit_bucket_boundaries_advisory=bounds)
    except TypeError:  # an API below 1.30 knows no advice: the SDK's default buckets
        return meter.create_histogram(name.name, name.type, name.meaning)
