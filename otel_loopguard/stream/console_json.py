"""Spans and log records as the SDK's console exporters print them, read into records.

Not OTLP/JSON (`otlp_json`). Lenient where recordings of the same spans differ: ids with and without ``0x``, a parent or
status in its short form, several spans in a list or under ``spans`` and ``log_records``. What cannot be read is a
`RecordError` with the path into the object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Final

from otel_loopguard.conventions._record import ABSENT, Event, Record
from otel_loopguard.errors import RecordError
from otel_loopguard.stream.otlp import KINDS, Kind, event_name

__all__ = ["console_records"]

_Object = Mapping[str, object]
_HOLDERS: Final = ("spans", "log_records")
_LOG_MEMBERS: Final = frozenset(["severity_number", "severity_text", "event_name", "body", "observed_timestamp"])
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SECOND: Final = timedelta(seconds=1)
_HEX: Final = re.compile("[0-9a-f]+")


def console_records(document: object, where: str = "$") -> Iterator[Record]:
    """The spans and log records of one printed object, list or recording, in its order."""
    if isinstance(document, list):
        for index, member in enumerate(document):
            yield from console_records(member, f"{where}[{index}]")
        return
    if not isinstance(document, Mapping):
        raise RecordError(f"expected a span as an object - at `{where}`")
    holders = [name for name in _HOLDERS if isinstance(document.get(name), list)]
    if holders:
        for name in holders:
            yield from console_records(document[name], f"{where}.{name}")
    elif "name" in document and not _LOG_MEMBERS.intersection(document):
        yield _span(document, where)
    elif _LOG_MEMBERS.intersection(document):
        yield _log(document, where)
    else:
        raise RecordError(
            "neither a span nor a log record: expected OTLP/JSON, or what the SDK's console exporters print "
            f"- at `{where}`"
        )


def _span(span: _Object, where: str) -> Record:
    context = _member(span, "context", where)
    status = _member(span, "status", where)
    code = status.get("status_code", status.get("code"))
    return Record(
        signal="span",
        name=_text(span, "name", where),
        attributes=_member(span, "attributes", where),
        events=tuple(_events(span, where)),
        resource=_member(_member(span, "resource", where), "attributes", f"{where}.resource"),
        scope=_scope(span, where),
        kind=_kind(span.get("kind")),
        trace_id=_id(context or span, "trace_id", 32, where),
        span_id=_id(context or span, "span_id", 16, where),
        parent_span_id=_id(span, "parent_id", 16, where),
        start_ns=_nanoseconds(span, "start_time", where),
        end_ns=_nanoseconds(span, "end_time", where),
        error=code == "ERROR",
        status_message=_text(status, "description", f"{where}.status"),
    )


def _log(log: _Object, where: str) -> Record:
    attributes = _member(log, "attributes", where)
    return Record(
        signal="log",
        name=event_name(_text(log, "event_name", where), attributes),
        attributes=attributes,
        resource=_member(_member(log, "resource", where), "attributes", f"{where}.resource"),
        scope=_scope(log, where),
        trace_id=_id(log, "trace_id", 32, where),
        span_id=_id(log, "span_id", 16, where),
        start_ns=_nanoseconds(log, "timestamp", where),
        body=ABSENT if log.get("body") is None else log["body"],
    )


def _events(span: _Object, where: str) -> Iterator[Event]:
    events = span.get("events")
    for index, event in enumerate(events if isinstance(events, list) else ()):
        at = f"{where}.events[{index}]"
        if not isinstance(event, Mapping):
            raise RecordError(f"expected an object - at `{at}`")
        yield Event(_text(event, "name", at), _member(event, "attributes", at))


def _scope(holder: _Object, where: str) -> str:
    scope = holder.get("scope", holder.get("instrumentation_scope"))
    if isinstance(scope, Mapping):
        return _text(scope, "name", f"{where}.scope")
    return scope if isinstance(scope, str) else ""


def _member(holder: _Object, name: str, where: str) -> _Object:
    """An object's member object; empty where there is none."""
    value = holder.get(name)
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    raise RecordError(f"expected an object - at `{where}.{name}`")


def _text(holder: _Object, name: str, where: str) -> str:
    value = holder.get(name)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise RecordError(f"expected text - at `{where}.{name}`")


def _id(holder: _Object, name: str, digits: int, where: str) -> str:
    """Lowercase hex without ``0x``; empty where it is missing or all zeros."""
    value = _text(holder, name, where).lower().removeprefix("0x")
    if not value.strip("0"):
        return ""
    if len(value) != digits or not _HEX.fullmatch(value):
        raise RecordError(f"expected {digits} hex digits - at `{where}.{name}`")
    return value


def _kind(value: object) -> Kind:
    """``SpanKind.CLIENT`` as the exporter prints it, or its last word alone."""
    word = value.rpartition(".")[2].lower() if isinstance(value, str) else ""
    return next((kind for kind in KINDS if kind == word), "")


def _nanoseconds(holder: _Object, name: str, where: str) -> int | None:
    """Unix time of an ISO 8601 text in UTC; None where it is missing."""
    value = holder.get(name)
    if value is None:
        return None
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise RecordError(f"expected a time such as 2026-01-31T12:00:00.000000Z - at `{where}.{name}`")
    try:
        since = datetime.fromisoformat(f"{found[1]}+00:00") - _EPOCH
    except ValueError:
        raise RecordError(f"expected a time of the calendar - at `{where}.{name}`") from None
    return since // _SECOND * 1_000_000_000 + int((found[2] or "").ljust(9, "0"))
