"""Putting the processor on a tracer provider, once.

No provider is ever made here: without one of the SDK there is nothing to watch.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import Any, Final

from opentelemetry import trace

from otel_loopguard.config import Settings

from .processor import LoopGuardSpanProcessor

__all__ = ["instrument", "uninstrument"]

_logger = logging.getLogger("otel_loopguard")
_MAX_WRAPPERS: Final = 4
"""Providers that wrap providers: logfire's is one around the SDK's."""

_lock: Final = threading.Lock()


def instrument(
    tracer_provider: object = None,
    *,
    settings: Settings | None = None,
    logger_provider: object = None,
    meter_provider: object = None,
) -> LoopGuardSpanProcessor | None:
    """Watch the tool calls of a tracer provider; a second call for the same one changes nothing.

    Args:
        tracer_provider: Of the SDK; None is the global one.
        settings: Instead of the environment's.
        logger_provider: Where events go, instead of the global one.
        meter_provider: Where numbers are shown, instead of the global one.

    Returns:
        The processor that is on the provider; None, with a warning, where there is no provider of the SDK yet.

    """
    provider = _sdk_provider(trace.get_tracer_provider() if tracer_provider is None else tracer_provider)
    if provider is None:
        _logger.warning(
            "otel-loopguard: no tracer provider of the SDK to watch; set one up first, or hand it to `instrument`"
        )
        return None
    with _lock:
        held = _processor_on(provider)
        if held is None:
            held = LoopGuardSpanProcessor(
                Settings.read(os.environ) if settings is None else settings,
                logger_provider=logger_provider,
                meter_provider=meter_provider,
            )
            _put_first(held, provider)
        return held


def uninstrument(tracer_provider: object = None) -> None:
    """Watch no new span of a tracer provider (None: the global one); spans that are open are still redacted."""
    provider = _sdk_provider(trace.get_tracer_provider() if tracer_provider is None else tracer_provider)
    held = _processor_on(provider)
    if held is not None:
        held.shutdown()
        multi = provider._active_span_processor  # noqa: SLF001 - the SDK has no way to take a processor away
        multi._span_processors = tuple(one for one in multi._span_processors if one is not held)  # noqa: SLF001


def _sdk_provider(provider: Any) -> Any:  # noqa: ANN401 - any vendor's class
    for _ in range(_MAX_WRAPPERS):
        if hasattr(provider, "_active_span_processor") or provider is None:
            return provider
        inner = getattr(provider, "provider", None)
        if inner is None:
            return provider if hasattr(provider, "add_span_processor") else None
        provider = inner
    return None


def _put_first(held: LoopGuardSpanProcessor, provider: Any) -> None:  # noqa: ANN401
    """Add a processor before all others: of a span that ends around our `end` nobody has read anything yet."""
    multi: Any = getattr(provider, "_active_span_processor", provider)
    if isinstance(getattr(multi, "_span_processors", None), tuple) and hasattr(multi, "_lock"):
        with multi._lock:  # noqa: SLF001 - the SDK only appends
            multi._span_processors = (held, *multi._span_processors)  # noqa: SLF001
        return
    # Some vendors' `add_span_processor` does more than that: phoenix drops its own exporter.
    multi.add_span_processor(held)


def _processor_on(provider: Any) -> LoopGuardSpanProcessor | None:  # noqa: ANN401
    """The processor of ours that a provider has."""
    held = getattr(getattr(provider, "_active_span_processor", None), "_span_processors", ())
    return next((one for one in held if isinstance(one, LoopGuardSpanProcessor)), None)
