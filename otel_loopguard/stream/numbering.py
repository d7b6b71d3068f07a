"""What a run knows about its processes' numbers: what comes next, what is missing, whose clock ran backwards.

Not the order of calls (`order`): it is told of every call once, in that order.
"""

from __future__ import annotations

from typing import Final

from otel_loopguard.stream.events import Doubt
from otel_loopguard.stream.held import Merged, Number
from otel_loopguard.stream.run_state import NumberingState

__all__ = ["Numbering"]

_HEARD: Final = 64
"""Numbers that log events carried ahead of the calls before them, kept for each process and agent."""

_SERIES: Final = 64
"""Processes and agents of a run whose numbers are followed; the one that was met first is forgotten first."""

_PROCESSES: Final = 256
"""Processes of a run of which it is known whether they number their calls."""


class _Series:
    """The numbers of one process and agent."""

    __slots__ = ("heard", "latest_start", "next")

    def __init__(self, *, anew: bool) -> None:
        self.next = 0 if anew else 1
        """The number that has not been met; 0 where whatever comes first is right."""
        self.latest_start = -1
        self.heard: set[int] = set()

    def hear(self, sequence: int) -> None:
        """A log event carries a number: there was such a call, though no record of it may come."""
        if sequence >= self.next and len(self.heard) < _HEARD:
            self.heard.add(sequence)

    def meet(self, number: Number, doubts: list[Doubt]) -> None:
        if number.process_id:  # call records may be numbered in steps of ten, or from nought
            while self.next in self.heard:
                self.heard.discard(self.next)
                self.next += 1
            if 0 < self.next < number.sequence:
                doubts.append("gap")
            if number.sequence >= self.next:
                self.next = number.sequence + 1
            if self.heard:
                self.heard = {heard for heard in self.heard if heard >= self.next}
        # Processes number by end, call records as they like; in both a later call cannot end before an earlier began.
        end = number.end_ns if number.end_ns is not None else number.start_ns
        start = number.start_ns if number.start_ns is not None else end
        if end is not None and start is not None:
            if end < self.latest_start or end < start:
                doubts.append("clock")
            self.latest_start = max(self.latest_start, start)


class Numbering:
    """The numbers of one run."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, str], _Series] = {}
        self._last: tuple[str, str, _Series] | None = None
        """The process and agent that were asked for last: mostly the only ones."""
        self._forgot = False
        self._numbered: set[str] = set()
        self._unnumbered: set[str] = set()

    def state(self) -> NumberingState:
        """All of it."""
        series = [(*key, one.next, one.latest_start, sorted(one.heard)) for key, one in self._series.items()]
        return NumberingState(self._forgot, sorted(self._numbered), sorted(self._unnumbered), series)

    @classmethod
    def from_state(cls, state: NumberingState) -> Numbering:
        """The numbers of a state."""
        numbering = cls()
        numbering._forgot = state.forgot
        numbering._numbered, numbering._unnumbered = set(state.numbered), set(state.unnumbered)
        for process_id, agent, following, latest_start, heard in state.series:
            series = numbering._series[process_id, agent] = _Series(anew=False)
            series.next, series.latest_start, series.heard = following, latest_start, set(heard)
        return numbering

    @property
    def shared(self) -> bool:
        """Whether one process, or none, has numbered every call: then the numbers mean the same to everyone."""
        return not self._unnumbered and len(self._numbered) == 1

    def hear(self, call: Merged) -> None:
        """A log event told of a call."""
        for number in call.numbers:
            self._of(number).hear(number.sequence)

    def know(self, call: Merged) -> None:
        """Take note of which processes number their calls, before any of them is met."""
        if not call.numbers and len(self._unnumbered) < _PROCESSES:
            self._unnumbered.add(call.record.process_id)
        for number in call.numbers:
            if number.process_id not in self._numbered and len(self._numbered) < _PROCESSES:
                self._numbered.add(number.process_id)

    def meet(self, call: Merged) -> list[Doubt]:
        """The doubts that the next call of the run raises."""
        doubts: list[Doubt] = []
        if not call.numbers and call.record.process_id in self._numbered:
            doubts.append("unnumbered")
        for number in call.numbers:
            if number.process_id in self._unnumbered:
                doubts.append("unnumbered")
            self._of(number).meet(number, doubts)
        return doubts

    def _of(self, number: Number) -> _Series:
        last = self._last
        if last is not None and last[0] == number.process_id and last[1] == number.agent:
            return last[2]
        key = (number.process_id, number.agent)
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = _Series(anew=self._forgot)
            if len(self._series) > _SERIES:
                del self._series[next(iter(self._series))]
                self._forgot = True
        self._last = number.process_id, number.agent, series
        return series
