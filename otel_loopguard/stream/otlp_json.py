"""OTLP/JSON, as the Collector's file exporter writes it, read into records.

Not the reading of files or lines, and not of protobuf messages (`otlp`): it is given one parsed JSON object, an
ExportTraceServiceRequest or an ExportLogsServiceRequest (OpenTelemetry Protocol specification, "JSON Protobuf
Encoding"). Lenient where writers differ: camelCase and snake_case names, enums as number or name, 64-bit integers as
text or number, unknown fields ignored. What cannot be read is a `RecordError` with the path into the object.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

from otel_loopguard.conventions._record import ABSENT, Event, Record
from otel_loopguard.errors import RecordError
from otel_loopguard.stream.otlp import KINDS, STATUS_ERROR, Kind, event_name, with_group

__all__ = ["REQUESTS", "records"]

REQUESTS: Final = frozenset(
    ["resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "resourceMetrics", "resource_metrics"]
)
"""Member names that tell an OTLP/JSON object from anything else. Metrics hold no calls and give no record."""

_DEPTH: Final = 100
"""Nested values that are followed: protobuf's own limit, so that no legal OTLP is refused."""

_KIND_NAMES: Final[dict[str, Kind]] = {f"SPAN_KIND_{kind.upper()}": kind for kind in KINDS if kind}
_HEX: Final = re.compile("[0-9a-f]*")
_LEAST: Final = -(1 << 63)
_MOST: Final = (1 << 64) - 1
"""Of the protocol's signed and unsigned integers."""
_INT64: Final = re.compile("-?[0-9]{1,20}")

_Object = Mapping[str, object]


def records(document: object) -> Iterator[Record]:
    """The spans and log records of one request, in its order.

    Raises `RecordError` at the first part that cannot be read; `reason` holds the path (``$.resourceSpans[0]...``).
    """
    request = _object(document, "$")
    for resource, scope, item, where in _leaves(request, "resourceSpans", "scopeSpans", "spans"):
        yield _span(item, resource, scope, where)
    for resource, scope, item, where in _leaves(request, "resourceLogs", "scopeLogs", "logRecords"):
        yield _log(item, resource, scope, where)


def _leaves(request: _Object, top: str, middle: str, leaf: str) -> Iterator[tuple[_Object, str, _Object, str]]:
    """Resource attributes, scope name, item and its path, of every item of a request."""
    for holder, at in _members(request, top, "$"):
        described = _get(holder, "resource")
        resource: _Object = (
            {} if described is None else _attributes(_object(described, f"{at}.resource"), f"{at}.resource")
        )
        for scope_holder, scope_at in _members(holder, middle, at):
            scope = _get(scope_holder, "scope")
            name = "" if scope is None else _text(_object(scope, f"{scope_at}.scope"), "name", f"{scope_at}.scope")
            for item, where in _members(scope_holder, leaf, scope_at):
                yield resource, name, item, where


def _span(span: _Object, resource: _Object, scope: str, where: str) -> Record:
    status = _get(span, "status")
    state: _Object = {} if status is None else _object(status, f"{where}.status")
    return Record(
        signal="span",
        name=_text(span, "name", where),
        attributes=with_group(_attributes(span, where), resource),
        events=tuple(
            Event(_text(event, "name", at), _attributes(event, at)) for event, at in _members(span, "events", where)
        ),
        resource=resource,
        scope=scope,
        kind=_kind(_get(span, "kind"), where),
        trace_id=_id(span, "traceId", 32, where),
        span_id=_id(span, "spanId", 16, where),
        parent_span_id=_id(span, "parentSpanId", 16, where),
        start_ns=_nanoseconds(span, "startTimeUnixNano", where),
        end_ns=_nanoseconds(span, "endTimeUnixNano", where),
        error=_get(state, "code") in (STATUS_ERROR, "STATUS_CODE_ERROR"),
        status_message=_text(state, "message", f"{where}.status"),
    )


def _log(log: _Object, resource: _Object, scope: str, where: str) -> Record:
    attributes = with_group(_attributes(log, where), resource)
    body = _get(log, "body")
    return Record(
        signal="log",
        name=event_name(_text(log, "eventName", where), attributes),
        attributes=attributes,
        resource=resource,
        scope=scope,
        trace_id=_id(log, "traceId", 32, where),
        span_id=_id(log, "spanId", 16, where),
        start_ns=_nanoseconds(log, "timeUnixNano", where) or _nanoseconds(log, "observedTimeUnixNano", where),
        body=ABSENT if body is None else _value(body, f"{where}.body", 0),
    )


# Members of an object ---------------------------------------------------------------------------------------------


@cache
def _snake(name: str) -> str:
    return re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", name)


