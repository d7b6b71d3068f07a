"""The records of one run that wait for the lateness, and the calls that they turn out to be once it has passed.

Not the rules (`dedupe`, `order`): it tells apart the usual case, in which no two records have anything in common and
the numbers follow the times, from all others. Then every record is a call by itself and the order is that of the
starts, which is what the rules would say and takes a tenth of the time; any doubt is left to the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from otel_loopguard.core.call import Turn
from otel_loopguard.stream.copies import number_of
from otel_loopguard.stream.dedupe import alone, merge
from otel_loopguard.stream.held import Held, Merged, Number, Question
from otel_loopguard.stream.order import Rank, arrange, rank_of
from otel_loopguard.stream.record import CallRecord

__all__ = ["Waiting"]

_Key = tuple[str, str] | tuple[str, str, int] | tuple[str, str, str, str]


class _Tie(NamedTuple):
    """A record and what it may have in common with others."""

    rank: Rank
    held: Held
    keys: Sequence[_Key]
    """What makes records one call, or calls of one id: span, number, call id."""
    around: _Key
    """The span around it."""
    number: Number | None
    turn: tuple[str, str, Turn] | None


class Waiting:
    """Records in the order in which they came."""

    __slots__ = ("_around", "_known", "_lateness", "_same", "_ties", "arrivals", "held")

    def __init__(self, lateness: int, held: Iterable[Held] = (), arrivals: int = 0) -> None:
        self._lateness = lateness
        self.held: list[Held] = []
        self.arrivals = arrivals
        """Records so far."""
        self._known: dict[_Key, Held] = {}
        """The keys of the records, while no two have the same."""
        self._around: dict[_Key, int] = {}
        """The spans around the records, and around how many."""
        self._ties: dict[int, _Tie] = {}
        """By the records' indexes."""
        self._same: dict[CallRecord, Held] | None = None
        """Where two records have something in common: the records of which equal ones are copies."""
        for one in held:
            self._put(one, number_of(one.record))

    def add(self, record: CallRecord, now: int, tags: tuple[int, ...], number: Number | None) -> None:
        """A record has come, with its tags (`settled.tags_of`) and its number (`number_of`)."""
        copy = self._copy(record, number)
        if copy is not None:
            copy.copies += 1
            return
        self._put(Held(record, now, self.arrivals, 1, (), tags), number)
        self.arrivals += 1

    def due(self) -> int | None:
        """When the next record has waited long enough."""
        return self.held[0].arrived + self._lateness if self.held else None

    def is_due(self, now: int) -> bool:
        """Whether a record has waited long enough."""
        return bool(self.held) and self.held[0].arrived + self._lateness <= now

    def take(self, now: int) -> tuple[list[Merged], list[Question]]:
        """The calls that have waited long enough, and those before them in the run's order, with what is doubtful."""
        until = now - self._lateness
        ordered = _by_start(self._ties.values()) if self._same is None else None
        if ordered is not None:
            while ordered and ordered[-1].held.arrived > until:
                ordered.pop()
            return self._release(ordered), []
        merged, questions = merge(self.held)
        calls, more = arrange(merged)
        ripe = [index for index, call in enumerate(calls) if call.arrived <= until]
        released = calls[: ripe[-1] + 1] if ripe else []
        gone = {index for call in released for index in call.indexes}
        held, self.held = self.held, []
        self._known, self._around, self._ties, self._same = {}, {}, {}, None
        for one in held:
            if one.index not in gone:
                self._put(one, number_of(one.record))
        return released, [question for question in (*questions, *more) if question.index in gone]

    def _copy(self, record: CallRecord, number: Number | None) -> Held | None:
        """The record that waits and equals this one; of records that have no identity, equal ones are two calls."""
        if self._same is not None:
            return self._same.get(record) if _is_identified(record) else None
        if record.span_id:
            known = self._known.get((record.trace_id, record.span_id))
        else:
            known = None if number is None else self._known.get((number.process_id, number.agent, number.sequence))
        return known if known is not None and known.record == record else None

    def _put(self, held: Held, number: Number | None) -> None:
        self.held.append(held)
        if self._same is None:
            if not self._is_apart(held, number):
                self._same = {one.record: one for one in self.held if _is_identified(one.record)}
        elif _is_identified(held.record):
            self._same[held.record] = held

    def _is_apart(self, held: Held, number: Number | None) -> bool:
        """Whether a record has nothing in common with one that waits; then it is known from now on."""
        tie = _tie(held, number)
        known = self._known
        if tie is None or tie.around in known:
            return False
        if held.record.span_id and tie.keys[0] in self._around:
            return False
        for key in tie.keys:
            if key in known:
                return False
        for key in tie.keys:
            known[key] = held
        self._around[tie.around] = self._around.get(tie.around, 0) + 1
        self._ties[held.index] = tie
        return True

    def _release(self, released: list[_Tie]) -> list[Merged]:
        """Records that have nothing in common with any other, as calls; they wait no longer."""
        for one in released:
            del self._ties[one.held.index]
            for key in one.keys:
                del self._known[key]
            left = self._around[one.around] - 1
            if left:
                self._around[one.around] = left
            else:
                del self._around[one.around]
        self.held = [tie.held for tie in self._ties.values()]
        return [alone(one.held, one.number) for one in released]


def _tie(held: Held, number: Number | None) -> _Tie | None:
    """What a record may have in common with others; None where it tells too little, or only of another record."""
    record = held.record
    trace_id, span_id, call = record.trace_id, record.span_id, record.call
    if record.is_event or not (span_id or number) or call.start_ns != record.start_ns:
        return None
    keys: list[_Key] = [(trace_id, span_id)] if span_id else []
    if number is not None:
        keys.append((number.process_id, number.agent, number.sequence))
    if call.call_id is not None:
        keys.append((record.process_id, call.call_id, "", ""))
    return _Tie(
        rank_of(record, held.index),
        held,
        keys,
        (trace_id, record.enclosing_span_id or record.parent_span_id),
        number,
        None if call.turn is None else (record.agent, call.scope, record.turn),
    )


def _by_start(ties: Iterable[_Tie]) -> list[_Tie] | None:
    """Records that are a call each, none inside another, in the order that `arrange` gives: by start.

    None where it may give another: where numbers do not go up with the starts, and where a turn is not in one piece.
    """
    ordered = sorted(ties)
    if len(ordered) < 2:  # noqa: PLR2004 - one call has no order
        return ordered
    numbers: dict[tuple[str, str], int] = {}
    turns: set[tuple[str, str, Turn]] = set()
    last: tuple[str, str, Turn] | None = None
    for one in ordered:
        number, turn = one.number, one.turn
        if number is not None:
            series = (number.process_id, number.agent)
            if numbers.get(series, number.sequence - 1) >= number.sequence:
                return None
            numbers[series] = number.sequence
        if turn is not None and turn != last:
            if turn in turns:
                return None
            turns.add(turn)
        last = turn
    return ordered


def _is_identified(record: CallRecord) -> bool:
    """Whether equal records are copies, and not two calls of which little is known."""
    return bool(record.span_id) or record.sequence is not None
