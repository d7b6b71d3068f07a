"""The watch over open spans: what happens where one starts, and where it ends.

Not the SDK's interface, which is the processor's, and no judge. Each span gets an `End` in the place of its `end`,
because that is the last moment in which the public API can write on it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns, time_ns
from typing import Any, Final
from weakref import ref

from opentelemetry.context import Context, get_current
from opentelemetry.sdk.trace import ReadableSpan, Span

from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.conventions import NAMES, WATCHED, RawCall, Record, read
from otel_loopguard.live import Found, Live, Taken

from .editor import Editor
from .open_span import OpenSpan
from .spans import attributes_in, span_id_of
from .witness import Witness

__all__ = ["End", "Watch"]

_MEASURED: Final = 64
"""One tool span in so many has its overhead measured: one measurement costs as much as a tenth of a span."""


class End:
    """Stands in for `end` on one span; once it has passed the end on, it holds the span no longer.

    It stays where it is: to take an attribute away from an object costs more than all else that is done here.
    """

    def __init__(self, watch: Watch, span: Span, span_id: int, context: Context, before: Callable[..., None]) -> None:
        self.watch = watch
        self.span_id: Final = span_id
        self.known: Final = ref(span)
        self._open: tuple[Span, Context, Callable[..., None]] | None = (span, context, before)
        """The span, where it started, and what was in our place before."""
        self.is_tried = False
        """The call was taken in, but what the span holds could not be removed."""

    def __call__(self, end_time: Any = None) -> None:  # noqa: ANN401 - whatever a host says
        """End the span, now or at a time in nanoseconds since 1970."""
        held = self._open
        if held is not None:
            self.watch.end(self, held[0], held[1], end_time)
            return
        span = self.known()
        if span is not None:  # it has ended already: the SDK answers as ever
            type(span).end(span, end_time)

    @property
    def is_open(self) -> bool:
        """Whether the span has not ended yet."""
        return self._open is not None

    def pass_on(self, end_time: Any) -> None:  # noqa: ANN401
        """Let the span end."""
        held, self._open = self._open, None
        if held is not None:
            held[2](end_time)


class Watch:
    """The spans of the providers that one processor was added to."""

    def __init__(self, live: Live, settings: Settings, owner: Callable[[], object]) -> None:
        self.owner = owner
        """Gives the processor, which has this."""
        self._live = live
        self._edge = live.edge
        self.witness = Witness(live)
        self.spans = self.witness.spans
        self.open = self.spans.spans
        """Every span that has started and not ended, by its id."""
        self._known = self.spans.known
        self.reader = self.spans.reader
        self.nesting = self.witness.nesting
        self._inner = self.nesting.inner
        self.editor = Editor(live, settings)
        self.read: Callable[[Record], RawCall | None] = read
        self._redacts_all = settings.content == "redact_all"
        self._until_measured = _MEASURED

    def start(self, span: Span, parent_context: Context | None) -> None:
        """Take the place of the span's `end`."""
        try:
            before: Any = span.end
            if isinstance(before, End):
                return
            span_id = span_id_of(span)
            context = get_current() if parent_context is None else parent_context
            end = End(self, span, span_id, context, before)
            span.end = end  # type: ignore[method-assign]
            self.open[span_id] = end.known
            if len(self.open) > self.spans.limit:
                self._sweep()
        except Exception as error:  # noqa: BLE001 - nothing of ours reaches the host
            self._edge.caught(error)

    def end(self, end: End, span: Span, context: Context, end_time: Any) -> None:  # noqa: ANN401
        """End a span in the SDK; what cannot be redacted never ends, so that it never leaves."""
        end_ns = _moment(end_time)  # what we take is no part of the span's duration
        may_leave = True
        try:
            # One that is not open and still records was forgotten for newer ones.
            if self.open.pop(end.span_id, None) is not None or span.is_recording():
                attributes = attributes_in(span)
                if end.is_tried:
                    may_leave = self.editor.strip(span)
                elif self._redacts_all or not WATCHED.isdisjoint(attributes) or span.name.startswith(NAMES):
                    may_leave, end.is_tried = False, True
                    may_leave = self._marked(span, end.span_id, context, end_ns, dict(attributes))
                elif self._known or self._inner:
                    self._plain(span, end.span_id, end_ns)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
            may_leave = self.editor.strip(span)
        finally:
            if may_leave:
                end.pass_on(end_ns if end_time is None else end_time)

    def has_missed(self, span: ReadableSpan) -> bool:
        """Whether a span that ends now ended around our `End`."""
        return bool(self.open) and span_id_of(span) in self.open

    def missed(self, span: ReadableSpan) -> None:
        """Work on a span that ended around our `End`; what cannot be redacted now is the SDK's to tell."""
        span_id = span_id_of(span)
        if self.open.pop(span_id, None) is None:
            return
        try:
            here = self.spans.last(span, span_id)
            record = self.reader.record(span, dict(attributes_in(span)), here.ids, _moment(span.end_time))
            raw = self.read(record)
            taken = None
            if raw is not None:
                taken, _ = self._taken(here, record, raw, get_current())
            else:
                self.witness.other(here, record)
            self.editor.late(span, record, raw, taken)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def give_up(self) -> None:
        """Record what waits."""
        try:
            self.nesting.give_up(time_ns())
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def _sweep(self) -> None:
        """Bound what is remembered of open spans."""
        forgotten = self.spans.sweep()
        if forgotten:
            self._live.counters.add(names.DROPPED, ("open_spans",), forgotten)

    def _plain(self, span: Span, span_id: int, end_ns: int) -> None:
        """A span of no family ended, which calls may have ended in."""
        if not self._inner:
            self._known.pop(span_id, None)
            return
        try:
            self.nesting.pass_on(self.spans.last(span, span_id), end_ns)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def _marked(self, span: Span, span_id: int, context: Context, end_ns: int, attributes: dict[str, object]) -> bool:
        """A span of some family ended, or one that may hold what is redacted."""
        here = self.spans.last(span, span_id)
        record = self.reader.record(span, attributes, here.ids, end_ns)
        raw = self.read(record)
        if raw is not None:
            return self._tool(span, here, record, raw, context)
        try:
            self.witness.other(here, record)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
        return self.editor.other(span, record)

    def _tool(self, span: Span, here: OpenSpan, record: Record, raw: RawCall, context: Context) -> bool:
        self._until_measured -= 1
        if self._until_measured > 0:
            taken, found = self._taken(here, record, raw, context)
            return self.editor.tool(span, record, raw, taken, found)
        self._until_measured = _MEASURED
        began = perf_counter_ns()
        taken, found = self._taken(here, record, raw, context)
        may_leave = self.editor.tool(span, record, raw, taken, found)
        self._live.outlet.measure(names.OVERHEAD_DURATION, (perf_counter_ns() - began) / 1e9)
        return may_leave

    def _taken(
        self, here: OpenSpan, record: Record, raw: RawCall, context: Context
    ) -> tuple[Taken | None, tuple[Found, ...]]:
        try:
            return self.witness.tool(here, record, raw, context)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
            return None, ()


def _moment(end_time: object) -> int:
    """The end of a span as the time that it is for us: some hosts hand over none, or no whole number."""
    return end_time if isinstance(end_time, int) else time_ns()
