"""A process with our processor in it: the real SDK, exporters that keep what they get, and an agent's spans."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from opentelemetry.sdk import _logs as sdk_logs
from opentelemetry.sdk._logs import export as log_export
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_loopguard.config import Settings
from otel_loopguard.core.fingerprint import Keyring, KeyScope, SecretKey
from otel_loopguard.core.policy import Policy
from otel_loopguard.emit import Counters
from otel_loopguard.live import Edge, Live, Outlet, Sources
from otel_loopguard.otel import LoopGuardSpanProcessor

InMemoryLogs: Any = getattr(log_export, "InMemoryLogRecordExporter", None) or log_export.InMemoryLogExporter
"""Its name before and since SDK 1.39."""


class Raising(Edge):
    """Lets our own errors out, so that a test sees them."""

    def caught(self, error: Exception) -> None:
        """Raise what would be swallowed."""
        raise error


class Fixed:
    """A policy and keys that tests change by hand."""

    def __init__(self, policy: Policy | None = None, secret: bytes = b"k" * 32) -> None:
        self.now = policy or Policy()
        self.keys = Keyring(SecretKey(secret, "k1"))

    def policy(self, now_ns: int) -> Policy:  # noqa: ARG002 - a source is told the time
        """The policy in force."""
        return self.now

    def keyring(self, now_ns: int) -> Keyring:  # noqa: ARG002
        """The keys in force."""
        return self.keys


class Process:
    """Providers with our processor, and what came out of them."""

    def __init__(  # noqa: PLR0913 - every part that a test may choose
        self,
        settings: Settings | None = None,
        *,
        sources: Fixed | None = None,
        key_scope: KeyScope = "environment",
        edge: Callable[[Counters], Edge] = Raising,
        limits: SpanLimits | None = None,
        resource: Mapping[str, str] | None = None,
        exporter_first: bool = False,
        max_runs: int = 1000,
    ) -> None:
        self.sources = sources or Fixed()
        self.exporter = InMemorySpanExporter()
        self.log_exporter = InMemoryLogs()
        self.reader = InMemoryMetricReader()
        source = Resource(dict(resource or {}))
        logs = sdk_logs.LoggerProvider(source, shutdown_on_exit=False)
        logs.add_log_record_processor(log_export.SimpleLogRecordProcessor(self.log_exporter))
        meters = MeterProvider([self.reader], shutdown_on_exit=False)
        counters = Counters()
        outlet = Outlet(counters, edge(counters), logger_provider=logs, meter_provider=meters)
        self.live = Live(Sources(self.sources, self.sources, key_scope), outlet, max_runs=max_runs)
        self.processor = LoopGuardSpanProcessor(settings or Settings(), live=self.live)
        self.provider = TracerProvider(span_limits=limits, resource=source, shutdown_on_exit=False)
        processors = [self.processor, SimpleSpanProcessor(self.exporter)]
        for processor in reversed(processors) if exporter_first else processors:
            self.provider.add_span_processor(processor)
        self.tracer = self.provider.get_tracer("tests")

    @property
    def spans(self) -> list[ReadableSpan]:
        """Exported spans, in the order of their ends."""
        return list(self.exporter.get_finished_spans())

    @property
    def tools(self) -> list[ReadableSpan]:
        """Exported tool spans."""
        return [span for span in self.spans if span.name.startswith("execute_tool")]

    @property
    def attributes(self) -> list[dict[str, Any]]:
        """The attributes of every exported tool span."""
        return [dict(span.attributes or {}) for span in self.tools]

    def written(self, key: str) -> list[Any]:
        """One attribute of every exported tool span; None where it lacks it."""
        return [attributes.get(key) for attributes in self.attributes]

    @property
    def logs(self) -> list[Any]:
        """Emitted log records."""
        return [getattr(log, "log_record", log) for log in self.log_exporter.get_finished_logs()]

    def events(self, name: str) -> list[dict[str, Any]]:
        """The attributes of every emitted event of a name."""
        return [dict(log.attributes) for log in self.logs if log.event_name == name]

    def metric(self, name: str) -> list[tuple[Any, dict[str, Any]]]:
        """What a reader sees of a counter (its value) or a histogram (its count), with attributes."""
        data = self.reader.get_metrics_data()
        if data is None:
            return []
        return [
            (getattr(point, "value", None) if hasattr(point, "value") else point.count, dict(point.attributes))
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]

    def agent(self, name: str = "researcher", **attributes: object) -> AbstractContextManager[Span]:
        """An agent's span."""
        held = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **attributes}
        return self._span(f"invoke_agent {name}", held)

    def model(self, **attributes: object) -> None:
        """A model's span, started and ended."""
        with self._span("chat", {"gen_ai.operation.name": "chat", **attributes}):
            pass

    @contextmanager
    def tool(
        self, name: str = "search", arguments: object = None, result: object = "[]", **attributes: object
    ) -> Iterator[Span]:
        """A tool's span; arguments as JSON text, or none at all where they are `...`; the result is set at its end."""
        held = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **attributes}
        if arguments is not ...:
            held["gen_ai.tool.call.arguments"] = arguments if isinstance(arguments, str) else json.dumps(arguments)
        with self._span(f"execute_tool {name}", held) as span:
            yield span
            if result is not ...:
                span.set_attribute("gen_ai.tool.call.result", result)

    def call(self, name: str = "search", arguments: object = None, result: object = "[]", **attributes: object) -> None:
        """A whole tool call."""
        with self.tool(name, arguments, result, **attributes):
            pass

    def _span(self, name: str, attributes: dict[str, Any]) -> AbstractContextManager[Span]:
        return self.tracer.start_as_current_span(name, attributes=attributes)  # type: ignore[return-value]
