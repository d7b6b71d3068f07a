"""The only part that plugs into the OpenTelemetry SDK."""

from .attach import instrument, uninstrument
from .processor import LoopGuardSpanProcessor

__all__ = ["LoopGuardSpanProcessor", "instrument", "uninstrument"]
