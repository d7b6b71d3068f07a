"""Decides whether a tracer provider that was just made is watched, and by whom it was made.

Not the watching (`attach`): all providers of a process come by here, also those by which vendors watch themselves.
"""

from __future__ import annotations

import json
import os
import sys
from types import FrameType
from typing import Final

from .attach import instrument

__all__ = ["REPORT", "is_vendors_own", "reach"]

VENDORS_OWN: Final = (
    "crewai.telemetry", "crewai_core.telemetry", "guardrails.hub_telemetry", "guardrails.utils.hub_telemetry_utils",
)  # fmt: skip
"""Modules that make providers for spans which go to the vendor: nothing of ours is to be sent there.

Only of providers that nobody else's spans go through: one that a vendor makes the global one is watched, because calls
of the user's leave by it and are to be redacted.
"""

REPORT: Final = "_LOOPGUARD_DOCTOR_REPORT"
"""Names a file that gets a line for each provider; `loopguard doctor` sets it for the processes that it starts."""

_MAKING: Final = ("opentelemetry.sdk.trace", "otel_loopguard_autoload", __name__)
_DEPTH: Final = 8
"""Frames of the making itself: ours, the SDK's, and the constructors of subclasses."""


def reach(provider: object) -> None:
    """Watch a provider that was just made, unless a vendor made it to watch its own product."""
    maker = _maker(sys._getframe(1), provider)  # noqa: SLF001 - the interpreter has no other way
    held = None if is_vendors_own(maker) else instrument(provider)
    report = os.environ.get(REPORT)
    if report:
        _tell(report, provider, maker, is_watched=held is not None)


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


def _tell(report: str, provider: object, maker: str, *, is_watched: bool) -> None:
    """Append a line about a provider, in one write: processes may share the file."""
    sampler = getattr(provider, "sampler", None)
    limits = getattr(provider, "_span_limits", None)
    line = {
        "class": f"{type(provider).__module__}.{type(provider).__qualname__}",
        "maker": maker,
        "watched": is_watched,
        "vendors_own": is_vendors_own(maker),
        "sampler": "" if sampler is None else str(sampler.get_description()),
        "length_limit": getattr(limits, "max_span_attribute_length", None),
    }
    with open(report, "a", encoding="utf-8") as file:  # noqa: PTH123 - nothing more is to be imported here
        file.write(json.dumps(line) + "\n")
