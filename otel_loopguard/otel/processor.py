"""The span processor: judges, annotates and redacts tool spans just before they end.

Not an exporter, and not a judge: `live` knows the runs. It takes the place of `end` on each span, because that is the
last moment in which the public API can write on it, so every exporter sees the result whatever the order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns, time_ns
from typing import Any, Final
from weakref import ref

from opentelemetry.context import Context, get_current
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.conventions import NAMES, WATCHED, RawCall, Record, read
from otel_loopguard.correlate import Place
from otel_loopguard.keys import KeySource, PolicySource
from otel_loopguard.live import Edge, Found, Live, Sighting, Sources, Taken, Tell, enlist, shared

from .editor import Editor
from .open_span import OpenSpan
from .sending import start_sending
from .spans import attributes_in
from .witness import Witness

__all__ = ["LoopGuardSpanProcessor"]

_MEASURED: Final = 64
"""One tool span in so many has its overhead measured: one measurement costs as much as a tenth of a span."""


def _is_ours(end: object) -> bool:
    """Whether a processor of ours has taken the place of `end` already."""
    return isinstance(end, partial) and isinstance(getattr(end.func, "__self__", None), LoopGuardSpanProcessor)


def _renew(processor: LoopGuardSpanProcessor | None) -> None:
    if processor is not None:
        processor._witness.renew()  # noqa: SLF001 - a part of it


def _sources(settings: Settings, tell: Tell) -> Sources:
    return Sources(PolicySource(settings.policy_file, tell), KeySource(settings, tell), settings.key_scope)


class LoopGuardSpanProcessor(SpanProcessor):
    """Fingerprints, judges, annotates and redacts tool calls on the spans of the providers that it is added to."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        live: Live | None = None,
        logger_provider: object = None,
        meter_provider: object = None,
    ) -> None:
        """With no argument it does what the environment says.

        Args:
            settings: Instead of the environment's.
            live: The runs to count in, instead of those that all processors and guards of the process share.
            logger_provider: Where events go, instead of the global one.
            meter_provider: Where numbers are shown, instead of the global one.

        """
        self._settings = Settings.read(os.environ) if settings is None else settings
        if live is None:
            live = shared(
                self._settings,
                partial(_sources, self._settings),
                logger_provider=logger_provider,
                meter_provider=meter_provider,
            )
        self._live = live
        enlist(self._live)
        self._edge = self._live.edge
        self._witness = Witness(self._live)
        self._spans = self._witness.spans
        self._open = self._spans.spans
        self._known = self._spans.known
        self._before: dict[int, Callable[..., None]] = {}
        """What somebody had put in the place of `end` before us, by span."""
        self._reader = self._spans.reader
        self._nesting = self._witness.nesting
        self._inner = self._nesting.inner
        self._editor = Editor(self._live, self._settings)
        self._redacts_all = self._settings.content == "redact_all"
        if self._settings.baggage == "on":
            start_sending(_place_in)
        self._until_measured = _MEASURED
        if hasattr(os, "register_at_fork"):
            held = ref(self)
            os.register_at_fork(after_in_child=lambda: _renew(held()))

    @classmethod
    def of(cls, span: object) -> LoopGuardSpanProcessor | None:
        """The processor that watches an open span."""
        end = getattr(span, "end", None)
        found = getattr(end.func, "__self__", None) if isinstance(end, partial) else None
        return found if isinstance(found, cls) else None

    @property
    def edge(self) -> Edge:
        """Where errors of ours end."""
        return self._edge

    def place_in(self, span: Span, context: Context) -> Place:
        """Where a call would stand that is made inside an open span; may raise."""
        return self._witness.place_in(span, context)

    def hear(self, span: Span, context: Context, call: RawCall) -> None:
        """A model whose span is open asked for a call; may raise."""
        where = self.place_in(span, context)
        trace_id = self._reader.ids(span).trace_id
        self._live.hear(Sighting(call, where, resource=span.resource.attributes, trace_id=trace_id))

    # The SDK's interface ------------------------------------------------------------------------------------------

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Take the place of the span's `end`."""
        try:
            before = span.end
            span_id = span.get_span_context().span_id
            if getattr(before, "__self__", None) is not span:
                if _is_ours(before):
                    return
                self._before[span_id] = before
            context = get_current() if parent_context is None else parent_context
            span.end = partial(self._end, span, span_id, context)  # type: ignore[method-assign]
            self._open[span_id] = ref(span)
            if len(self._open) > self._spans.limit:
                self._sweep()
        except Exception as error:  # noqa: BLE001 - nothing of ours reaches the host
            self._edge.caught(error)

    def _on_ending(self, span: Span) -> None:
        """A span that ended around our `end` (SDK 1.40 and newer): no processor has read it yet."""
        if span.get_span_context().span_id in self._open:
            self._missed(span)

    def on_end(self, span: ReadableSpan) -> None:
        """A span that ended around our `end`: processors before us have read it."""
        identity = span.get_span_context()
        if identity is not None and identity.span_id in self._open:
            self._missed(span)

    def shutdown(self) -> None:
        """Record what waits; spans that still start and end are judged and redacted as before.

        Some exporters of some SDKs go on after their shutdown, and what they send has to be without content.
        """
        try:
            self._nesting.give_up(time_ns())
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def force_flush(self, timeout_millis: object = 30000) -> bool:  # noqa: ARG002 - the SDK's signature
        """Nothing is buffered here."""
        return True

    # The end of a span --------------------------------------------------------------------------------------------

    def _end(self, span: Span, span_id: int, context: Context, end_time: Any = None) -> None:  # noqa: ANN401 - whatever a host says
        """Stand in for `span.end`; what cannot be redacted never ends, so that it never leaves."""
        end_ns = time_ns() if end_time is None else end_time  # what we take is no part of the span's duration
        may_leave = True
        try:
            # One that is not open and still records was forgotten for newer ones.
            if self._open.pop(span_id, None) is not None or span.is_recording():
                attributes = attributes_in(span)
                if self._redacts_all or not WATCHED.isdisjoint(attributes) or span.name.startswith(NAMES):
                    may_leave = False
                    may_leave = self._marked(span, span_id, context, end_ns, dict(attributes))
                elif self._known or self._inner:
                    self._plain(span, span_id, end_ns)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
            may_leave = self._editor.strip(span)
        finally:
            # The span must not go on holding a way to itself through us: only the collector could free it.
            del span.end
            if self._before and span_id in self._before:
                span.end = self._before.pop(span_id)  # type: ignore[method-assign]
            if may_leave:
                span.end(end_ns)

    def _sweep(self) -> None:
        """Bound what is remembered of open spans."""
        forgotten = self._spans.sweep()
        for span_id in self._before.keys() - self._open.keys():
            self._before.pop(span_id, None)
        if forgotten:
            self._live.counters.add(names.DROPPED, ("open_spans",), forgotten)

    def _plain(self, span: Span, span_id: int, end_ns: int) -> None:
        """A span of no family ended, which calls may have ended in."""
        if not self._inner:
            self._known.pop(span_id, None)
            return
        try:
            self._nesting.pass_on(self._spans.last(span, span_id), end_ns)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def _marked(self, span: Span, span_id: int, context: Context, end_ns: int, attributes: dict[str, object]) -> bool:
        """A span of some family ended, or one that may hold what is redacted."""
        here = self._spans.last(span, span_id)
        record = self._reader.record(span, attributes, here.ids, end_ns)
        raw = read(record)
        if raw is not None:
            return self._tool(span, here, record, raw, context)
        try:
            self._witness.other(here, record)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
        return self._editor.other(span, record)

    def _tool(self, span: Span, here: OpenSpan, record: Record, raw: RawCall, context: Context) -> bool:
        self._until_measured -= 1
        if self._until_measured > 0:
            taken, found = self._taken(here, record, raw, context)
            return self._editor.tool(span, record, raw, taken, found)
        self._until_measured = _MEASURED
        began = perf_counter_ns()
        taken, found = self._taken(here, record, raw, context)
        may_leave = self._editor.tool(span, record, raw, taken, found)
        self._live.outlet.measure(names.OVERHEAD_DURATION, (perf_counter_ns() - began) / 1e9)
        return may_leave

    def _taken(
        self, here: OpenSpan, record: Record, raw: RawCall, context: Context
    ) -> tuple[Taken | None, tuple[Found, ...]]:
        try:
            return self._witness.tool(here, record, raw, context)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
            return None, ()

    def _missed(self, span: ReadableSpan) -> None:
        """Work on a span that ended around our `end`; what cannot be redacted now is the SDK's to tell."""
        identity = span.get_span_context()
        if identity is None or self._open.pop(identity.span_id, None) is None:
            return
        try:
            here = self._spans.last(span, identity.span_id)
            record = self._reader.record(span, dict(attributes_in(span)), here.ids, span.end_time)
            raw = read(record)
            taken = None
            if raw is not None:
                taken, _ = self._taken(here, record, raw, get_current())
            else:
                self._witness.other(here, record)
            self._editor.late(span, record, raw, taken)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)


def _place_in(span: object, context: Context) -> Place | None:
    """The place of what happens inside any span."""
    processor = LoopGuardSpanProcessor.of(span)
    return processor.place_in(span, context) if processor is not None and isinstance(span, Span) else None
