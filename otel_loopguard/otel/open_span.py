"""A span that has started and not ended, as its children see it: what it is so far, and what they leave with it.

It keeps no span alive: one that nobody ends goes when its owner drops it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple
from weakref import ReferenceType, ref

from opentelemetry.sdk.trace import ReadableSpan, Span

from otel_loopguard.conventions import MARKERS, NAMES, read, role
from otel_loopguard.correlate import Ancestor, Siblings

from .spans import Ids, SpanReader, attributes_in

__all__ = ["OpenSpan", "OpenSpans", "Reading"]

MAX_OPEN: Final = 16_384
"""Open spans remembered: a server with a thousand requests at a time has some ten a request."""
MAX_DEPTH: Final = 32
"""Ancestors looked at; agents do not nest deeper."""


class Reading(NamedTuple):
    """What an open span says it is, so far."""

    size: int
    """Attributes that it had when it was read."""
    ancestor: Ancestor
    is_boundary: bool = False
    """It is an agent or a model: a call inside and a call outside are never one."""
    tool: str = ""
    """The tool that it calls; empty for anything else."""
    call_id: str | None = None
    is_marked: bool = False
    """It carries an attribute of some family; one without may still become anything."""


class OpenSpan:
    """One open span with an ended tool or model span below it, or one of those that is just ending."""

    __slots__ = ("_reader", "_reading", "identity", "ids", "parent_id", "siblings", "span", "span_id")

    def __init__(self, span: ReadableSpan, span_id: int, reader: SpanReader) -> None:
        parent = span.parent
        self.span: ReferenceType[ReadableSpan] = ref(span)
        self.identity = span.get_span_context()
        self.span_id = span_id
        self.parent_id = 0 if parent is None else parent.span_id
        """0 for a root."""
        self.ids: Ids = reader.ids(span)
        self.siblings: Siblings | None = None
        """The turns of the spans below."""
        self._reader = reader
        self._reading: Reading | None = None

    def reading(self) -> Reading:
        """What the span says it is so far; read again only when it has got attributes since."""
        span = self.span()
        held = self._reading
        if span is None:
            return held or Reading(0, Ancestor(self.ids.span_id))
        attributes = attributes_in(span)
        if held is None or held.size != len(attributes):
            held = self._reading = self._read(span, dict(attributes))
        return held

    def _read(self, span: ReadableSpan, attributes: dict[str, object]) -> Reading:
        size = len(attributes)
        if MARKERS.isdisjoint(attributes) and not span.name.startswith(NAMES):
            return Reading(size, Ancestor(self.ids.span_id))
        record = self._reader.record(span, attributes, self.ids, None)
        call = read(record)
        if call is not None:
            return Reading(size, Ancestor(self.ids.span_id), tool=call.tool, call_id=call.call_id, is_marked=True)
        told = role(record)
        is_boundary = told is not None and told.kind != "step"
        return Reading(size, Ancestor(self.ids.span_id, told), is_boundary, is_marked=True)


class OpenSpans:
    """The open spans of one processor, by span id; their owners keep them.

    Plain dicts without a lock: taking out and putting in are single steps of the interpreter. What a span is gets
    looked at only once a tool or a model span ends below it, because most spans have none.
    """

    def __init__(self, limit: int = MAX_OPEN) -> None:
        self.reader = SpanReader()
        self.limit = limit
        self.spans: dict[int, ReferenceType[Span]] = {}
        """Every span that has started and not ended."""
        self.known: dict[int, OpenSpan] = {}
        """What is known of open spans that have been looked at."""

    def last(self, span: ReadableSpan, span_id: int) -> OpenSpan:
        """What is known of a span that is ending, forgotten with this."""
        known = self.known.pop(span_id, None) if self.known else None
        return OpenSpan(span, span_id, self.reader) if known is None else known

    def get(self, span_id: int) -> OpenSpan | None:
        """The open span of an id."""
        known = self.known.get(span_id)
        if known is not None:
            return known
        held = self.spans.get(span_id)
        span = None if held is None else held()
        if span is None:
            return None
        return self.known.setdefault(span_id, OpenSpan(span, span_id, self.reader))

    def around(self, span: OpenSpan) -> Iterator[OpenSpan]:
        """The open spans that enclose one, nearest first."""
        parent_id = span.parent_id
        for _ in range(MAX_DEPTH):
            parent = self.get(parent_id) if parent_id else None
            if parent is None:
                return
            yield parent
            parent_id = parent.parent_id

    def sweep(self) -> int:
        """Forget spans that nobody holds any more; if there are none, the oldest eighth of all: how many of those."""
        held = [(span_id, found()) for span_id, found in list(self.spans.items())]
        gone = [span_id for span_id, span in held if span is None]
        forgotten = 0
        if not gone:
            gone = [span_id for span_id, _ in held[: max(1, self.limit // 8)]]
            forgotten = len(gone)
        for span_id in gone:
            self.spans.pop(span_id, None)
            self.known.pop(span_id, None)
        return forgotten
