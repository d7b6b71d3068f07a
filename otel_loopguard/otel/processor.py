"""The span processor: judges, annotates and redacts tool spans just before they end.

Not an exporter, and not a judge: `live` knows the runs. It takes the place of `end` on each span, because that is the
last moment in which the public API can write on it, so every exporter sees the result whatever the order.
"""

from __future__ import annotations

import os
import weakref
from functools import partial
from time import perf_counter_ns, time_ns
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.conventions import MARKERS, NAMES, RawCall, Record, read
from otel_loopguard.keys import KeySource, PolicySource
from otel_loopguard.live import Found, Live, Sources, Taken, Tell, enlist, shared

from .editor import Editor
from .open_span import OpenSpan
from .spans import attributes_of, record_of
from .witness import Witness

__all__ = ["LoopGuardSpanProcessor"]

_MEASURED: Final = 64
"""One tool span in so many has its overhead measured: one measurement costs as much as a tenth of a span."""


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
        self._nesting = self._witness.nesting
        self._editor = Editor(self._live, self._settings)
        self._redacts_all = self._settings.content == "redact_all"
        self._is_shut_down = False
        self._until_measured = _MEASURED
        if hasattr(os, "register_at_fork"):
            renew = weakref.WeakMethod(self._witness.renew)
            os.register_at_fork(after_in_child=lambda: (method := renew()) and method())

    # The SDK's interface ------------------------------------------------------------------------------------------

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Take the place of the span's `end`."""
        if self._is_shut_down:
            return
        try:
            own = span.__dict__
            before = own.get("end")
            if isinstance(before, partial) and isinstance(getattr(before.func, "__self__", None), type(self)):
                return  # another processor of ours has it
            parent = span.parent
            here = OpenSpan(
                span,
                span.get_span_context(),
                0 if parent is None else parent.span_id,
                otel_context.get_current() if parent_context is None else parent_context,
            )
            here.end = before
            forgotten = self._spans.enter(here)
            if forgotten:
                self._live.counters.add(names.DROPPED, ("open_spans",), forgotten)
            own["end"] = partial(self._end, span, here)
        except Exception as error:  # noqa: BLE001 - nothing of ours reaches the host
            self._edge.caught(error)

    def _on_ending(self, span: Span) -> None:
        """A span that ended around our `end` (SDK 1.40 and newer): nothing has read it yet."""
        self._missed(span)

    def on_end(self, span: ReadableSpan) -> None:
        """A span that ended around our `end`: processors before us have read it."""
        self._missed(span)

    def shutdown(self) -> None:
        """Watch no new span, and record what waits; open spans are still redacted when they end."""
        self._is_shut_down = True
        try:
            self._nesting.give_up(time_ns())
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def force_flush(self, timeout_millis: int = 30000) -> bool:  # noqa: ARG002 - the SDK's signature
        """Nothing is buffered here."""
        return True

    # The end of a span --------------------------------------------------------------------------------------------

    def _end(self, span: Span, here: OpenSpan, end_time: int | None = None) -> None:
        """Stand in for `span.end`; what it cannot redact never ends, so that it never leaves."""
        may_leave = True
        try:
            if self._spans.leave(here):
                if end_time is None:
                    end_time = time_ns()  # what we take is no part of the span's duration
                may_leave = False
                may_leave = self._ending(span, here, end_time)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
            may_leave = self._editor.strip(span)
        finally:
            # The span must not go on holding a way to itself through us: only the collector could free it.
            own = span.__dict__
            held = own.get("end")
            if isinstance(held, partial) and held.args and held.args[-1] is here:
                if here.end is None:
                    del own["end"]
                else:
                    own["end"] = here.end
            if may_leave:
                if here.end is None:
                    type(span).end(span, end_time)
                else:
                    here.end(end_time)

    def _ending(self, span: Span, here: OpenSpan, end_ns: int) -> bool:
        """Do our work on a span that still records; whether it may leave."""
        attributes = attributes_of(span)
        if MARKERS.isdisjoint(attributes) and not span.name.startswith(NAMES):
            if self._nesting.inner:
                self._passed_on(here, end_ns)
            return not self._redacts_all or self._editor.other(span, record_of(span, attributes, here.ids(), end_ns))
        try:
            record = record_of(span, attributes, here.ids(), end_ns)
            raw = read(record)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
            return self._editor.strip(span)
        if raw is not None:
            return self._tool(span, here, record, raw)
        self._told(here, record)
        return not self._redacts_all or self._editor.other(span, record)

    def _passed_on(self, here: OpenSpan, end_ns: int) -> None:
        try:
            self._nesting.pass_on(here, end_ns)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def _told(self, here: OpenSpan, record: Record) -> None:
        try:
            self._witness.other(here, record)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)

    def _tool(self, span: Span, here: OpenSpan, record: Record, raw: RawCall) -> bool:
        self._until_measured -= 1
        if self._until_measured > 0:
            taken, found = self._taken(here, record, raw)
            return self._editor.tool(span, record, raw, taken, found)
        self._until_measured = _MEASURED
        began = perf_counter_ns()
        taken, found = self._taken(here, record, raw)
        may_leave = self._editor.tool(span, record, raw, taken, found)
        self._live.outlet.measure(names.OVERHEAD_DURATION, (perf_counter_ns() - began) / 1e9)
        return may_leave

    def _taken(self, here: OpenSpan, record: Record, raw: RawCall) -> tuple[Taken | None, tuple[Found, ...]]:
        try:
            return self._witness.tool(here, record, raw)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
            return None, ()

    def _missed(self, span: ReadableSpan) -> None:
        """Work on a span that ended around our `end`; what cannot be redacted now is the SDK's to tell."""
        identity = span.get_span_context()
        here = None if identity is None else self._spans.get(identity.span_id)
        if here is None or not self._spans.leave(here):
            return
        try:
            record = record_of(span, attributes_of(span), here.ids(), span.end_time)
            raw = read(record)
            taken = None
            if raw is not None:
                taken, _ = self._taken(here, record, raw)
            else:
                self._told(here, record)
            self._editor.late(span, record, raw, taken)
        except Exception as error:  # noqa: BLE001
            self._edge.caught(error)
