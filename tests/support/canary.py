"""Recorded spans with a canary in every text that is no name, sent through the real SDK, and where it turns up.

What is a name is told here, by hand: an attribute that nobody listed is taken for content.
"""

from __future__ import annotations

import gc
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, Status, StatusCode

from otel_loopguard.conventions import Record, read
from tests.support.process import Process
from tests.support.recorded import records

NAMES: Final = frozenset(
    [
        "agent.name", "agent_id", "agent_key", "agent_name", "agno.run.id", "crew_id", "crew_key", "error.type",
        "event_loop.cycle_id", "event_loop.parent_cycle_id", "exception.escaped", "exception.type", "finish_reason",
        "gcp.vertex.agent.event_id", "gcp.vertex.agent.invocation_id", "gcp.vertex.agent.session_id",
        "gen_ai.agent.call.id", "gen_ai.agent.id", "gen_ai.agent.name", "gen_ai.conversation.id",
        "gen_ai.event.end_time", "gen_ai.event.start_time", "gen_ai.operation.name", "gen_ai.provider.name",
        "gen_ai.request.model", "gen_ai.response.finish_reasons", "gen_ai.response.id", "gen_ai.response.model",
        "gen_ai.system", "gen_ai.task.id", "gen_ai.task.name", "gen_ai.task.parent.id", "gen_ai.task.status",
        "gen_ai.tool.call.id", "gen_ai.tool.name", "gen_ai.tool.status", "gen_ai.tool.type", "gen_ai.workflow.name",
        "graph.node.id", "haystack.tool.name", "id", "input.mime_type", "jsonrpc.request.id",
        "langfuse.observation.type", "llm.model_name", "llm.provider", "llm.system", "logfire.msg", "mcp.method.name",
        "mcp.protocol.version", "model_name", "openinference.span.kind", "output.mime_type", "role", "server.address",
        "session.id", "task_id", "task_key", "tool.agent_role", "tool.class", "tool.id", "tool.name", "tool_call.id",
        "traceloop.entity.name", "traceloop.entity.path", "traceloop.span.kind", "traceloop.workflow.name", "user.id",
    ]
)  # fmt: skip
"""Attributes that name or number something; to change them would change which call it is."""
DESCRIPTIONS: Final = frozenset(
    [
        "agent.tools", "gen_ai.agent.description", "gen_ai.agent.tools", "gen_ai.tool.definitions",
        "gen_ai.tool.description", "gen_ai.tool.json_schema", "gen_ai.workflow.edges", "gen_ai.workflow.nodes",
        "haystack.agent.exit_conditions", "haystack.agent.state_schema", "haystack.agent.tools",
        "haystack.tool.description", "langfuse.observation.model.parameters", "logfire.json_schema", "metadata",
        "model_request_parameters", "smolagents.tools_names", "tool.description", "tool.task_name",
    ]
)  # fmt: skip
"""Attributes that describe tools, agents and set-ups: written by a developer, not by a model or a tool."""
PREFIXES: Final = (
    "crewai.", "langfuse.observation.metadata.", "langfuse.trace.metadata.", "llm.tools.",
    "traceloop.association.properties.",
)  # fmt: skip
"""As `DESCRIPTIONS`."""
CONTENT_AMONG_PREFIXES: Final = frozenset(["crewai.crew.tasks_output", "crewai.task.description"])


IDS: Final = frozenset(["tool_call_id"])
"""Members of content that name the call; one is read out of OpenLLMetry's envelope, and written as the call's id."""


def is_content(key: str) -> bool:
    """Whether an attribute may hold what a model said or a tool returned."""
    return key not in NAMES and key not in DESCRIPTIONS and not key.startswith(PREFIXES)


@dataclass
class Flight:
    """One recording after it went through a process."""

    canary: str
    process: Process
    tools: list[ReadableSpan] = field(default_factory=list)
    others: list[ReadableSpan] = field(default_factory=list)

    def leaks(self, span: ReadableSpan) -> set[str]:
        """Where the canary is in an exported span: attribute keys, ``event/key``, `status`, `elsewhere`."""
        found = {key for key, value in (span.attributes or {}).items() if self.canary in repr(value)}
        for event in span.events:
            held = event.attributes or {}
            found |= {f"{event.name}/{key}" for key, value in held.items() if self.canary in repr(value)}
        if self.canary in (span.status.description or ""):
            found.add("status")
        if not found and self.canary in span.to_json():
            found.add("elsewhere")
        return found

    @property
    def said(self) -> str:
        """Everything that left but spans: log records and metrics."""
        data = self.process.reader.get_metrics_data()
        finished = self.process.log_exporter.get_finished_logs()
        logs = [log.to_json() if hasattr(log, "to_json") else repr(log) for log in finished]
        return "\n".join([*logs, data.to_json() if data is not None else ""])


