"""The records of one run that wait for the lateness, and the calls that they turn out to be once it has passed.

Not the rules (`dedupe`, `order`): it tells apart the usual case, in which no two records have anything in common and
the numbers follow the times, from all others. Then every record is a call by itself and the order is that of the
starts, which is what the rules would say and takes a tenth of the time; any doubt is left to the rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from otel_loopguard.core.call import Turn
from otel_loopguard.core.compiled import mypyc_attr
from otel_loopguard.stream.copies import number_of
from otel_loopguard.stream.dedupe import alone, merge
from otel_loopguard.stream.held import Held, Merged, Number, Question
from otel_loopguard.stream.order import Rank, arrange, rank_of
from otel_loopguard.stream.record import CallRecord
from otel_loopguard.stream.settled import Identity, identity_of

__all__ = ["Waiting"]

_TURNS: Final = 16
"""Records among which a turn that comes back is looked for one by one."""


@mypyc_attr(acyclic=True)
class _Tie:
    """A record and what it may have in common with others."""

    __slots__ = ("around", "held", "keys", "number", "turn")

    def __init__(self, held: Held, keys: list[int], around: int, number: Number | None, turn: Turn) -> None:
        self.held: Final = held
        self.keys: Final = keys
        """Tags of what makes records one call, or calls of one id: span, number, call id. Two that are equal by chance
        are left to the rules, which know better."""
        self.around: Final = around
        """Tag of the span around it; 0 where there is none."""
        self.number: Final = number
        self.turn: Final = turn


class Waiting:
    """Records in the order in which they came."""

    __slots__ = ("_around", "_is_straight", "_known", "_lateness", "_same", "_ties", "arrivals", "held")

    def __init__(self, lateness: int, held: Iterable[Held] = (), arrivals: int = 0) -> None:
        self._lateness = lateness
        self.held: list[Held] = []
        self.arrivals = arrivals
        """Records so far."""
        self._known: dict[int, Held] = {}
        """The keys of the records, while no two have the same."""
        self._around: dict[int, int] = {}
        """The spans around the records, and around how many."""
        self._ties: list[_Tie] = []
        """Of the records, while no two have anything in common."""
        self._is_straight = True
        """Whether they came in the run's order."""
        self._same: dict[CallRecord, Held] | None = None
        """Where two records have something in common: the records of which equal ones are copies."""
        for one in held:
            number = number_of(one.record)
            self._put(one, identity_of(one.record, number), number)

    def add(self, record: CallRecord, now: int, identity: Identity, number: Number | None) -> None:
        """A record has come, with its identity (`settled.identity_of`) and its number (`number_of`)."""
        copy = self._copy(record, identity)
        if copy is not None:
            copy.copies += 1
            return
        self._put(Held(record, now, self.arrivals, 1, (), identity.tags), identity, number)
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
        ordered = None if self._same is not None else self._ties if self._is_straight else _by_start(self._ties)
        if ordered is not None:
            count = len(ordered)
            while count and ordered[count - 1].held.arrived > until:
                count -= 1
            return self._release(ordered[:count], is_first=ordered is self._ties), []
        merged, questions = merge(self.held)
        calls, more = arrange(merged)
        ripe = [index for index, call in enumerate(calls) if call.arrived <= until]
        released = calls[: ripe[-1] + 1] if ripe else []
        gone = {index for call in released for index in call.indexes}
        held = self.held
        self.held = []
        self._forget()
        for one in held:
            if one.index not in gone:
                number = number_of(one.record)
                self._put(one, identity_of(one.record, number), number)
        return released, [question for question in (*questions, *more) if question.index in gone]

    def _forget(self) -> None:
        self._known.clear()
        self._around.clear()
        self._ties = []
        self._is_straight, self._same = True, None

    def _copy(self, record: CallRecord, identity: Identity) -> Held | None:
        """The record that waits and equals this one; of records that have no identity, equal ones are two calls."""
        if self._same is not None:
            return self._same.get(record) if _is_identified(record) else None
        known = self._known.get(identity.span or identity.number)
        return known if known is not None and known.record == record else None

    def _put(self, held: Held, identity: Identity, number: Number | None) -> None:
        self.held.append(held)
        if self._same is None:
            if not self._is_apart(held, identity, number):
                self._same = {one.record: one for one in self.held if _is_identified(one.record)}
        elif _is_identified(held.record):
            self._same[held.record] = held

    def _is_apart(self, held: Held, identity: Identity, number: Number | None) -> bool:
        """Whether a record has nothing in common with one that waits; then it is known from now on."""
        tie = _tie(held, identity, number)
        known, around = self._known, self._around
        if tie is None or tie.around in known or (identity.span and identity.span in around):
            return False
        for key in tie.keys:
            if key in known:
                return False
        for key in tie.keys:
            known[key] = held
        if tie.around:
            around[tie.around] = around.get(tie.around, 0) + 1
        ties = self._ties
        self._is_straight = self._is_straight and (not ties or _goes_on(ties, tie))
        ties.append(tie)
        return True

    def _release(self, released: list[_Tie], *, is_first: bool) -> list[Merged]:
        """Records that have nothing in common with any other, as calls; they wait no longer.

        ``is_first``: they are those that came first.
        """
        if len(released) == len(self._ties):
            self.held = []
            self._forget()
        else:
            for one in released:
                for key in one.keys:
                    del self._known[key]
                if one.around:
                    left = self._around[one.around] - 1
                    if left:
                        self._around[one.around] = left
                    else:
                        del self._around[one.around]
            if is_first:
                self._ties = self._ties[len(released) :]
            else:
                gone = {one.held.index for one in released}
                self._ties = [tie for tie in self._ties if tie.held.index not in gone]
            self.held = [tie.held for tie in self._ties]
        return [alone(one.held, one.number) for one in released]


