"""What a run came to so far, in numbers.

Not a verdict: it counts what the engine says.
"""

from __future__ import annotations

from otel_loopguard.core.decision import Finding
from otel_loopguard.core.observation import Observation

__all__ = ["Totals"]


class Totals:
    """The counts that a run's end reports."""

    __slots__ = ("_found", "calls", "progressed", "repeat_max", "wasted_calls")

    def __init__(self) -> None:
        self.calls = 0
        self.repeat_max = 0
        self.wasted_calls = 0
        """Calls after the first finding."""
        self.progressed = True
        """Something new came after the last finding; true while there is none."""
        self._found = False

    def state(self) -> tuple[int, int, int, bool, bool]:
        """All of them."""
        return self.calls, self.repeat_max, self.wasted_calls, self.progressed, self._found

    @classmethod
    def from_state(cls, state: tuple[int, int, int, bool, bool]) -> Totals:
        """The counts of a state."""
        totals = cls()
        totals.calls, totals.repeat_max, totals.wasted_calls, totals.progressed, totals._found = state
        return totals

    def observe(self, observation: Observation) -> None:
        """One call more."""
        self.calls += 1
        self.repeat_max = max(self.repeat_max, observation.repeat)
        if not self._found:
            return
        self.wasted_calls += 1
        news = observation.repeat == 1 and observation.outcome == "ok"
        if news or observation.progress == "advanced" or any(one.result == "recovered" for one in observation.nudges):
            self.progressed = True

    def find(self, finding: Finding) -> None:
        """A finding; information is none."""
        if finding.action != "info":
            self._found = True
            self.progressed = False
