"""A round of different calls that comes again: A, B, A, B or A, B, C, A, B, C, up to the policy's longest period.

Rule: a turn is one symbol, the set of its calls; a lap equals the one before when its symbols are equal and so is
what came back, except for the lap's last turn, which counts by its calls alone so that a stop can be decided before
their results. The finding falls on the turn that completes the lap. Writes do not break a lap: edits that are undone
and done again, with every result as before, are a cycle and not work.

Not flagged: one call over and over (that is `identical`: only primitive periods count), laps with a new target or a
changed result, laps that wait on a declared poller within its budget, turns with unknown arguments.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from otel_loopguard.core.decision import Action, Finding, Kind
from otel_loopguard.core.entry import TurnMark, symbol_of
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import CycleRule, Policy

from ._base import Before, Judged, Moment, TurnOver

__all__ = ["Cycle"]

_SHORTEST: Final = 2


class Cycle:
    """Judges a finished turn; before dispatch it forecasts what the turn would be if it ended with this call."""

    kind: Final[Kind] = "cycle"
    early: Final = True

    def inspect(self, history: History, moment: Moment, policy: Policy) -> Judged | None:
        """A nudge or a stop on the turn that completes a lap."""
        rule = policy.default.cycle
        if isinstance(moment, TurnOver):
            marks = list(islice(history.closed(moment.mark.number + 1), rule.max_period * (rule.stop + 1)))
            return self._laps(marks, moment.mark.symbol, marks[1:], rule, None, history)
        if not isinstance(moment, Before) or moment.key is None or not history.turns:
            return None
        keys: set[int | None] = {moment.key}
        if moment.turn == history.turn:
            keys.update(entry.key for entry in history.open)
        symbol = symbol_of(keys)
        marks = list(islice(history.closed(moment.turn), rule.max_period * (rule.stop + 1)))
        return self._laps([], symbol, marks, rule, moment, history)

    def _laps(  # noqa: PLR0913, PLR0917 - the judged turn and those before it
        self, judged: list[TurnMark], symbol: int | None, before: list[TurnMark], rule: CycleRule,
        moment: Before | None, history: History,
    ) -> Judged | None:  # fmt: skip
        """``before`` are the turns before the judged one, newest first; ``judged`` is it, where it is over."""
        if symbol is None or all(mark.symbol != symbol for mark in before[_SHORTEST - 1 : rule.max_period]):
            return None
        for period in range(_SHORTEST, rule.max_period + 1):
            if len(before) < period * rule.nudge - 1 or before[period - 1].symbol != symbol:
                continue
            equal = 1 + _equal_turns(before, period, period * rule.stop)
            laps = (equal + period) // period
            if laps < rule.nudge or not _is_primitive(symbol, before, period) or _waits(judged, before, period):
                continue
            if laps < rule.stop and (equal + period) % period != 0:
                continue
            action: Action = "stop" if laps >= rule.stop else "nudge"
            laps = min(laps, rule.stop)
            return Judged(_finding(action, judged, before, period, laps, rule, moment, history), period)
        return None


def _equal_turns(before: list[TurnMark], period: int, limit: int) -> int:
    """How many turns in a row, from the newest back, equal the turn a period earlier in calls and results."""
    count = 0
    for place in range(min(limit, len(before) - period)):
        mine, other = before[place], before[place + period]
        if mine.symbol is None or mine.answers is None or mine.answers != other.answers or mine.symbol != other.symbol:
            break
        count += 1
    return count


def _is_primitive(symbol: int, before: list[TurnMark], period: int) -> bool:
    """Whether the lap is no shorter lap, or one turn, said several times."""
    lap = [symbol, *(mark.symbol for mark in before[: period - 1])]
    return all(
        period % shorter != 0 or any(lap[place] != lap[place % shorter] for place in range(period))
        for shorter in range(1, period)
    )


def _waits(judged: list[TurnMark], before: list[TurnMark], period: int) -> bool:
    return any(mark.waits for mark in judged[:1]) or any(mark.waits for mark in before[:period])


def _finding(  # noqa: PLR0913, PLR0917 - evidence has parts
    action: Action, judged: list[TurnMark], before: list[TurnMark], period: int, laps: int, rule: CycleRule,
    moment: Before | None, history: History,
) -> Finding:  # fmt: skip
    lap = list(reversed(before[: period - 1]))
    limit = rule.nudge if action == "nudge" else rule.stop
    prints = [one for mark in lap for one in mark.fingerprints]
    first = before[min(len(before), laps * period - 1) - 1].first
    if moment is None:
        mark = judged[0]
        premature = action == "nudge" and mark.answers != before[period - 1].answers
        return Finding(
            "cycle", action, mark.tool, mark.last, first, laps, limit, period,
            fingerprints=(*prints, *mark.fingerprints), premature=premature,
        )  # fmt: skip
    own = () if moment.call.fingerprint is None else (moment.call.fingerprint[:16],)
    return Finding(
        "cycle", action, moment.call.tool, history.place + 1, first, laps, limit, period, fingerprints=(*prints, *own),
    )  # fmt: skip
