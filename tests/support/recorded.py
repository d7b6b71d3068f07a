"""Recorded spans as records, and what a test says of the calls in them.

Not a reader of ours: the recordings have a form of their own, which only the tests know.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otel_loopguard.conventions import ABSENT, Event, RawCall, Record, Role, read, role
from otel_loopguard.core.canonical import Unknown, load
from otel_loopguard.correlate import Ancestor, Place, place

UNKNOWN = "unknown"
"""What `arguments` and `result` of an expected call are where nothing was recorded, or only a placeholder."""


def records(recording: Path) -> list[Record]:
    """The spans of a recording, in its order; it keeps no start times."""
    return [_record(span) for span in json.loads(recording.read_text())["spans"]]


def logs(recording: Path) -> list[Record]:
    """The log records of a recording."""
    return [
        Record(
            "log",
            log["event_name"],
            log["attributes"],
            scope=log["scope"],
            span_id=log["span_id"],
            body=log["body"],
        )
        for log in json.loads(recording.read_text())["log_records"]
    ]


def _record(span: Mapping[str, Any]) -> Record:
    status = span["status"]
    return Record(
        "span",
        span["name"],
        span["attributes"],
        events=[Event(event["name"], event["attributes"]) for event in span["events"]],
        scope=span["scope"]["name"],
        kind=span["kind"].lower(),
        trace_id=span["trace_id"],
        span_id=span["span_id"],
        parent_span_id=span["parent_id"] or "",
        error=status["code"] == "ERROR",
        status_message=status["description"] or "",
    )


@dataclass(frozen=True)
class Call:
    """One expected call."""

    tool: str
    arguments: object = UNKNOWN
    result: object = UNKNOWN
    call_id: str | None = None
    error_type: str | None = None
    message: str | None = None
    is_error: bool = False
    agent: str = ""
    run: str = "trace"
    """`trace` where the run is only known by its trace."""


def calls(recording: Path) -> list[Call]:
    """What the recorded tool spans are read as, placed below their ancestors."""
    spans = records(recording)
    return [_call(record, call, where) for record, call, where in placed(spans)]


def placed(spans: list[Record]) -> list[tuple[Record, RawCall, Place]]:
    """Every tool call of a whole trace with its place."""
    by_id = {span.span_id: span for span in spans}
    found = []
    for span in spans:
        call = read(span)
        if call is not None:
            where = place(
                call, trace_id=span.trace_id, parent_span_id=span.parent_span_id, ancestors=ancestors(span, by_id)
            )
            found.append((span, call, where))
    return found


def ancestors(span: Record, by_id: Mapping[str, Record]) -> list[Ancestor]:
    """The enclosing spans of one, nearest first; a tool span tells no role."""
    found: list[Ancestor] = []
    parent = by_id.get(span.parent_span_id)
    while parent is not None:
        found.append(Ancestor(parent.span_id, None if read(parent) else role(parent)))
        parent = by_id.get(parent.parent_span_id)
    return found


def roles(recording: Path) -> list[Role]:
    """The roles of the spans that are no tool calls and tell one."""
    found = [role(span) for span in records(recording) if read(span) is None]
    return [one for one in found if one is not None]


def _call(record: Record, call: RawCall, where: Place) -> Call:
    return Call(
        tool=call.tool,
        arguments=UNKNOWN if call.truncated else content(call.arguments),
        result=content(call.result),
        call_id=call.call_id,
        error_type=call.error_type,
        message=call.error_message,
        is_error=call.is_error,
        agent=where.agent,
        run="trace" if where.run_id == record.trace_id else where.run_id,
    )


def content(value: object) -> object:
    """Content as plain data, `UNKNOWN` where there is none."""
    data = load(value)
    return UNKNOWN if value is ABSENT or isinstance(data, Unknown) else data
