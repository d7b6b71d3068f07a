"""Lets run id and agent travel with requests as W3C baggage, for a server or sub-service to count in the same run.

Not the reading of baggage (`live`), which is always on. It leaves the process, so it is done only where the setting
says so, and only where the application propagates baggage at all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.trace import Span

from otel_loopguard.correlate import Place
from otel_loopguard.live import given_in
from otel_loopguard.names import AGENT_NAME, RUN_ID

__all__ = ["PlaceOf", "start_sending"]

MAX_LENGTH: Final = 256
"""Longest name that is sent: what is longer is not read either."""

PlaceOf = Callable[[Span, Context], Place | None]
"""The place of a call that is made inside a span; None where nobody of ours watches the span. May raise."""


def start_sending(place_of: PlaceOf) -> None:
    """Add run id and agent to all baggage that the process sends from now on; a second call changes nothing.

    The propagator's class is changed and not the global propagator: applications set that whenever they like.
    """
    inject = W3CBaggagePropagator.inject
    if getattr(inject, "_is_loopguards", False):
        return

    @functools.wraps(inject)
    def inject_with_run(
        self: W3CBaggagePropagator,
        carrier: Any,  # noqa: ANN401 - any carrier, with any setter
        context: Context | None = None,
        *more: Any,  # noqa: ANN401
        **options: Any,  # noqa: ANN401
    ) -> None:
        with suppress(Exception):  # the request goes on without what cannot be told
            context = _with_run(otel_context.get_current() if context is None else context, place_of)
        inject(self, carrier, context, *more, **options)

    inject_with_run._is_loopguards = True  # type: ignore[attr-defined] # noqa: SLF001
    W3CBaggagePropagator.inject = inject_with_run  # type: ignore[method-assign]


def _with_run(context: Context, place_of: PlaceOf) -> Context:
    """The context with what is known of the run; the trace id travels by itself."""
    given = given_in(context)
    place = place_of(trace.get_current_span(context), context)
    run_id, agent = given.run_id or "", given.agent or ""
    if place is not None:
        run_id, agent = place.run_id if place.run_named else "", place.agent
    for name, value in ((RUN_ID, run_id), (AGENT_NAME, agent)):
        if 0 < len(value) <= MAX_LENGTH:
            context = baggage.set_baggage(name, value, context)
    return context