def _get(holder: _Object, name: str) -> object:
    """A member under its camelCase or snake_case name; None where it is null or not there."""
    value = holder.get(name)
    return value if value is not None else holder.get(_snake(name))


def _object(value: object, where: str) -> _Object:
    if isinstance(value, dict):
        return value
    raise RecordError(f"expected an object, found {_found(value)} - at `{where}`")


def _members(holder: _Object, name: str, where: str) -> Iterator[tuple[_Object, str]]:
    """The objects of a list, each with its path."""
    values = _get(holder, name)
    if values is None:
        return
    if not isinstance(values, list):
        raise RecordError(f"expected a list, found {_found(values)} - at `{where}.{name}`")
    for index, value in enumerate(values):
        at = f"{where}.{name}[{index}]"
        yield _object(value, at), at


def _text(holder: _Object, name: str, where: str) -> str:
    value = _get(holder, name)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise RecordError(f"expected text, found {_found(value)} - at `{where}.{name}`")


def _id(holder: _Object, name: str, digits: int, where: str) -> str:
    """Lowercase hex; empty where it is missing or all zeros, which the protocol calls invalid."""
    value = _text(holder, name, where).lower()
    if not value.strip("0"):
        return ""
    if len(value) != digits or not _HEX.fullmatch(value):
        raise RecordError(f"expected {digits} hex digits, found {len(value)} characters - at `{where}.{name}`")
    return value


def _nanoseconds(holder: _Object, name: str, where: str) -> int | None:
    """Unix time; None where it is missing or 0, which the protocol calls unknown."""
    value = _get(holder, name)
    return None if value is None else _integer(value, f"{where}.{name}") or None


def _kind(value: object, where: str) -> Kind:
    if value is None:
        return ""
    if isinstance(value, str):
        return _KIND_NAMES.get(value, "")
    number = _integer(value, f"{where}.kind")
    return KINDS[number] if 0 <= number < len(KINDS) else ""


# Values -----------------------------------------------------------------------------------------------------------


def _attributes(holder: _Object, where: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for pair, at in _members(holder, "attributes", where):
        key = _text(pair, "key", at)
        value = pair.get("value")
        found[key] = None if value is None else _value(value, f"{at}.value", 0)
    return found


def _value(value: object, where: str, depth: int) -> object:
    """An AnyValue as a plain value; None for an empty one and for a kind that is not known here."""
    if depth > _DEPTH:
        raise RecordError(f"values are nested deeper than {_DEPTH} - at `{where[:200]}`")
    for name, member in _object(value, where).items():
        read = _VALUES.get(name)
        if read is not None and member is not None:
            return read(member, f"{where}.{name}", depth)
    return None


def _string(value: object, where: str, _depth: int) -> object:
    if isinstance(value, str):
        return value
    raise RecordError(f"expected text, found {_found(value)} - at `{where}`")


def _boolean(value: object, where: str, _depth: int) -> object:
    if isinstance(value, bool):
        return value
    raise RecordError(f"expected true or false, found {_found(value)} - at `{where}`")


def _integer(value: object, where: str, _depth: int = 0) -> int:
    number: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and _INT64.fullmatch(value):
        number = int(value)
    if number is None:
        raise RecordError(f"expected an integer or its digits as text, found {_found(value)} - at `{where}`")
    if not _LEAST <= number <= _MOST:
        raise RecordError(f"expected an integer of 64 bits, found a larger one - at `{where}`")
    return number


def _double(value: object, where: str, _depth: int) -> object:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
    raise RecordError(f"expected a number, found {_found(value)} - at `{where}`")


def _bytes(value: object, where: str, _depth: int) -> object:
    if isinstance(value, str):
        try:
            return base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
        except binascii.Error:
            pass
    raise RecordError(f"expected base64 text, found {_found(value)} - at `{where}`")


def _array(value: object, where: str, depth: int) -> object:
    return [_value(member, at, depth + 1) for member, at in _members(_object(value, where), "values", where)]


def _map(value: object, where: str, depth: int) -> object:
    found: dict[str, object] = {}
    for pair, at in _members(_object(value, where), "values", where):
        member = pair.get("value")
        found[_text(pair, "key", at)] = None if member is None else _value(member, f"{at}.value", depth + 1)
    return found


_READERS: Final[dict[str, Callable[[object, str, int], object]]] = {
    "stringValue": _string,
    "boolValue": _boolean,
    "intValue": _integer,
    "doubleValue": _double,
    "arrayValue": _array,
    "kvlistValue": _map,
    "bytesValue": _bytes,
}
_VALUES: Final = {**_READERS, **{_snake(name): read for name, read in _READERS.items()}}


def _found(value: object) -> str:
    """The kind of a JSON value, never the value: it may be content."""
    if value is None:
        return "null"
    kinds = {bool: "a boolean", str: "text", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")
