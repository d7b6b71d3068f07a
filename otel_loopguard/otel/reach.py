"""Decides whether a tracer provider that was just made is watched, and by whom it was made.

Not the watching (`attach`): all providers of a process come by here, also those by which vendors watch themselves.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Final

from .attach import instrument

__all__ = ["is_vendors_own", "reach"]

VENDORS_OWN: Final = ("crewai.telemetry", "crewai_core.telemetry", "deepeval.telemetry", "guardrails.hub_telemetry")
"""Modules that make providers for spans which go to the vendor: nothing of ours is to be sent there."""

_MAKING: Final = ("opentelemetry.sdk.trace", "otel_loopguard_autoload", __name__)
_DEPTH: Final = 8
"""Frames of the making itself: ours, the SDK's, and the constructors of subclasses."""


def reach(provider: object) -> None:
    """Watch a provider that was just made, unless a vendor made it to watch its own product."""
    if not is_vendors_own(_maker(sys._getframe(1), provider)):  # noqa: SLF001 - the interpreter has no other way
        instrument(provider)


def is_vendors_own(module: str) -> bool:
    """Whether a module makes providers for a vendor's own telemetry."""
    return any(module == one or module.startswith(f"{one}.") for one in VENDORS_OWN)


def _maker(frame: FrameType | None, provider: object) -> str:
    """The module that asked for the provider; empty where that cannot be told."""
    for _ in range(_DEPTH):
        if frame is None:
            break
        module = str(frame.f_globals.get("__name__", ""))
        if module not in _MAKING and frame.f_locals.get("self") is not provider:
            return module
        frame = frame.f_back
    return ""