def _tie(held: Held, identity: Identity, number: Number | None) -> _Tie | None:
    """What a record may have in common with others; None where it tells too little, or only of another record."""
    record = held.record
    call = record.call
    if record.is_event or not (record.span_id or number is not None) or call.start_ns != record.start_ns:
        return None
    keys = [identity.span] if record.span_id else []
    if number is not None:
        keys.append(identity.number)
    if call.call_id is not None:
        keys.append(hash((record.process_id, call.call_id)))
    return _Tie(held, keys, identity.around, number, record.turn)


def _goes_on(ties: list[_Tie], tie: _Tie) -> bool:
    """Whether a record surely stands after others in the run's order: `_by_start` asks no more where each does."""
    last = ties[-1]
    before, start = last.held.record.start_ns, tie.held.record.start_ns
    if before is None or start is None or start <= before:
        return False
    one, other = last.number, tie.number
    if one is None or other is None:
        if one is not other:
            return False
    elif one.sequence >= other.sequence or one.process_id != other.process_id or one.agent != other.agent:
        return False
    if tie.turn is None or _one_turn(last, tie):
        return True
    if len(ties) > _TURNS:
        return False
    return all(not _one_turn(earlier, tie) for earlier in ties)


def _one_turn(one: _Tie, other: _Tie) -> bool:
    mine, theirs = one.held.record, other.held.record
    return one.turn == other.turn and mine.agent == theirs.agent and mine.call.scope == theirs.call.scope


def _by_start(ties: Iterable[_Tie]) -> list[_Tie] | None:
    """Records that are a call each, none inside another, in the order that `arrange` gives: by start.

    None where it may give another: where numbers do not go up with the starts, and where a turn is not in one piece.
    """
    ranked: dict[Rank, _Tie] = {rank_of(tie.held.record, tie.held.index): tie for tie in ties}
    ordered = [ranked[rank] for rank in sorted(ranked)]
    numbers: dict[tuple[str, str], int] = {}
    turns: set[tuple[str, str, Turn]] = set()
    last: tuple[str, str, Turn] | None = None
    for one in ordered:
        number, record = one.number, one.held.record
        turn = None if one.turn is None else (record.agent, record.call.scope, one.turn)
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
