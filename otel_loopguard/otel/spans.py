"""A live span as a record: what conventions read, in plain values.

Not an exported span: it is still open, and what is missing may yet come.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from otel_loopguard.conventions import Event, Record

__all__ = ["Ids", "attributes_of", "length_limit_of", "record_of", "span_hex"]

Kind = Literal["", "internal", "server", "client", "producer", "consumer"]
_KINDS: Final[Mapping[SpanKind, Kind]] = {
    SpanKind.INTERNAL: "internal",
    SpanKind.SERVER: "server",
    SpanKind.CLIENT: "client",
    SpanKind.PRODUCER: "producer",
    SpanKind.CONSUMER: "consumer",
}
_NOTHING: Final[Mapping[str, Any]] = {}


class Ids(NamedTuple):
    """Ids as records hold them."""

    trace_id: str
    """32 lowercase hex digits."""
    span_id: str
    """16 lowercase hex digits, as the next one."""
    parent_span_id: str
    """Empty for a root."""


def span_hex(span_id: int) -> str:
    """A span id as 16 lowercase hex digits."""
    return f"{span_id:016x}"


def attributes_of(span: ReadableSpan) -> dict[str, object]:
    """A copy of the span's attributes so far.

    The view's own `copy` is the mapping's: far cheaper than walking it, whatever kind of mapping a processor put there.
    """
    attributes: Any = span.attributes
    copied: dict[str, object] = attributes.copy() if attributes else {}
    return copied


def length_limit_of(span: ReadableSpan) -> int | None:
    """The attribute value length limit in force, where the SDK tells it."""
    limit = getattr(getattr(span, "_limits", None), "max_span_attribute_length", None)
    return limit if isinstance(limit, int) else None


def record_of(span: ReadableSpan, attributes: Mapping[str, object], ids: Ids, end_ns: int | None) -> Record:
    """The span as a record; ``attributes`` is a copy of its attributes."""
    events = span.events
    status = span.status
    return Record(
        "span",
        span.name,
        attributes,
        [Event(event.name, dict(event.attributes or _NOTHING)) for event in events] if events else (),
        span.resource.attributes,
        span.instrumentation_scope.name if span.instrumentation_scope is not None else "",
        _KINDS.get(span.kind, ""),
        ids.trace_id,
        ids.span_id,
        ids.parent_span_id,
        span.start_time,
        end_ns,
        status.status_code is StatusCode.ERROR,
        status.description or "",
        length_limit=length_limit_of(span),
    )
