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
from .spans import attributes_in
from .witness import Witness

__all__ = ["End", "Watch"]

_MEASURED: Final = 64
"""One tool span in so many has its overhead measured: one measurement costs as much as a tenth of a span."""


class End:
    """Stands in for `end` on one span as long as it is open."""

    def __init__(self, watch: Watch, span: Span, span_id: int, context: Context) -> None:
        self.watch = watch
        self._span = span
        self._span_id = span_id
        self._context = context

    def __call__(self, end_time: Any = None) -> None:  # noqa: ANN401 - whatever a host says
        """End the span, now or at a time in nanoseconds since 1970."""
        self.watch.end(self._span, self._span_id, self._context, end_time)


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
        self._before: dict[int, Callable[..., None]] = {}
        """What somebody had put in the place of `end` before us, by span."""
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
            span_id = span.get_span_context().span_id
            held: object = getattr(before, "__self__", None)
            if held is not span:
                if isinstance(before, End):
                    return
                self._before[span_id] = before
            context = get_current() if parent_context is None else parent_context
            span.end = End(self, span, span_id, context)  # type: ignore[method-assign]
            self.open[span_id] = ref(span)
            if len(self.open) > self.spans.limit:
                self._sweep()
        except Exception as error:  # noqa: BLE001 - nothing of ours reaches the host
            self._edge.caught(error)

    def end(self, span: Span, span_id: int, context: Context, end_time: Any) -> None:  # noqa: ANN401
        """End a span in the SDK; what cannot be redacted never ends, so that it never leaves."""
        end_ns = _moment(end_time)  # what we take is no part of the span's duration
        may_leave = True
        try:
            # One that is not open and still records was forgotten for newer ones.
            if self.open.pop(span_id, None) is not None or span.is_recording():
                attributes = attributes_in(span)
                if self._redacts_all or not WATCHED.isdisjoint(attributes) or span.name.startswith(NAMES):
                    may_leave = False
                    may_leave = self._marked(span, span_id, context, end_ns, dict(attributes))
                elif self._known or self._inner:
                    self._plain(span, span_id, end_ns)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
            may_leave = self.editor.strip(span)
        finally:
            _release(span)
            if self._before and span_id in self._before:
                span.end = self._before.pop(span_id)  # type: ignore[method-assign]
            if may_leave:
                span.end(end_ns if end_time is None else end_time)

    def missed(self, span: ReadableSpan) -> None:
        """Work on a span that ended around our `End`; what cannot be redacted now is the SDK's to tell."""
        identity = span.get_span_context()
        if identity is None or self.open.pop(identity.span_id, None) is None:
            return
        try:
            here = self.spans.last(span, identity.span_id)
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
        for span_id in self._before.keys() - self.open.keys():
            self._before.pop(span_id, None)
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


def _release(span: Span) -> None:
    """Give a span its own `end` back: through ours it would hold itself, and only the collector could free it."""
    try:
        del span.end
    except AttributeError:
        return  # whoever kept ours calls it once more
