"""The run's own order of its calls: by number within a process, else inside before outside, else by start time.

Not arrival: it decides only between calls of which nothing else is known. The calls of one turn of an agent stand
together, where the first of them stands, because a turn is one decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Final

from otel_loopguard.core.call import Turn
from otel_loopguard.stream.held import Merged, Question
from otel_loopguard.stream.record import CallRecord

__all__ = ["Rank", "arrange", "rank_of"]

_LATE: Final = 1 << 64
"""After every time stamp: where no time is known."""

Rank = tuple[int, int, str, str, int]


def arrange(calls: Sequence[Merged]) -> tuple[list[Merged], list[Question]]:
    """The calls in the run's order, and a doubt where numbers contradict what stands inside what.

    Among calls that nothing orders, the one that started first stands first; calls without a start follow, in the
    order of arrival.
    """
    if len(calls) < 2:  # noqa: PLR2004 - one call has no order
        return list(calls), []
    graph = _Graph(calls)
    order, questions = graph.walk()
    return _by_turn([calls[index] for index in order]), questions


class _Graph:
    """Which call must stand before which."""

    def __init__(self, calls: Sequence[Merged]) -> None:
        self.calls = calls
        self.after: list[list[int]] = [[] for _ in calls]
        self.waits = [0] * len(calls)
        self._number()
        self._nest()

    def _before(self, first: int, second: int) -> None:
        self.after[first].append(second)
        self.waits[second] += 1

    def _number(self) -> None:
        """Within one process and agent the numbers decide."""
        series: dict[tuple[str, str], list[tuple[int, Rank, int]]] = {}
        for index, call in enumerate(self.calls):
            for number in call.numbers:
                series.setdefault((number.process_id, number.agent), []).append((number.sequence, _rank(call), index))
        for numbered in series.values():
            numbered.sort()
            for (_, _, first), (_, _, second) in pairwise(numbered):
                if first != second:
                    self._before(first, second)

    def _nest(self) -> None:
        """A call inside another stands before it, where no process has numbered both."""
        spans = {span: index for index, call in enumerate(self.calls) for span in call.spans}
        for inner, call in enumerate(self.calls):
            for span in call.inside:
                outer = spans.get(span)
                if outer is not None and outer != inner and not _one_series(call, self.calls[outer]):
                    self._before(inner, outer)

    def walk(self) -> tuple[list[int], list[Question]]:
        """All calls, each after those that must stand before it, the earliest first among the rest."""
        questions: list[Question] = []
        ready = [(_rank(call), index) for index, call in enumerate(self.calls) if not self.waits[index]]
        heapify(ready)
        order: list[int] = []
        left = set(range(len(self.calls)))
        while left:
            if not ready:  # a circle: the records contradict each other; go on with the earliest call
                index = min(left, key=lambda one: _rank(self.calls[one]))
                questions.append(Question("conflict", self.calls[index].record, self.calls[index].index))
            else:
                _, index = heappop(ready)
                if index not in left:
                    continue
            left.discard(index)
            order.append(index)
            for later in self.after[index]:
                self.waits[later] -= 1
                if not self.waits[later] and later in left:
                    heappush(ready, (_rank(self.calls[later]), later))
        return order, questions


def _rank(call: Merged) -> Rank:
    return rank_of(call.record, call.index)


def rank_of(record: CallRecord, index: int) -> Rank:
    """Where a call stands among those that nothing else orders."""
    start = _LATE if record.start_ns is None else record.start_ns
    end = _LATE if record.end_ns is None else record.end_ns
    return start, end, record.trace_id, record.span_id, index


def _one_series(one: Merged, other: Merged) -> bool:
    mine = {(number.process_id, number.agent) for number in one.numbers}
    return any((number.process_id, number.agent) in mine for number in other.numbers)


def _by_turn(calls: list[Merged]) -> list[Merged]:
    """Calls of one turn of a process moved together to where its first one stands."""
    places: dict[tuple[str, str, Turn], int] = {}
    ranked: list[tuple[int, int]] = []
    for index, call in enumerate(calls):
        record = call.record
        turn = record.turn
        place = index if turn is None else places.setdefault((record.agent, record.call.scope, turn), index)
        ranked.append((place, index))
    ranked.sort()
    return [calls[index] for _, index in ranked]
