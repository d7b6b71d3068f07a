"""OTLP in the tables of the Collector's `clickhouse` exporter: made by its own statements, with rows as it writes them.

Not a server: what is made here is for chDB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tests.support.incident import Incident, text

__all__ = ["statements"]

_TEXTS: Final = "Map(String, String)"
_COLUMNS: Final = {
    "otel_traces": {
        "Timestamp": "DateTime64(9)",
        "TraceId": "String",
        "SpanId": "String",
        "ParentSpanId": "String",
        "SpanName": "String",
        "ServiceName": "String",
        "ResourceAttributes": _TEXTS,
        "SpanAttributes": _TEXTS,
        "`Events.Timestamp`": "Array(DateTime64(9))",
        "`Events.Name`": "Array(String)",
        "`Events.Attributes`": f"Array({_TEXTS})",
    },
    "otel_logs": {
        "Timestamp": "DateTime64(9)",
        "TraceId": "String",
        "SpanId": "String",
        "SeverityText": "String",
        "ServiceName": "String",
        "ResourceAttributes": _TEXTS,
        "LogAttributes": _TEXTS,
        "EventName": "String",
    },
}
"""The columns that are filled, and how they are read from a file of rows."""


def statements(templates: Path, incident: Incident, folder: Path) -> list[str]:
    """Everything to tell ClickHouse before it is asked; ``templates`` is the exporter's folder of SQL."""
    rows = {"otel_traces": _spans(incident), "otel_logs": _logs(incident)}
    found = ["CREATE DATABASE otel", "USE otel"]
    for table, file in (("otel_traces", "traces_table.sql"), ("otel_logs", "logs_table.sql")):
        found.append(_filled((templates / file).read_text(encoding="utf-8"), table))
        data = folder / f"{table}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows[table]), encoding="utf-8")
        columns = ", ".join(_COLUMNS[table])
        types = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS[table].items())
        found.append(
            f"INSERT INTO {table} ({columns}) SELECT {columns} FROM file('{data}', JSONEachRow, '{types}')"  # noqa: S608
        )
    return found


def _filled(template: str, table: str) -> str:
    """The exporter's template as it fills it without a cluster, a time to live and full text search."""
    sql = re.sub(r"\{\{-? if [^}]*\}\}.*?\{\{-? else \}\}|\{\{-? end \}\}", "", template, flags=re.DOTALL)
    sql = re.sub(r"\{\{-? if [^}]*\}\}.*?\{\{-? else\}\}|\{\{-? end\}\}", "", sql, flags=re.DOTALL)
    given = {".Database": "otel", ".TableName": table, ".Engine": "MergeTree()", ".ClusterString": "", ".TTL": ""}
    sql = re.sub(r"\{\{(?:ident )?(\.\w+)\}\}", lambda name: given[name[1]], sql)
    for value in ("otel", table):
        sql = sql.replace("%q", value, 1)
    for value in ("", "MergeTree()", ""):
        sql = sql.replace("%s", value, 1)
    return sql


def _spans(incident: Incident) -> Iterator[dict[str, Any]]:
    for request in incident.spans:
        for source in request.resource_spans:
            for span in (span for scope in source.scope_spans for span in scope.spans):
                yield {
                    "Timestamp": _moment(span.start_time_unix_nano),
                    "TraceId": span.trace_id.hex(),
                    "SpanId": span.span_id.hex(),
                    "ParentSpanId": span.parent_span_id.hex(),
                    "SpanName": span.name,
                    "ServiceName": text(source.resource.attributes, "service.name"),
                    "ResourceAttributes": _map(source.resource.attributes),
                    "SpanAttributes": _map(span.attributes),
                    "Events.Timestamp": [_moment(event.time_unix_nano) for event in span.events],
                    "Events.Name": [event.name for event in span.events],
                    "Events.Attributes": [_map(event.attributes) for event in span.events],
                }


def _logs(incident: Incident) -> Iterator[dict[str, Any]]:
    for request in [*incident.logs, *incident.logs[-1:]]:  # the last one came twice
        for source in request.resource_logs:
            for record in (record for scope in source.scope_logs for record in scope.log_records):
                yield {
                    "Timestamp": _moment(record.time_unix_nano or record.observed_time_unix_nano),
                    "TraceId": record.trace_id.hex(),
                    "SpanId": record.span_id.hex(),
                    "SeverityText": record.severity_text,
                    "ServiceName": text(source.resource.attributes, "service.name"),
                    "ResourceAttributes": _map(source.resource.attributes),
                    "LogAttributes": _map(record.attributes),
                    "EventName": record.event_name,
                }


def _moment(nanoseconds: int) -> str:
    return f"{nanoseconds // 1_000_000_000}.{nanoseconds % 1_000_000_000:09d}"


def _map(attributes: Iterable[KeyValue]) -> dict[str, str]:
    """Attributes as the Collector writes them as text: lists as JSON, booleans in small letters."""
    return {pair.key: _text(pair.value) for pair in attributes}


def _text(value: AnyValue) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, separators=(",", ":"))


def _plain(value: AnyValue) -> Any:  # noqa: ANN401 - an attribute's value
    if value.WhichOneof("value") == "array_value":
        return [_plain(member) for member in value.array_value.values]
    return getattr(value, value.WhichOneof("value") or "string_value")
