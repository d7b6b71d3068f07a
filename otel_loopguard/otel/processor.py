"""The span processor: judges, annotates and redacts tool spans just before they end.

Not an exporter, and not a judge: `live` knows the runs. What is done at the start and the end of a span is done by its
`watch`, which takes the place of `end` on each of them: so every exporter sees the result whatever the order.
"""

from __future__ import annotations

import os
from functools import partial
from weakref import ref

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from otel_loopguard.config import Settings
from otel_loopguard.conventions import RawCall
from otel_loopguard.correlate import Place
from otel_loopguard.keys import KeySource, PolicySource
from otel_loopguard.live import Edge, Live, Sighting, Sources, Tell, enlist, shared

from .sending import start_sending
from .watch import End, Watch

__all__ = ["LoopGuardSpanProcessor"]


def _renew(processor: LoopGuardSpanProcessor | None) -> None:
    if processor is not None:
        processor._watch.witness.renew()  # noqa: SLF001 - a part of it


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
            self._hold = shared(
                self._settings,
                partial(_sources, self._settings),
                logger_provider=logger_provider,
                meter_provider=meter_provider,
            )
        else:
            self._hold = enlist(live)
        self._live = self._hold.item
        self._watch = Watch(self._live, self._settings, ref(self))
        self._start = self._watch.start
        self._has_missed = self._watch.has_missed
        if self._settings.baggage == "on":
            start_sending(_place_in)
        if hasattr(os, "register_at_fork"):
            held = ref(self)
            os.register_at_fork(after_in_child=lambda: _renew(held()))

    @classmethod
    def of(cls, span: object) -> LoopGuardSpanProcessor | None:
        """The processor that watches an open span."""
        end = getattr(span, "end", None)
        owner = end.watch.owner() if isinstance(end, End) and end.is_open else None
        return owner if isinstance(owner, cls) else None

    @property
    def edge(self) -> Edge:
        """Where errors of ours end."""
        return self._live.edge

    def place_in(self, span: Span, context: Context) -> Place:
        """Where a call would stand that is made inside an open span; may raise."""
        return self._watch.witness.place_in(span, context)

    def hear(self, span: Span, context: Context, call: RawCall) -> None:
        """A model whose span is open asked for a call; may raise."""
        where = self.place_in(span, context)
        trace_id = self._watch.reader.ids(span).trace_id
        self._live.hear(Sighting(call, where, resource=span.resource.attributes, trace_id=trace_id))

    # The SDK's interface ------------------------------------------------------------------------------------------

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Take the place of the span's `end`."""
        self._start(span, parent_context)

    def _on_ending(self, span: Span) -> None:
        """A span that ended around our `end` (SDK 1.40 and newer): no processor has read it yet."""
        if self._has_missed(span):
            self._watch.missed(span)

    def on_end(self, span: ReadableSpan) -> None:
        """A span that ended around our `end`: processors before us have read it."""
        if self._has_missed(span):
            self._watch.missed(span)

    def shutdown(self) -> None:
        """Record what waits; spans that still start and end are judged and redacted as before.

        Some exporters of some SDKs go on after their shutdown, and what they send has to be without content.
        """
        self._watch.give_up()

    def force_flush(self, timeout_millis: object = 30000) -> bool:  # noqa: ARG002 - the SDK's signature
        """Nothing is buffered here."""
        return True


def _place_in(span: object, context: Context) -> Place | None:
    """The place of what happens inside any span."""
    processor = LoopGuardSpanProcessor.of(span)
    return processor.place_in(span, context) if processor is not None and isinstance(span, Span) else None
