"""A call that `Live` has taken in: its numbers, and what was said about it.

It holds no content.
"""

from __future__ import annotations

from typing import NamedTuple

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


class Taken:
    """One call of this process; a merged copy of it shares the object."""

    def __init__(
        self,
        run: RunState,
        lane: Lane,
        number: int,
        call: ToolCall,
        outcome: Outcome,
        turn: int | None = None,
        trace_id: str = "",
        span_id: str = "",
        span: SpanContext | None = None,
        decided: Decision | None = None,
    ) -> None:
        self.run = run
        self.lane = lane
        self.number = number
        """`loopguard.sequence`."""
        self.call = call
        self.outcome = outcome
        self.turn = turn
        """Number of the model decision, where it is known."""
        self.observation: Observation | None = None
        """None as long as the call waits for its arguments."""
        self.found: tuple[Found, ...] = ()
        """Nudges and stops found when the call was recorded; some may judge an earlier call."""
        self.unseen: int | None = None
        """Declared items of the result that were never seen in the run."""
        self.trace_id = trace_id
        self.span_id = span_id
        self.span = span
        self.decided = decided
        """What a guard acted on before the dispatch."""
        self.awaited = False
        """A guard knows the call's end better than the span does, and will tell."""

    def __repr__(self) -> str:
        return f"Taken(run_id={self.run.run_id!r}, number={self.number!r})"
