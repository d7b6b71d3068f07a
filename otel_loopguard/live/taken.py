"""A call that `Live` has taken in: its numbers, and what was said about it.

It holds no content.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from opentelemetry.trace import SpanContext

from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.decision import Decision, Finding
from otel_loopguard.core.observation import Observation

from .lane import Lane
from .run_state import RunState

__all__ = ["Found", "Taken"]


class Found(NamedTuple):
    """A nudge or a stop with the names under which the outside knows its calls."""

    finding: Finding
    id: str
    number: int
    """Of the judged call."""
    first_number: int
    """Of the first call that counts."""


class Taken(msgspec.Struct, eq=False):
    """One call of this process; a merged copy of it shares the object."""

    run: RunState
    lane: Lane
    number: int
    """`loopguard.sequence`."""
    call: ToolCall
    outcome: Outcome
    turn: int | None = None
    """Number of the model decision, where it is known."""
    observation: Observation | None = None
    """None as long as the call waits for its arguments."""
    found: tuple[Found, ...] = ()
    """Nudges and stops found when the call was recorded; some may judge an earlier call."""
    unseen: int | None = None
    """Declared items of the result that were never seen in the run."""
    trace_id: str = ""
    span_id: str = ""
    span: SpanContext | None = None
    decided: Decision | None = None
    """What a guard acted on before the dispatch."""
    awaited: bool = False
    """A guard knows the call's end better than the span does, and will tell."""

    def __repr__(self) -> str:
        return f"Taken(run_id={self.run.run_id!r}, number={self.number!r})"