def planted(value: object, canary: str) -> object:
    """A value with the canary in every text of it."""
    if isinstance(value, str):
        try:
            inner = json.loads(value)
        except ValueError:
            return f"{value} {canary}"
        if isinstance(inner, dict | list):
            return json.dumps(planted(inner, canary))
        return f"{value} {canary}"
    if isinstance(value, Mapping):
        return {key: item if key in IDS else planted(item, canary) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [planted(item, canary) for item in value]
    return value


def holds_content(record: Record) -> bool:
    """Whether a recorded span has a place where a canary can be planted."""
    attributes = [record.attributes, *(event.attributes for event in record.events)]
    return record.error or any(with_canary(held, "x") != dict(held) for held in attributes)


def with_canary(attributes: Mapping[str, Any], canary: str) -> dict[str, Any]:
    """Attributes with the canary in all content."""
    return {key: planted(value, canary) if is_content(key) else value for key, value in attributes.items()}


def fly(recording: Path, process: Process, canary: str = "") -> Flight:
    """Send a recording through a process, parents around their children, everything set before the end."""
    spans = records(recording)
    flight = Flight(canary or f"canary{secrets.token_hex(8)}", process)
    process.exporter.clear()
    children: dict[str, list[Record]] = {}
    ids = {span.span_id for span in spans}
    for span in spans:
        children.setdefault(span.parent_span_id if span.parent_span_id in ids else "", []).append(span)
    was_tool: dict[int, bool] = {}

    def walk(record: Record) -> None:
        tracer = process.provider.get_tracer(record.scope)
        kind = SpanKind[record.kind.upper()] if record.kind else SpanKind.INTERNAL
        with tracer.start_as_current_span(record.name, kind=kind) as span:
            was_tool[span.get_span_context().span_id] = read(record) is not None
            for child in children.get(record.span_id, ()):
                walk(child)
            span.set_attributes(with_canary(record.attributes, flight.canary))
            for event in record.events:
                span.add_event(event.name, with_canary(event.attributes, flight.canary))
            if record.error:
                span.set_status(Status(StatusCode.ERROR, f"{record.status_message} {flight.canary}"))

    for root in children.get("", ()):
        walk(root)
    for span in process.spans:
        (flight.tools if was_tool[span.get_span_context().span_id] else flight.others).append(span)
    return flight


def held_texts(*roots: object) -> Iterator[str]:
    """Every text that objects of ours still hold, however deep: what a memory dump would show."""
    seen: set[int] = set()
    stack: list[object] = list(roots)
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, str):
            yield item
        elif isinstance(item, bytes | bytearray):
            yield item.decode("utf-8", "replace")
        elif not isinstance(item, type | ModuleType | FunctionType | FrameType | trace.TracerProvider):
            stack.extend(gc.get_referents(item))


def as_otlp_json(flight: Flight) -> str:
    """The recording's spans as a line of the Collector's file exporter, as they were exported."""

    def value(item: object) -> dict[str, Any]:
        if isinstance(item, bool):
            return {"boolValue": item}
        if isinstance(item, int):
            return {"intValue": str(item)}
        if isinstance(item, float):
            return {"doubleValue": item}
        if isinstance(item, list | tuple):
            return {"arrayValue": {"values": [value(one) for one in item]}}
        if isinstance(item, Mapping):
            return {"kvlistValue": {"values": [{"key": key, "value": value(one)} for key, one in item.items()]}}
        return {"stringValue": str(item)}

    def attributes(held: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        return [{"key": key, "value": value(item)} for key, item in (held or {}).items()]

    spans = [
        {
            "traceId": f"{span.get_span_context().trace_id:032x}",
            "spanId": f"{span.get_span_context().span_id:016x}",
            "parentSpanId": f"{span.parent.span_id:016x}" if span.parent is not None else "",
            "name": span.name,
            "kind": span.kind.value + 1,
            "startTimeUnixNano": str(span.start_time),
            "endTimeUnixNano": str(span.end_time),
            "attributes": attributes(span.attributes),
            "events": [
                {"timeUnixNano": str(event.timestamp), "name": event.name, "attributes": attributes(event.attributes)}
                for event in span.events
            ],
            "status": {"code": span.status.status_code.value, "message": span.status.description or ""},
        }
        for span in [*flight.tools, *flight.others]
    ]  # fmt: skip
    return json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]})
