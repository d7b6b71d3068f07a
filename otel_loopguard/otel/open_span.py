"""A span that has started and not ended, as its children see it: what it is so far, and what they leave with it.

It keeps no span alive: one that nobody ends goes when its owner drops it.
"""

from __future__ import annotations

from typing import Any, Final
from weakref import ReferenceType, ref

from opentelemetry.sdk.trace import ReadableSpan, Span

from otel_loopguard.conventions import MARKERS, NAMES, read, role
from otel_loopguard.correlate import Ancestor, Place, Surroundings
from otel_loopguard.siblings import Siblings

from .spans import Ids, SpanReader, attributes_in

__all__ = ["OpenSpan", "OpenSpans", "Reading", "View"]

MAX_OPEN: Final = 16_384
"""Open spans remembered: a server with a thousand requests at a time has some ten a request."""
MAX_DEPTH: Final = 32
"""Ancestors looked at; agents do not nest deeper."""


class Reading:
    """What an open span says it is, so far."""

    def __init__(  # noqa: PLR0913 - what a span can say of itself
        self,
        size: int,
        ancestor: Ancestor,
        *,
        is_boundary: bool = False,
        tool: str = "",
        call_id: str | None = None,
        is_marked: bool = False,
    ) -> None:
        self.size: Final = size
        """Attributes that it had when it was read."""
        self.ancestor: Final = ancestor
        self.is_boundary: Final = is_boundary
        """It is an agent or a model: a call inside and a call outside are never one."""
        self.tool: Final = tool
        """The tool that it calls; empty for anything else."""
        self.call_id: Final = call_id
        self.is_marked: Final = is_marked
        """It carries an attribute of some family; one without may still become anything."""


class OpenSpan:
    """One open span with an ended tool or model span below it, or one of those that is just ending."""

    __slots__ = ("_reader", "_reading", "_view", "identity", "ids", "parent_id", "siblings", "span", "span_id")

    def __init__(self, span: ReadableSpan, span_id: int, reader: SpanReader) -> None:
        parent: Any = span.parent
        self.span: ReferenceType[ReadableSpan] = ref(span)
        self.identity = span.get_span_context()
        self.span_id = span_id
        self.parent_id = 0 if parent is None else int(parent.span_id)
        """0 for a root."""
        self.ids: Ids = reader.spelled(self.identity, parent)
        self.siblings: Siblings | None = None
        """The turns of the spans below."""
        self._reader = reader
        self._reading: Reading | None = None
        self._view: View | None = None

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

    def view(self, spans: OpenSpans) -> View:
        """What a child sees; the same object until something in it changes."""
        if not self.parent_id:
            return self.seen_below(None)
        line = [self]
        while line[-1].parent_id and len(line) < MAX_DEPTH:
            parent = spans.get(line[-1].parent_id)
            if parent is None:
                break
            line.append(parent)
        above: View | None = None
        for span in line[:0:-1]:
            above = span.seen_below(above)
        return self.seen_below(above)

    def seen_below(self, above: View | None) -> View:
        """The view of a child, given that of the span's own parent."""
        reading, held = self.reading(), self._view
        if held is None or held.reading is not reading or held.above is not above:
            held = self._view = View(self, reading, above)
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
        return Reading(size, Ancestor(self.ids.span_id, told), is_boundary=is_boundary, is_marked=True)


class View:
    """What a span sees above it: its parent, what that says it is, and what it sees in turn."""

    __slots__ = ("above", "ancestors", "places", "reading", "span", "surroundings")

    def __init__(self, span: OpenSpan, reading: Reading, above: View | None) -> None:
        self.span = span
        self.reading = reading
        self.above = above
        self.ancestors: tuple[Ancestor, ...] = (reading.ancestor, *(above.ancestors if above else ()))
        """All of them, nearest first."""
        self.surroundings: Surroundings | None = None
        self.places: dict[tuple[object, ...], Place] = {}
        """Where calls below stand, by what their own records say, in these surroundings: many say nothing."""

    def outermost(self, tool: str, call_id: str | None) -> OpenSpan | None:
        """The outermost enclosing span that already says it is the same call."""
        found = None
        view: View | None = self
        while view is not None and not view.reading.is_boundary:
            reading = view.reading
            if reading.tool:
                same_id = call_id is not None and call_id == reading.call_id
                if not same_id and (tool != reading.tool or None not in {call_id, reading.call_id}):
                    break
                found = view.span
            view = view.above
        return found


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
