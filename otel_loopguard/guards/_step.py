"""Which decision of the model the running code works on, where the application says so.

Not a guess: without it every call is a step of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Final

from opentelemetry import context as otel_context

from otel_loopguard.live import guarded_in

__all__ = ["current_step", "new_step", "step"]

_step: Final[ContextVar[tuple[str, object] | None]] = ContextVar("loopguard-step", default=None)
"""Its token, and the guarded call that it was said in: what a tool calls in its turn no model has decided."""
_steps: Final = count(1)


@contextmanager
def step(turn: str | None = None) -> Iterator[None]:
    """The calls inside come from one decision of the model; ``turn`` is any token of it, by default a new one.

    Without it every call is a step of its own.
    """
    token = _step.set((turn or new_step(), guarded_in(otel_context.get_current())))
    try:
        yield
    finally:
        _step.reset(token)


def current_step() -> str | None:
    """The token of the decision, if one was named for what runs here."""
    said = _step.get()
    return said[0] if said is not None and said[1] is guarded_in(otel_context.get_current()) else None


def new_step() -> str:
    """A token that no other decision of this process has."""
    return f"step-{next(_steps)}"
