"""What `opentelemetry-instrument` loads: standard library only, and nothing else unless we are switched on.

Not the instrumentation itself. It has no base class of OpenTelemetry's, so that loading it costs nothing; the loader
asks for no more than the methods below.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping

__all__ = ["LoopGuardInstrumentor", "is_enabled"]

_OFF = frozenset(["", "0", "false"])


def is_enabled(environ: Mapping[str, str]) -> bool:
    """Whether `LOOPGUARD_ENABLED` switches us on: any word but the negative ones does."""
    return environ.get("LOOPGUARD_ENABLED", "").strip().lower() not in _OFF


class LoopGuardInstrumentor:
    """The entry point `loopguard` of the group `opentelemetry_instrumentor`."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """No library must be there: any agent will do."""
        return ()

    def instrument(self, **options: object) -> None:
        """Watch the global tracer provider, or the option `tracer_provider`, if we are switched on. Never raises."""
        if not is_enabled(os.environ):
            return
        try:
            from otel_loopguard.otel import instrument  # noqa: PLC0415 - only here is the package wanted

            instrument(options.get("tracer_provider"))
        except Exception as error:  # noqa: BLE001 - a tool that watches does not stop what it watches
            logging.getLogger("otel_loopguard").warning(
                "otel-loopguard: not started: %s at import or set-up", type(error).__qualname__
            )

    def uninstrument(self, **options: object) -> None:
        """Watch no new span of that provider."""
        if not is_enabled(os.environ):
            return
        from otel_loopguard.otel import uninstrument  # noqa: PLC0415

        uninstrument(options.get("tracer_provider"))
