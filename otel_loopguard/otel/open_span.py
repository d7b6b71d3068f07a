"""A span that has started and not ended: what it is so far, and where it stands among others.

It keeps no span alive: one that nobody ends goes when its owner drops it, and takes this with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from weakref import ReferenceType, ref

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span
from opentelemetry.trace import SpanContext

from otel_loopguard.conventions import MARKERS, NAMES, read, role
from otel_loopguard.correlate import Ancestor, Siblings

from .spans import Ids, attributes_of, record_of, span_hex

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
    tool: str = ""
    """The tool that it calls; empty for anything else."""
    call_id: str | None = None
    is_marked: bool = False
    """It carries an attribute of some family; one without may still become anything."""


class OpenSpan:
    """One open span."""

    __slots__ = (
        "__weakref__", "_ids", "_reading", "context", "end", "identity", "is_evicted", "parent_id", "siblings", "span",
        "span_id",
    )  # fmt: skip

    def __init__(self, span: Span, identity: SpanContext, parent_id: int, context: Context) -> None:
        self.span: ReferenceType[Span] = ref(span)
        self.identity = identity
        self.span_id = identity.span_id
        self.parent_id = parent_id
        """0 for a root."""
        self.context = context
        """In which it started."""
        self.end: Callable[..., None] | None = None
        """The span's own `end`, where somebody had put one on the instance before us."""
        self.siblings: Siblings | None = None
        """The turns of the spans below."""
        self.is_evicted = False
        self._reading: Reading | None = None
        self._ids: Ids | None = None

    def ids(self) -> Ids:
        """The span's ids, spelled out once."""
        if self._ids is None:
            parent = span_hex(self.parent_id) if self.parent_id else ""
            self._ids = Ids(f"{self.identity.trace_id:032x}", span_hex(self.span_id), parent)
        return self._ids

    def reading(self) -> Reading:
        """What the span says it is so far; read again only when it has got attributes since."""
        span = self.span()
        held = self._reading
        if span is None:
            return held or Reading(0, Ancestor(self.ids().span_id))
        size = len(span.attributes or ())
        if held is None or held.size != size:
            held = self._reading = self._read(span, size)
        return held

    def _read(self, span: Span, size: int) -> Reading:
        ids = self.ids()
        attributes = attributes_of(span)
        if MARKERS.isdisjoint(attributes) and not span.name.startswith(NAMES):
            return Reading(size, Ancestor(ids.span_id))
        record = record_of(span, attributes, ids, None)
        call = read(record)
        if call is not None:
            return Reading(size, Ancestor(ids.span_id), call.tool, call.call_id, is_marked=True)
        return Reading(size, Ancestor(ids.span_id, role(record)), is_marked=True)


class OpenSpans:
    """The open spans of one processor, by span id; their owners keep them.

    A plain dict without a lock: taking out and putting in are single steps of the interpreter.
    """

    def __init__(self, limit: int = MAX_OPEN) -> None:
        self._limit = limit
        self._spans: dict[int, ReferenceType[OpenSpan]] = {}

    def __len__(self) -> int:
        return len(self._spans)

    def enter(self, span: OpenSpan) -> int:
        """Remember a span that starts; how many open ones are forgotten for it."""
        self._spans[span.span_id] = ref(span)
        return self._sweep() if len(self._spans) > self._limit else 0

    def leave(self, span: OpenSpan) -> bool:
        """Forget a span that ends; False where it has ended already."""
        return self._spans.pop(span.span_id, None) is not None or span.is_evicted

    def get(self, span_id: int) -> OpenSpan | None:
        """The open span of an id."""
        held = self._spans.get(span_id)
        return None if held is None else held()

    def around(self, span: OpenSpan) -> Iterator[OpenSpan]:
        """The open spans that enclose one, nearest first."""
        parent_id = span.parent_id
        for _ in range(MAX_DEPTH):
            parent = self.get(parent_id) if parent_id else None
            if parent is None:
                return
            yield parent
            parent_id = parent.parent_id

    def _sweep(self) -> int:
        """Forget spans that nobody holds any more, and if there are none the oldest eighth of all."""
        held = [(span_id, found()) for span_id, found in list(self._spans.items())]
        dead = [span_id for span_id, span in held if span is None]
        for span_id in dead:
            self._spans.pop(span_id, None)
        if dead:
            return 0
        oldest = held[: max(1, self._limit // 8)]
        for span_id, span in oldest:
            if span is not None:
                span.is_evicted = True
            self._spans.pop(span_id, None)
        return len(oldest)
