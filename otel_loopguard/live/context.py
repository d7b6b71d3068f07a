"""Which run and agent the code that is running belongs to, as the application says it.

Not a guess: what conventions read from spans is `correlate`'s work. It travels in the OpenTelemetry context, so it
follows that into threads and tasks wherever the application's instrumentation carries it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Final, NamedTuple

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from otel_loopguard.core.identifier import bounded

__all__ = ["NOTHING_GIVEN", "Given", "Spoken", "given_in", "run", "speak", "spoken"]

_KEY: Final = otel_context.create_key("loopguard-given")


class Given(NamedTuple):
    """What `run` said."""

    run_id: str | None
    agent: str | None


NOTHING_GIVEN: Final = Given(None, None)


def given_in(context: Context) -> Given:
    """What the innermost `run` around a context said."""
    found = context.get(_KEY)
    return found if isinstance(found, Given) else NOTHING_GIVEN


@contextmanager
def run(run_id: object, *, agent: str | None = None) -> Iterator[None]:
    """Everything inside belongs to this run (and agent): one history of tool calls, over traces and threads.

    A run goes on under its id however often it is entered, in any process. ``run_id`` is any non-empty text (or a
    value with one, such as a UUID); None keeps the run that is around. ``agent`` None leaves it to the spans to say.
    """
    around = given_in(otel_context.get_current())
    text = "" if run_id is None else bounded(run_id)
    given = Given(text or around.run_id, None if agent is None else bounded(agent))
    token = otel_context.attach(otel_context.set_value(_KEY, given))
    try:
        yield
    finally:
        otel_context.detach(token)


class Spoken(NamedTuple):
    """The last user message that nobody could yet assign to a run."""

    ticket: int
    """Grows with every message of the process."""
    agent: str
    """To whom it was addressed; empty: to all."""


NOTHING_SPOKEN: Final = Spoken(0, "")
_tickets: Final = count(1)
_spoken: Final[ContextVar[Spoken]] = ContextVar("loopguard-spoken", default=NOTHING_SPOKEN)


def speak(agent: str) -> None:
    """A user spoke before any run was known here: it counts for the runs whose calls this context makes."""
    _spoken.set(Spoken(next(_tickets), agent))


def spoken() -> Spoken:
    """The last message of this context."""
    return _spoken.get()
