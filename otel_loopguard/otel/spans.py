"""A live span as a record: what conventions read, in plain values.

Not an exported span: it is still open, and what is missing may yet come. Looking goes past the SDK's views, which copy
and lock at every look, where the span keeps things as every SDK so far does, and through them elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from opentelemetry.sdk.trace import Event as SdkEvent
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

from otel_loopguard.conventions import Event, Record

from .ids import Ids

__all__ = ["Ids", "SpanReader", "attributes_in", "events_in", "span_hex", "span_id_of", "time_of"]

Kind = Literal["", "internal", "server", "client", "producer", "consumer"]
_NOTHING: Final[Mapping[str, Any]] = {}
_INTERNAL: Final = SpanKind.INTERNAL
_CLIENT: Final = SpanKind.CLIENT
_SERVER: Final = SpanKind.SERVER
_PRODUCER: Final = SpanKind.PRODUCER
_ERROR: Final = StatusCode.ERROR
"""Looked up once: before Python 3.12 every look into an enum goes through a method of its class."""


def span_hex(span_id: int) -> str:
    """A span id as 16 lowercase hex digits."""
    return "%016x" % span_id  # noqa: UP031 - takes half the time of a format string


def attributes_in(span: ReadableSpan) -> Mapping[str, object]:
    """The span's attributes so far, to look at and to copy; not to keep, and not to change."""
    try:
        held: object = span._attributes._dict  # type: ignore[union-attr] # noqa: SLF001
        if type(held) is dict:
            return held
    except AttributeError:
        pass
    return span.attributes or _NOTHING


def span_id_of(span: Any) -> int:  # noqa: ANN401 - whatever calls itself one
    """The span's id; 0 where it has none. A span context is a tuple, whose second is asked for twice a span."""
    try:
        found = span._context[1]  # noqa: SLF001
        if type(found) is int:
            return found
    except Exception:  # noqa: BLE001, S110 - another SDK's span
        pass
    try:
        return int(span.get_span_context().span_id)
    except Exception:  # noqa: BLE001
        return 0


def time_of(moment: Any) -> int | None:  # noqa: ANN401 - whatever a host handed over
    """Unix nanoseconds as a whole number; None for what is no time."""
    if moment is None or type(moment) is int:
        return moment
    try:
        return int(moment)
    except (ArithmeticError, TypeError, ValueError):
        return None


def _text(value: object) -> str:
    return value if type(value) is str else "" if value is None else str(value)


def events_in(span: ReadableSpan) -> Sequence[SdkEvent]:
    """The span's events so far."""
    try:
        if len(span._events) == 0:  # noqa: SLF001
            return ()
    except (AttributeError, TypeError):
        pass
    return span.events


class _Common(NamedTuple):
    """What one span after the other has in common, and what records say of it."""

    resource: Any
    scope: Any
    limits: Any
    resource_attributes: Mapping[str, object]
    scope_name: str
    length_limit: int | None


class SpanReader:
    """Makes records of live spans."""

    __slots__ = ("_common", "_parent", "_trace")

    def __init__(self) -> None:
        self._common = _Common(None, None, None, _NOTHING, "", None)
        self._trace = (0, "")
        self._parent = (0, "")

    def ids(self, span: ReadableSpan) -> Ids:
        """The span's ids, spelled out."""
        return self.spelled(span.get_span_context(), span.parent)

    def spelled(self, identity: SpanContext | None, parent: SpanContext | None) -> Ids:
        """The ids of a span and its parent; those of the last one stand for many of the next, in part."""
        if identity is None:
            return Ids("", "", "")
        ids: Any = identity  # some make ids that only behave like whole numbers
        trace_id, trace = self._trace
        if trace_id != ids.trace_id:
            trace_id = int(ids.trace_id)
            trace = f"{trace_id:032x}"
            self._trace = (trace_id, trace)
        if parent is None:
            return Ids(trace, span_hex(int(ids.span_id)), "")
        outer: Any = parent
        parent_id, above = self._parent
        if parent_id != outer.span_id:
            parent_id = int(outer.span_id)
            above = span_hex(parent_id)
            self._parent = (parent_id, above)
        return Ids(trace, span_hex(int(ids.span_id)), above)

    def record(self, span: ReadableSpan, attributes: Mapping[str, object], ids: Ids, end_ns: int | None) -> Record:
        """The span as a record; ``attributes`` is a copy of its attributes."""
        common = self._common
        scope = span.instrumentation_scope
        if common.resource is not span.resource or common.scope is not scope:
            common = self._common = _common(span, common)
        events: Sequence[Any] = events_in(span)
        status = span.status
        held: Any = span
        return Record(
            "span",
            _text(held.name),
            attributes,
            [Event(_text(event.name), dict(event.attributes or _NOTHING)) for event in events] if events else (),
            common.resource_attributes,
            common.scope_name,
            _kind_of(span.kind),
            ids.trace_id,
            ids.span_id,
            ids.parent_span_id,
            time_of(held.start_time),
            end_ns,
            status.status_code is _ERROR,
            _text(status.description),
            length_limit=common.length_limit,
        )


def _kind_of(kind: SpanKind) -> Kind:
    """The kind's name; asked in the order of frequency, since an enum's hash is no constant."""
    if kind is _INTERNAL:
        return "internal"
    if kind is _CLIENT:
        return "client"
    if kind is _SERVER:
        return "server"
    return "producer" if kind is _PRODUCER else "consumer"


def _common(span: ReadableSpan, before: _Common) -> _Common:
    """What a span has in common with those that follow; a copy of its resource's attributes is made once."""
    resource = span.resource
    limits = getattr(span, "_limits", None)
    longest = getattr(limits, "max_span_attribute_length", None)
    scope = span.instrumentation_scope
    return _Common(
        resource,
        scope,
        limits,
        before.resource_attributes if before.resource is resource else dict(resource.attributes),
        _text(getattr(scope, "name", None)),
        longest if isinstance(longest, int) else None,
    )
