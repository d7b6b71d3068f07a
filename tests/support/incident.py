"""One afternoon of three agents, as their backend holds it: what the queries of `collector_config/QUERIES.md` are
asked about.

Real processors, two processes that share a run, and a real detector behind them. Not a Collector: `lines` writes what
its file exporter would.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans

import otel_loopguard
from demo.receiver import Receiver
from otel_loopguard.live import finish
from tests.support.process import Process
from tests.support.serving import Serving
from tests.support.spans import annotated, traces

__all__ = ["DETECTED", "DOUBTFUL", "HEALTHY", "LOOPING", "RECOVERED", "Incident", "agents", "incident", "lines", "text"]

LOOPING: Final = "ticket-4711"
"""Searches the same logs again and again in one process, and reads one order twice in each of two."""
RECOVERED: Final = "ticket-4712"
"""Told once, goes on to something new."""
HEALTHY: Final = "ticket-4713"
"""Reads a page after the other, the last without its arguments in telemetry."""
DOUBTFUL: Final = "ticket-4714"
"""Lacks a call in the middle."""
DETECTED: Final = frozenset({"loopguard.finding", "loopguard.nudge.outcome", "loopguard.integrity"})
"""What only the detector sees: the loop over two processes, that it goes on, and the call that is missing."""


@dataclass
class Incident:
    """What arrived at the backend."""

    spans: list[ExportTraceServiceRequest] = field(default_factory=list)
    logs: list[ExportLogsServiceRequest] = field(default_factory=list)

    @property
    def owners(self) -> dict[str, str]:
        """Service and run of every trace that has tool calls, by trace id."""
        found = {}
        for request in self.spans:
            for source in request.resource_spans:
                service = text(source.resource.attributes, "service.name")
                for span in (span for scope in source.scope_spans for span in scope.spans):
                    run = text(span.attributes, "loopguard.run.id")
                    if run:
                        found[span.trace_id.hex()] = f"{service} {run}"
        return found

    def of_run(self, run: str) -> ExportTraceServiceRequest:
        """The tool spans of one run."""
        found = ExportTraceServiceRequest()
        for request in self.spans:
            for source in request.resource_spans:
                for scope in source.scope_spans:
                    spans = [span for span in scope.spans if text(span.attributes, "loopguard.run.id") == run]
                    if spans:
                        scopes = [ScopeSpans(spans=spans)]
                        found.resource_spans.append(ResourceSpans(resource=source.resource, scope_spans=scopes))
        return found

    def write(self, folder: Path) -> None:
        """As files of the Collector's file exporter; one request of logs comes twice, as after a lost answer."""
        (folder / "traces.jsonl").write_text(lines(self.spans), encoding="utf-8")
        (folder / "logs.jsonl").write_text(lines([*self.logs, *self.logs[-1:]]), encoding="utf-8")


def agents() -> Incident:
    """What the agents' own processes send."""
    found = Incident()
    for process in (_support(), _worker()):
        found.spans.append(encode_spans(process.spans))
        if process.logs:
            found.logs.append(encode_logs(process.log_exporter.get_finished_logs()))
    doubtful = [annotated(DOUBTFUL, number, key=f"k{number}", result=f"r{number}") for number in (1, 2, 4)]
    found.spans.append(traces(doubtful, {"service.name": "research"}))
    return found


def incident(folder: Path) -> Incident:
    """Let it happen; ``folder`` is for the detector's state."""
    found = agents()
    backend = Receiver()
    endpoint = backend.start()
    with Serving(folder, otlp_endpoint=endpoint, otlp_metrics_every="0s") as detector:
        for spans in found.spans:
            assert detector.post(spans.SerializeToString()).status == 200
        for logs in found.logs:
            assert detector.post(logs.SerializeToString(), "/v1/logs").status == 200
        detector.until(lambda: _told(detector.json) >= DETECTED)
    backend.stop()
    found.logs.extend(map(ExportLogsServiceRequest.FromString, backend.raw))
    return found


def text(attributes: Iterable[KeyValue], name: str) -> str:
    """A string attribute; "" where it is absent."""
    return next((pair.value.string_value for pair in attributes if pair.key == name), "")


def _told(path: Path) -> set[str]:
    """The events that a detector wrote as JSON lines."""
    return {json.loads(line)["event"] for line in path.read_text().splitlines()} if path.exists() else set()


def _support() -> Process:
    """A process in which one run loops, one recovers and one is healthy."""
    process = Process(resource={"service.name": "support"})
    usage = {"gen_ai.usage.input_tokens": 900, "gen_ai.usage.output_tokens": 100}
    with otel_loopguard.run(LOOPING, agent="triage"), process.agent("triage"):
        for _ in range(5):
            process.model(**usage)
            process.call("search_logs", {"service": "billing"}, "[]")
        for _ in range(2):
            process.model(**usage)
            process.call("get_order", {"order": 17}, '{"state": "paid"}')
        finish("turn_limit", run_id=LOOPING)
    with otel_loopguard.run(RECOVERED, agent="triage"), process.agent("triage"):
        for _ in range(3):
            process.model(**usage)
            process.call("search_logs", {"service": "search"}, "[]")
        process.model(**usage)
        process.call("get_order", {"order": 18}, '{"state": "open"}')
        finish("final_answer", run_id=RECOVERED)
    with otel_loopguard.run(HEALTHY, agent="writer"), process.agent("writer"):
        for number in range(4):
            process.model(**usage)
            process.call("read_page", {"page": number}, f'{{"text": "{number}"}}')
        process.call("read_page", ...)  # content capture is off
        finish("final_answer", run_id=HEALTHY)
    return process


def _worker() -> Process:
    """Another process of the looping run."""
    process = Process(resource={"service.name": "worker"})
    with otel_loopguard.run(LOOPING, agent="triage"), process.agent("triage"):
        for _ in range(2):
            process.call("get_order", {"order": 17}, '{"state": "paid"}')
    return process


def lines(requests: list[Any]) -> str:
    """OTLP/JSON, one request a line: ids in hex, enumerations as numbers, whole numbers as texts."""
    return "".join(json.dumps(_hex(MessageToDict(one, use_integers_for_enums=True))) + "\n" for one in requests)


def _hex(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, list):
        return [_hex(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64decode(item).hex() if key in {"traceId", "spanId", "parentSpanId"} else _hex(item)
        for key, item in value.items()
    }
