"""Finds AI agents that are stuck repeating a tool call, from their OpenTelemetry spans, without reading them out.

::

    import otel_loopguard

    otel_loopguard.instrument()  # watch the global tracer provider
    with otel_loopguard.run("ticket-4711", agent="triage"):  # optional: which run this is
        ...

Importing this package imports nothing else; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .config import Settings
    from .live import finish, run, user_message
    from .otel import LoopGuardSpanProcessor, instrument, uninstrument

__all__ = [
    "LoopGuardSpanProcessor",
    "Settings",
    "finish",
    "instrument",
    "run",
    "uninstrument",
    "user_message",
]

_HOMES: Final = {
    "LoopGuardSpanProcessor": "otel",
    "Settings": "config",
    "finish": "live",
    "instrument": "otel",
    "run": "live",
    "uninstrument": "otel",
    "user_message": "live",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
