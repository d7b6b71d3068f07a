"""Writing on a live span: our attributes, and the constant where content was.

Not what to write: `redact` and `annotation` say that. Content that cannot be replaced is removed with everything
around it: a span leaves without its events, or without its attributes, rather than with what they should not show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from opentelemetry.sdk.trace import Event as SdkEvent
from opentelemetry.sdk.trace import ReadableSpan, Span
from opentelemetry.trace import Status

from otel_loopguard import names
from otel_loopguard.conventions import Event
from otel_loopguard.redact import NOTHING, Redaction

from .annotation import Value

__all__ = [
    "UnwritableError", "add_events", "drop_status", "fit", "force", "put", "rebuild_events", "remove_events", "strip",
]  # fmt: skip

_KEPT: Final = frozenset(
    [*(name.name for name in names.SPAN_ATTRIBUTES), "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.system",
     "gen_ai.request.model", "openinference.span.kind", "traceloop.span.kind"]
)  # fmt: skip
"""What a stripped span keeps: names and kinds, which are no content in any convention."""

_DEFAULT_COUNT_LIMIT: Final = 128
"""OpenTelemetry specification, span limits: attributes and events of a span."""


def fit(span: ReadableSpan, present: Mapping[str, object], written: dict[str, Value]) -> tuple[dict[str, Value], int]:
    """As much of what we write as the span takes without losing what it has, and how many did not fit.

    A full span would drop its oldest attribute for each of ours, and a text cut to a length limit would be another
    fingerprint: neither is written.
    """
    limits = getattr(span, "_limits", None)
    most = getattr(limits, "max_span_attributes", _DEFAULT_COUNT_LIMIT)
    longest = getattr(limits, "max_span_attribute_length", None)
    if longest is None and (most is None or len(present) + len(written) <= most):
        return written, 0
    room = len(written) if most is None else max(0, most - len(present))
    fitting: dict[str, Value] = {}
    for key, value in written.items():
        if longest is not None and _length(value) > longest:
            continue
        if key in present:
            fitting[key] = value
        elif room > 0:
            fitting[key] = value
            room -= 1
    return fitting, len(written) - len(fitting)


def put(span: Span, removed: Mapping[str, str], written: Mapping[str, Value]) -> None:
    """Set attributes that fit: in the place of content, and our own.

    The API looks into every value for what it may not hold, which takes as long as half of a span's life; ours are
    plain, so they go where the span keeps its own, as `attributes_in` finds them there, and through the API elsewhere.
    """
    held: Any = getattr(span, "_attributes", None)
    try:
        own, most = held._dict, held.maxlen  # noqa: SLF001
        is_open = not held._immutable and span.is_recording()  # noqa: SLF001
        is_plain = type(own) is dict and held.max_value_len is None and is_open
        if is_plain and (most is None or len(own) + len(removed) + len(written) <= most):
            with held._lock:  # noqa: SLF001
                own.update(removed)
                own.update(written)
            return
    except AttributeError:  # another SDK's span
        pass
    span.set_attributes({**removed, **written})


def _length(value: Value) -> int:
    if isinstance(value, tuple):
        return max(map(len, value), default=0)
    return len(value) if isinstance(value, str) else 0


class UnwritableError(Exception):
    """The installed SDK keeps a span's events, attributes or status where we do not reach them."""


def rebuild_events(span: Span, events: Sequence[Event]) -> None:
    """Give a span that still records these events in place of its own, each at its own time.

    The API can only add events, so the span gets a new empty list of its own kind first. Raises where the span does not
    take them.
    """
    live: Any = span
    times = _times(span)
    dropped = span.dropped_events
    live._events = live._new_events()  # noqa: SLF001
    if span.events:
        raise UnwritableError
    for event, time in zip(events, times, strict=True):
        span.add_event(event.name, dict(event.attributes), time)  # type: ignore[arg-type]
    if dropped:
        live._events.dropped = dropped  # noqa: SLF001


def _times(span: ReadableSpan) -> list[Any]:
    """The times of a span's events, of whatever type a host gave them."""
    events: Sequence[Any] = span.events
    return [event.timestamp for event in events]


def remove_events(span: ReadableSpan) -> None:
    """Leave a span no event at all; one that still records may get others. Raises where it keeps them."""
    fresh = getattr(span, "_new_events", None)
    _put(span, "_events", () if fresh is None else fresh(), lambda: not span.events)


def drop_status(span: Span) -> None:
    """Replace the description of a span that still records."""
    span.set_status(Status(span.status.status_code, names.REDACTED))
    if span.status.description not in {None, names.REDACTED}:
        raise UnwritableError


def add_events(span: Span, events: Sequence[Mapping[str, str | int]], time: int) -> int:
    """Add finding events, as many as fit without losing the span's own; how many did not."""
    most = getattr(getattr(span, "_limits", None), "max_events", _DEFAULT_COUNT_LIMIT)
    room = len(events) if most is None else max(0, most - len(span.events))
    for attributes in events[:room]:
        span.add_event(names.FINDING, attributes, time)
    return len(events) - min(room, len(events))


def strip(span: Span) -> None:
    """The last resort for a span that records and could not be understood: names and kinds stay, no more.

    Raises where even that fails; such a span must not leave.
    """
    taken = [key for key in span.attributes or () if key not in _KEPT]
    if taken:
        span.set_attributes(dict.fromkeys(taken, names.REDACTED))
    if any((span.attributes or {}).get(key) != names.REDACTED for key in taken):
        raise UnwritableError
    if span.events:
        remove_events(span)
    if span.status.description:
        _put(span, "_status", Status(span.status.status_code), lambda: not span.status.description)


def force(span: ReadableSpan, redaction: Redaction, written: Mapping[str, Value]) -> None:
    """Redact and annotate a span that no longer records, for the processors that have not read it yet."""
    if redaction is NOTHING and not written:
        return
    merged = {**(span.attributes or {}), **redaction.attributes, **written}
    _put(span, "_attributes", merged, lambda: dict(span.attributes or {}) == merged)
    if redaction.events is not None:
        times = _times(span)
        events = tuple(
            SdkEvent(event.name, dict(event.attributes), time)  # type: ignore[arg-type]
            for event, time in zip(redaction.events, times, strict=True)
        )
        _put(span, "_events", events, lambda: span.events == events)
    if redaction.drop_status:
        status = Status(span.status.status_code, names.REDACTED)
        _put(span, "_status", status, lambda: span.status is status)


def _put(span: object, name: str, value: object, is_done: Callable[[], bool]) -> None:
    """Set a private attribute and look through the public one whether that reached it."""
    setattr(span, name, value)
    if not is_done():
        raise UnwritableError
