"""The only part that plugs into the OpenTelemetry SDK."""

from .processor import LoopGuardSpanProcessor

__all__ = ["LoopGuardSpanProcessor"]
